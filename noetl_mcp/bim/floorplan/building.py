"""What a plan means: rooms with places, sizes and heights in one unit. It refuses to draw.

All lengths are in the building's `unit`; y grows downwards, as on paper. Sub-rooms stand where they
stand on the floor, not in their parent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.findings import Finding

made = tuple.__new__
"""Makes a named tuple of a class and its values in half the time of calling the class: for where a
floor has thousands."""


class Box(NamedTuple):
    """A rectangle; `x` and `y` are its corner at the top left."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    @property
    def center(self) -> tuple[float, float]:
        """Its middle."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Habits:
    """What holds where the plan says nothing: its config, completed by defaults."""

    unit: str
    area_unit: str
    wall_thickness: float
    floor_thickness: float
    default_height: float
    door_width: float
    door_height: float
    window_width: float
    window_height: float
    window_sill: float
    theme: str
    show_labels: bool
    show_dimensions: bool
    font_family: str | None
    font_size: float | None
    default_style: str | None
    stair_code: str


class PlacedRoom(NamedTuple):
    """A room where it stands; `rooms` are its sub-rooms. Rooms without a place are not there."""

    room: tree.Room
    name: str
    box: Box
    height: float
    elevation: float
    style: tree.Style | None
    parent: str | None
    rooms: tuple["PlacedRoom", ...]

    def walk(self) -> Iterator["PlacedRoom"]:
        """Yield it and all rooms in it, from the outside in."""
        yield self
        for inner in self.rooms:
            yield from inner.walk()

    def wall(self, side: str) -> str:
        """Return the kind of a wall; one that is not listed is solid."""
        return next((wall.kind for wall in self.room.walls if wall.side == side), "solid")


@dataclass(frozen=True, slots=True)
class PlacedStair:
    """A stair with its measures in the building's unit; completed by defaults.

    One that came up from the floor below leads down, and only up as well where it goes on.
    """

    stair: tree.Stair
    x: float
    y: float
    rise: float
    width: float
    riser: float
    tread: float
    leads_up: bool = True
    leads_down: bool = False
    style: tree.Style | None = None


@dataclass(frozen=True, slots=True)
class PlacedLift:
    """A lift where it stands."""

    lift: tree.Lift
    box: Box
    style: tree.Style | None = None


class PlacedConnection(NamedTuple):
    """A connection between two rooms of one floor, or of one and the outside.

    `first` or `second` is None for the outside; `width` and `height` are completed by defaults and
    `height` is None where the opening is as high as the room.
    """

    connection: tree.Connection
    first: PlacedRoom | None
    second: PlacedRoom | None
    width: float
    height: float | None


@dataclass(frozen=True, slots=True)
class PlacedFloor:
    """A floor with everything on it that has a place; `elevation` is that of its slab.

    `order` are its rooms in the order in which they were placed, those with `at` first.
    """

    floor: tree.Floor
    index: int
    height: float
    elevation: float
    rooms: tuple[PlacedRoom, ...]
    stairs: tuple[PlacedStair, ...]
    lifts: tuple[PlacedLift, ...]
    connections: tuple[PlacedConnection, ...]
    order: tuple[PlacedRoom, ...] = ()

    @property
    def id(self) -> str:
        """Its name."""
        return self.floor.name.text

    def every_room(self) -> Iterator[PlacedRoom]:
        """Yield all rooms and sub-rooms."""
        for room in self.rooms:
            yield room
            for inner in room.rooms:
                yield from inner.walk()


@dataclass(frozen=True, slots=True)
class Building:
    """All floors of a plan; `findings` are those of finding places.

    `raw` says that numbers were read as they are written, whatever their unit.
    """

    plan: tree.Plan
    habits: Habits
    styles: Mapping[str, tree.Style]
    floors: tuple[PlacedFloor, ...]
    findings: tuple[Finding, ...]
    raw: bool = False
