"""Say quickly whether leaves of a floor may meet anything at all. It refuses to say where they do.

Where a door stands exactly is known when all walls of a floor are merged, which takes its time;
here the ground at its wall is taken wide enough for all that may come of it, on both sides.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from noetl_mcp.bim.floorplan.building import (
    Box,
    Building,
    PlacedConnection,
    PlacedFloor,
    PlacedRoom,
)
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.units import scale_to

Ground = tuple[float, float, float, float]
"""Left, top, right and bottom; a tuple, for there are many."""
_MANY = 12
_ANYWHERE = (float("-inf"), float("-inf"), float("inf"), float("inf"))


def may_meet(floor: PlacedFloor, rooms: Sequence[PlacedRoom], building: Building) -> bool:
    """Tell whether there is a door, and a stair, a lift or another door where it may swing."""
    found: dict[str, list[Ground]] = {}
    for name, ground in _reaches(floor, rooms, building):
        if floor.stairs or floor.lifts:
            return True
        near = found.setdefault(name, [])
        near.append(ground)
        if len(near) > _MANY:
            return True
    return any(
        one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
        for near in found.values()
        for one, other in combinations(near, 2)
    )


def _reaches(
    floor: PlacedFloor, rooms: Sequence[PlacedRoom], building: Building
) -> Iterator[tuple[str, Ground]]:
    """Yield each room, "" for the outside, into which a door may swing, and where about."""
    air = 2 * building.habits.wall_thickness
    for one in floor.connections:
        if one.connection.kind != "opening":
            yield from _of_connection(one, one.width + air)
    scale = scale_to(building.habits.unit, raw=building.raw)
    for room in rooms:
        for wall in room.room.walls:
            if wall.kind == "door":
                width = scaled(wall.size.width, scale) if wall.size else building.habits.door_width
                yield room.name, _beside(room.box, wall.side, width + air)


def _of_connection(one: PlacedConnection, reach: float) -> Iterator[tuple[str, Ground]]:
    said, first, second, _, _ = one
    share = 50.0 if said.at is None else min(100.0, said.at)
    if first is None or second is None:
        room, side = first or second, said.second.side if first is None else said.first.side
        if room is not None:
            ground = _beside(room.box, side, reach)
            yield room.name, ground
            yield "", ground
        return
    low, high = _shared(first.box, second.box, upright=said.first.side in ("left", "right"))
    middle = low + (high - low) * share / 100
    part = (middle - reach, middle + reach) if high > low else None
    yield first.name, _beside(first.box, said.first.side, reach, part)
    yield second.name, _beside(second.box, said.second.side, reach, part)


def _shared(one: Box, other: Box, *, upright: bool) -> tuple[float, float]:
    if upright:
        return max(one.y, other.y), min(one.y + one.height, other.y + other.height)
    return max(one.x, other.x), min(one.x + one.width, other.x + other.width)


def _beside(
    box: Box, side: str | None, reach: float, part: tuple[float, float] | None = None
) -> Ground:
    """What is nearer to a part of a wall than `reach`, on both sides of it."""
    x, y, width, height = box
    if side is None:
        return _ANYWHERE
    if side in ("left", "right"):
        low, high = part or (y, y + height)
        at = x if side == "left" else x + width
        return at - reach, low, at + reach, high
    low, high = part or (x, x + width)
    at = y if side == "top" else y + height
    return low, at - reach, high, at + reach
