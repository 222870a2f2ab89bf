"""What is written on a floor: rooms, stairs and lifts, each where it covers nothing.

It refuses to write over doors and stairs where there is another place; a room that is too small
gets a number and stands in the legend.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from noetl_mcp.bim.floorplan.building import Box, Building, PlacedRoom
from noetl_mcp.bim.floorplan.drawing import lengths
from noetl_mcp.bim.floorplan.drawing.colors import Palette, on
from noetl_mcp.bim.floorplan.drawing.floor_shapes import FloorShapes
from noetl_mcp.bim.floorplan.drawing.labels import Block, fitted_label, may_fit, one_line, words_of
from noetl_mcp.bim.floorplan.drawing.look import Look
from noetl_mcp.bim.floorplan.drawing.openings import swept
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Label, Layer, Letters, Lines
from noetl_mcp.bim.floorplan.drawing.stair_ways import ways
from noetl_mcp.lettering.widths import width_of

MOST_NUMBERS = 60
_AROUND = 2.5
_AIR = 3.0
_ROOMY, _ROOMY_IN_A_CROWD, _CROWD = 4.2, 6.5, 50
_NUMBERS = (0.8, 0.66, 0.5)
_NOTE = 0.75

Pile = dict[tuple[str, float, bool], list[Label]]


@dataclass(slots=True)
class Writing:
    """What was written so far, by ink, size and weight; `legend` says what the numbers mean.

    Rooms, and stairs and lifts, for whose names there was no place are counted, and those of which
    there are too many to look for one.
    """

    scale: float
    base: float
    pile: Pile = field(default_factory=dict)
    chips: list[Box] = field(default_factory=list)
    legend: list[tuple[int, str]] = field(default_factory=list)
    unnamed: int = 0
    unnamed_things: int = 0
    too_many: int = 0

    def put(self, block: Block, ink: str) -> None:
        """Write a block; its place is in paper's units."""
        scale = self.scale
        for line in block.lines:
            x, y = block.x, block.y + line.y
            if block.turned:
                x, y = block.x + line.y, block.y
            label = Label(line.text, x / scale, y / scale, "middle", block.turned)
            self.pile.setdefault((ink, round(line.size, 2), line.bold), []).append(label)

    def layers(self, palette: Palette) -> Iterator[Layer]:
        """Everything that was written."""
        if self.chips:
            chips = tuple(self.box(chip, 1 / self.scale) for chip in self.chips)
            yield Lines("chips", None, 0.0, chips, fill=palette.stair)
        for (ink, size, bold), labels in self.pile.items():
            yield Letters("labels", ink, size, tuple(labels), bold)

    @staticmethod
    def box(box: Box, by: float) -> Box:
        """Scale a box."""
        return Box(box.x * by, box.y * by, box.width * by, box.height * by)

    def kept_clear(self, box: Box) -> Box:
        """The ground of a thing on paper, with some air around it."""
        x, y, width, height = box
        by = self.scale
        return Box(x * by - _AIR, y * by - _AIR, width * by + 2 * _AIR, height * by + 2 * _AIR)


MOST_NAMED = 100  # each looks for clear ground among all of them


def write_floor(
    floor: FloorShapes,
    building: Building,
    look: Look,
    palette: Palette,
    ground: Mapping[str, str],
    names: Mapping[int, str],
    writing: Writing,
) -> None:
    """Write what everything on a floor is called; `names` are those of rooms by their id."""
    things = _things(floor, writing)
    _write_ways(floor, palette, writing)
    _write_stairs(floor, palette, ground, things, writing)
    swings: dict[str, list[Arc]] = {}
    for door in floor.doors:
        if door.room is not None:
            swings.setdefault(door.room, []).extend(door.sign.swings)
    inset = floor.network.thickness * writing.scale / 2 + _AROUND
    by = writing.scale
    roomy = _ROOMY if len(floor.rooms) <= _CROWD else _ROOMY_IN_A_CROWD
    for room in floor.rooms:
        x, y, width, height = room.box
        wide, high = width * by - 2 * inset, height * by - 2 * inset
        title = names[id(room)]
        numbered = len(writing.legend) < MOST_NUMBERS
        if not numbered and not may_fit(title, wide, high, writing.base):
            writing.unnamed += 1
            continue
        clear = Box(x * by + inset, y * by + inset, wide, high)
        taken = things.get(id(room), [])
        for arc in swings.get(room.name, ()):
            taken = [*taken, *map(writing.kept_clear, swept(arc))]
        details: Sequence[str] = ()
        if look.show_area or min(clear.width, clear.height) >= roomy * writing.base:
            details = _details(room, building, look)
        block = fitted_label(title, details, clear, taken, writing.base)
        if block is None:
            block = _number(title, clear, taken, writing)
        if block is not None:
            writing.put(block, on(ground[room.name], palette.text))


def _details(room: PlacedRoom, building: Building, look: Look) -> Sequence[str]:
    unit, box = building.habits.unit, room.box
    size = lengths.size(box.width, box.height, unit, look.length_unit)
    if not look.show_area:
        return (size,)
    shown = look.area_unit or building.habits.area_unit
    return (lengths.area(box.width * box.height, unit, shown), size)


def _number(title: str, clear: Box, things: Sequence[Box], writing: Writing) -> Block | None:
    number = len(writing.legend) + 1
    if number > MOST_NUMBERS:
        writing.unnamed += 1
        return None
    for taken in (things, ()):
        for part in _NUMBERS:
            block = one_line(str(number), writing.base * part, clear, taken, True)
            if block is not None:
                writing.legend.append((number, title))
                return block
    writing.unnamed += 1
    return None


def _things(floor: FloorShapes, writing: Writing) -> dict[int, list[Box]]:
    """What must not be written over, for each room."""
    found: dict[int, list[Box]] = {}
    half = floor.network.thickness / 2
    for room in floor.rooms:
        for inner in room.rooms:
            found.setdefault(id(room), []).append(writing.kept_clear(_grown(inner.box, half)))
    for one, other in floor.overlaps:
        both = _common(one.box, other.box, 0.0)
        taken = _grown(both, half)
        for room in (one, other):
            if both.width < room.box.width or both.height < room.box.height:
                found.setdefault(id(room), []).append(writing.kept_clear(taken))
    others = [lines.box for _, lines in floor.stairs] + [lift.box for lift in floor.lifts]
    for box in others:
        for room in floor.rooms:
            if _touch(box, room.box):
                found.setdefault(id(room), []).append(writing.kept_clear(box))
    return found


def _grown(box: Box, by: float) -> Box:
    return Box(box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by)


def _touch(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def _write_ways(floor: FloorShapes, palette: Palette, writing: Writing) -> None:
    """Write UP or DN behind the first step of each way over a stair."""
    size, scale = writing.base * 0.62, writing.scale
    for stair, lines in floor.stairs:
        for word, line in ways(stair, lines):
            width = width_of(word, size, True) + 3
            if lines.width * scale < width + 3:
                continue
            (x, y), (nx, ny) = line[0], line[1]
            away = max(1e-9, ((nx - x) ** 2 + (ny - y) ** 2) ** 0.5)
            step = (width / 2 if abs(nx - x) > abs(ny - y) else size * 0.6) + 5
            px, py = x * scale + (nx - x) / away * step, y * scale + (ny - y) / away * step
            ground = Box(px - width, py - size, 2 * width, 2 * size)
            block = one_line(word, size, ground, (), True)
            if block is not None:
                writing.chips.append(Box(px - width / 2, py - size * 0.6, width, size * 1.2))
                writing.put(block, on(palette.stair, palette.text))


def _write_stairs(
    floor: FloorShapes,
    palette: Palette,
    ground: Mapping[str, str],
    things: dict[int, list[Box]],
    writing: Writing,
) -> None:
    """Write the names of stairs and lifts beside them, of a lift else into it."""
    named = [
        (stair.stair.label, stair.stair.name.text, lines.box, False)
        for stair, lines in floor.stairs
    ]
    named += [(lift.lift.label, lift.lift.name.text, lift.box, True) for lift in floor.lifts]
    writing.too_many += max(0, len(named) - MOST_NAMED)
    for label, name, place, into in named[:MOST_NAMED]:
        text = words_of(label.text if label else None, name)[:40]
        box = writing.box(place, writing.scale)
        size = writing.base * _NOTE
        inner = one_line(text, size, box, ()) if into else None
        if inner is not None:
            writing.chips.append(inner.box)
            writing.put(inner, on(palette.stair, palette.text))
            continue
        home = _home(place, floor.rooms)
        block = _beside(text, size, place, home, floor, things, writing)
        if block is None:
            writing.unnamed_things += 1
        else:
            writing.put(block, on(ground[home.name] if home else palette.paper, palette.faint))


def _beside(
    text: str,
    size: float,
    place: Box,
    home: PlacedRoom | None,
    floor: FloorShapes,
    things: dict[int, list[Box]],
    writing: Writing,
) -> Block | None:
    """Find a place for a name next to its thing, in the same room."""
    wide = width_of(text, size) + 2 * _AIR + 2
    high = size * 1.3 + 2 * _AIR + 2
    x, y, width, height = writing.box(place, writing.scale)
    around = Box(x - wide, y - high, width + 2 * wide, height + 2 * high)
    if home is None:
        return one_line(text, size, around, [writing.kept_clear(place)])
    inset = floor.network.thickness * writing.scale / 2 + 1.5
    taken = things.setdefault(id(home), [])
    block = one_line(
        text, size, _common(around, writing.box(home.box, writing.scale), inset), taken
    )
    if block is not None:
        taken.append(block.box)
    return block


def _home(box: Box, rooms: Sequence[PlacedRoom]) -> PlacedRoom | None:
    x, y = box.center
    homes = [
        room
        for room in rooms
        if room.box.x <= x <= room.box.right and room.box.y <= y <= room.box.bottom
    ]
    return homes[-1] if homes else None


def _common(one: Box, other: Box, inset: float) -> Box:
    """The ground of the one in the other, kept off the other's edge."""
    left, top = max(one.x, other.x + inset), max(one.y, other.y + inset)
    right = min(one.right, other.right - inset)
    bottom = min(one.bottom, other.bottom - inset)
    return Box(left, top, right - left, bottom - top)
