"""What a floor plan's text says, as a tree with places. It refuses to know what it means.

Every node knows where it stands: `start` and `end` are offsets into the text, so an edit replaces
exactly what it means to. A clause (`at (1, 2)`, `label "x"`, `right-of A gap 2`) stands from its
keyword to its last sign; the numbers and names in it have places of their own.

The nodes are named tuples: frozen, and four times quicker to make than frozen dataclasses.
"""

from typing import NamedTuple


class Number(NamedTuple):
    """A number, with its unit if it has one: `10`, `9.5ft`; an elevation may be negative."""

    value: float
    unit: str | None
    start: int
    end: int


class Name(NamedTuple):
    """A name where it stands: of a room, a style, a variable."""

    text: str
    start: int
    end: int


class Text(NamedTuple):
    """A clause that ends in a string, such as `label "Hall"`; `text` has no quotes or escapes.

    `text_start` and `text_end` are those of the string with its quotes.
    """

    text: str
    start: int
    end: int
    text_start: int
    text_end: int


class Point(NamedTuple):
    """`at (x, y)`."""

    x: Number
    y: Number
    start: int
    end: int


class Size(NamedTuple):
    """`size (w x h)`; of a connection `height` is None where it says `full`."""

    width: Number
    height: Number | None
    start: int
    end: int


class Relation(NamedTuple):
    """`right-of A gap 2 align top`."""

    direction: str
    reference: Name
    gap: Number | None
    align: str | None
    start: int
    end: int


class Wall(NamedTuple):
    """One entry of `walls [...]`: `top: window at 20% size (3 x 4) height 9`."""

    side: str
    kind: str
    at: float | None
    percent: bool
    size: Size | None
    height: float | None
    start: int
    end: int
    kind_start: int
    kind_end: int


class Room(NamedTuple):
    """A room, or a sub-room of one; `size` is a name where it is given by a `define`."""

    name: Name
    sub: bool
    at: Point | None
    size: "Size | SizeName"
    height: Number | None
    elevation: Number | None
    walls: tuple[Wall, ...]
    walls_start: int
    walls_end: int
    relation: Relation | None
    label: Text | None
    rooms: tuple["Room", ...]
    style: "StyleName | None"
    start: int
    end: int


class SizeName(NamedTuple):
    """`size small`, where `define small (8 x 8)` stands above."""

    name: Name
    start: int
    end: int


class StyleName(NamedTuple):
    """`style wood`."""

    name: Name
    start: int
    end: int


class WallOf(NamedTuple):
    """A wall of a room, such as `Kitchen.top`; `room` is `outside` for the world around."""

    room: Name
    side: str | None
    start: int
    end: int


class Connection(NamedTuple):
    """`connect A.right to B.left door at 50% size (3 x 7) opens into A swing: left`."""

    first: WallOf
    second: WallOf
    kind: str
    at: float | None
    size: Size | None
    opens_into: Name | None
    swing: str | None
    start: int
    end: int


class Flight(NamedTuple):
    """A run of steps in a custom stair: `flight 5 width 4ft along Hall.left`."""

    steps: float
    width: Number | None
    along: WallOf | None
    start: int
    end: int


class Turn(NamedTuple):
    """A turn in a custom stair: `turn left landing (4 x 4) 90°` or `turn left winders 3`."""

    direction: str
    landing: Size | None
    winders: float | None
    angle: float | None
    start: int
    end: int


class Shape(NamedTuple):
    """The shape of a stair; what a kind does not have is None or empty.

    `toward` is the direction of a straight stair, `entry` the side from which others are entered.
    """

    kind: str
    toward: str | None
    entry: str | None
    turn: str | None
    runs: tuple[float, ...]
    landing: Size | None
    rotation: str | None
    inner_radius: Number | None
    outer_radius: Number | None
    arc: float | None
    radius: Number | None
    winders: float | None
    segments: tuple[Flight | Turn, ...]
    start: int
    end: int


class Stair(NamedTuple):
    """A stair on a floor; `material` holds (part, text) pairs."""

    name: Name
    at: Point | None
    shape: Shape
    rise: Number
    width: Number | None
    riser: Number | None
    tread: Number | None
    nosing: Number | None
    headroom: Number | None
    handrail: str | None
    stringers: str | None
    material: tuple[tuple[str, str], ...]
    relation: Relation | None
    label: Text | None
    style: StyleName | None
    start: int
    end: int


class Lift(NamedTuple):
    """A lift on a floor."""

    name: Name
    at: Point | None
    size: Size
    doors: tuple[str, ...]
    relation: Relation | None
    label: Text | None
    style: StyleName | None
    start: int
    end: int


class Floor(NamedTuple):
    """A floor; `open` and `close` are the offsets of its braces."""

    name: Name
    height: Number | None
    rooms: tuple[Room, ...]
    stairs: tuple[Stair, ...]
    lifts: tuple[Lift, ...]
    open: int
    close: int
    start: int
    end: int


class Property(NamedTuple):
    """`key: value` of a style, a config or a frontmatter.

    `value` is what the text means by itself: a number, a flag, a text; a Number where a unit stands
    with it (of kind `number`, too), a Size where a pair does. `kind` tells number, size, unit (a
    bare one), string, name or flag apart.
    """

    key: str
    value: "float | bool | str | Number | Size"
    kind: str
    start: int
    end: int
    value_start: int
    value_end: int


class Style(NamedTuple):
    """`style wood { floor_color: "#aabbcc" }`."""

    name: Name
    properties: tuple[Property, ...]
    start: int
    end: int


class Config(NamedTuple):
    """`config { wall_thickness: 0.5 }`."""

    properties: tuple[Property, ...]
    start: int
    end: int


class Define(NamedTuple):
    """`define small (8 x 8)`."""

    name: Name
    size: Size
    start: int
    end: int


class Element(NamedTuple):
    """One end of a vertical connection: `ground.MainStair`."""

    floor: Name
    element: Name
    start: int
    end: int


class Vertical(NamedTuple):
    """`vertical ground.MainStair to first.MainStair`."""

    elements: tuple[Element, ...]
    start: int
    end: int


class Version(NamedTuple):
    """The declared version of the language, as written: in a directive or the frontmatter."""

    text: str
    kind: str
    start: int
    end: int


class Plan(NamedTuple):
    """A whole document.

    `frontmatter` holds what stands between the `---` lines; its `config:` part is merged behind the
    one in the text, whose values win, when the plan is read. `start` is the offset of the word
    `floorplan`, behind frontmatter or directive; a property whose offsets lie before it is written
    in the frontmatter.
    """

    text: str
    version: Version | None
    frontmatter: tuple[Property, ...]
    defines: tuple[Define, ...]
    styles: tuple[Style, ...]
    config: Config | None
    floors: tuple[Floor, ...]
    connections: tuple[Connection, ...]
    verticals: tuple[Vertical, ...]
    start: int = 0
