"""Checks of the leaves of doors: whether they swing over stairs and lifts, or cross each other.

They stand where the drawing has them. It refuses to look at floors with very many rooms or doors.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box, Building, PlacedFloor, PlacedRoom, PlacedStair
from noetl_mcp.bim.floorplan.checks.grounds import (
    Ground,
    corners,
    overlap,
    swept_ground,
    within,
)
from noetl_mcp.bim.floorplan.checks.reaches import may_meet
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.drawing.floor_shapes import Door, doors_of, laid_stair
from noetl_mcp.bim.floorplan.drawing.limits import has_ground
from noetl_mcp.bim.floorplan.drawing.network import Wall
from noetl_mcp.bim.floorplan.drawing.shapes import Arc
from noetl_mcp.bim.floorplan.drawing.stairs import StairLines
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.rules import hint
from noetl_mcp.bim.floorplan.stair_sizes import drawn_steps
from noetl_mcp.bim.floorplan.units import factor, scale_to

MOST_ROOMS = 2_000
MOST_THINGS = 100
_MOST_STEPS = 200
_MOST_NEAR = 40
_DEEP_METRES = 0.03
_NOT_ASKED = f"floors with more than {MOST_ROOMS:,} rooms or connections are not looked at"

DOOR_OVER = hint(
    "door-over-stair",
    "The {door} swings over {kind} '{name}' on floor '{floor}'. Let it open the other way, or move "
    "one of them.",
    "the leaf of a door passes over a lift, or over steps that are not as high as the door; the "
    f"first {MOST_THINGS} stairs and lifts are looked at, and {_NOT_ASKED}",
    "connection",
)
DOORS_CROSS = hint(
    "doors-cross",
    "The {door} and the {other} swing over the same ground in '{room}'. Let one of them open the "
    "other way, or move it.",
    f"the leaves of two doors cross; {_NOT_ASKED}",
    "connection",
)
RULES = (DOOR_OVER, DOORS_CROSS)


class _Leaf(NamedTuple):
    """A leaf of a door, the room that it stays in (None outside), and the box of its way."""

    door: Door
    swing: Arc
    room: PlacedRoom | None
    box: Box

    def ground(self) -> Ground:
        """What it passes over."""
        ground = swept_ground(self.swing)
        return ground if self.room is None else within(ground, self.room.box)


class _Thing(NamedTuple):
    """A stair or lift; its steps with their heights, which for a lift is one ground."""

    kind: str
    name: str
    steps: tuple[tuple[Ground, float], ...]
    box: Box


def leaves(subject: Subject) -> Iterator[Finding]:
    """Look at the leaves of all floors."""
    left = MOST_THINGS
    for floor in subject.building.floors:
        rooms = subject.standing[floor.index]
        if max(len(rooms), len(floor.connections)) > MOST_ROOMS:
            continue
        if may_meet(floor, rooms, subject.building):
            yield from _on(floor, rooms, subject.building, left)
            left = max(0, left - len(floor.stairs) - len(floor.lifts))


def _on(
    floor: PlacedFloor, rooms: Sequence[PlacedRoom], building: Building, most: int
) -> Iterator[Finding]:
    called = {room.name: room for room in rooms if room.box.width > 0 and room.box.height > 0}
    network = wall_network(floor, building)
    deep = _DEEP_METRES * factor("m", building.habits.unit)
    doors = doors_of(network, called, building)
    swept = [leaf for door in doors for leaf in _leaves(door, called)]
    things = _things(floor, called, building, network.thickness / 2)
    for thing in islice(things, most):
        yield from _over(thing, swept, floor, called, deep)
    yield from _crossing(swept, called, deep)


def _crossing(
    swept: Sequence[_Leaf], rooms: Mapping[str, PlacedRoom], deep: float
) -> Iterator[Finding]:
    """Tell of doors whose leaves cross, each pair once and in the order of the text."""
    told: set[tuple[int, int]] = set()
    for first, second in Grid([leaf.box for leaf in swept]).pairs(deep):
        one, other = swept[first], swept[second]
        pair = (id(one.door), id(other.door))
        if one.door is other.door or one.door.room != other.door.room or pair in told:
            continue
        if not overlap(one.ground(), other.ground(), deep):
            continue
        told.add(pair)
        doors = sorted((one.door, other.door), key=lambda door: _place(door, rooms))
        yield DOORS_CROSS.found(
            *_place(doors[1], rooms),
            door=_called(doors[0], rooms),
            other=_called(doors[1], rooms),
            room=one.door.room or "outside",
        )


def _leaves(door: Door, rooms: Mapping[str, PlacedRoom]) -> Iterator[_Leaf]:
    room = rooms.get(door.room or "")
    for swing in door.sign.swings:
        (ax, ay), (bx, by) = swing.start, swing.end
        box = Box(min(ax, bx), min(ay, by), abs(ax - bx), abs(ay - by))
        yield _Leaf(door, swing, room, box)


def _over(
    thing: _Thing,
    swept: Sequence[_Leaf],
    floor: PlacedFloor,
    rooms: Mapping[str, PlacedRoom],
    deep: float,
) -> Iterator[Finding]:
    """Tell of the doors that swing over a stair or lift."""
    told: set[int] = set()
    near = (leaf for leaf in swept if _touch(leaf.box, thing.box))
    for leaf in islice(near, _MOST_NEAR):
        ground, tall = leaf.ground(), leaf.door.opening.height
        if id(leaf.door) not in told and any(
            (tall is None or height < tall) and overlap(ground, step, deep)
            for step, height in thing.steps
        ):
            told.add(id(leaf.door))
            yield DOOR_OVER.found(
                *_place(leaf.door, rooms),
                door=_called(leaf.door, rooms),
                kind=thing.kind,
                name=thing.name,
                floor=floor.id,
            )


def _touch(one: Box, other: Box) -> bool:
    x, y, width, height = one
    return x < other.right and other.x < x + width and y < other.bottom and other.y < y + height


def _things(
    floor: PlacedFloor, rooms: dict[str, PlacedRoom], building: Building, half: float
) -> Iterator[_Thing]:
    for lift in floor.lifts:
        yield _Thing("lift", lift.lift.name.text, ((corners(lift.box), 0.0),), lift.box)
    scale = scale_to(building.habits.unit, raw=building.raw)
    for stair in floor.stairs:
        if has_ground(stair) and drawn_steps(stair) <= _MOST_STEPS:
            lines = laid_stair(stair, rooms, scale, half)
            yield _Thing("stair", stair.stair.name.text, tuple(_steps(stair, lines)), lines.box)


def _steps(stair: PlacedStair, lines: StairLines) -> Iterator[tuple[Ground, float]]:
    """Yield the steps with their heights; those of a stair that leads down lie below the floor."""
    grounds: list[Ground] = []
    for part in lines.parts:
        grounds += [(*a, *reversed(b)) for a, b in pairwise(part.edges)] or [part.outline]
    rise = 0.0 if stair.leads_down else stair.rise
    for index, ground in enumerate(grounds, 1):
        yield ground, rise * index / len(grounds)


def _place(door: Door, rooms: Mapping[str, PlacedRoom]) -> tuple[int, int]:
    """Where the text speaks of a door: its connection, or the entry of its wall."""
    said = door.opening.connection
    if said is not None:
        return said.connection.start, said.connection.end
    room = rooms[door.opening.rooms[0] or ""]
    side = _side(door.wall, room)
    entries = [one for one in room.room.walls if one.kind == "door" and one.side == side]
    place = entries[0] if entries else room.room.name  # of rooms with one name, the last is known
    return place.start, place.end


def _called(door: Door, rooms: Mapping[str, PlacedRoom]) -> str:
    said = door.opening.connection
    if said is None:
        room = rooms[door.opening.rooms[0] or ""]
        return f"door in wall {room.name}.{_side(door.wall, room)}"
    kind = said.connection.kind.replace("-", " ")
    if said.first is None or said.second is None:
        inside = said.first or said.second
        return f"{kind} from '{inside.name if inside else ''}' to outside"
    return f"{kind} between '{said.first.name}' and '{said.second.name}'"


def _side(wall: Wall, room: PlacedRoom) -> str:
    box = room.box
    if wall.horizontal:
        return "top" if abs(box.y - wall.at) < abs(box.bottom - wall.at) else "bottom"
    return "left" if abs(box.x - wall.at) < abs(box.right - wall.at) else "right"
