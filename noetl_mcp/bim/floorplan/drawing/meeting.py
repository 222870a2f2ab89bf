"""Find where a connection goes through walls. It refuses to place it there.

Rooms meet on a common line, or stand a little apart and have a wall each; a sub-room meets the
room around it in its own wall; the outside is met by a wall that has no room behind it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import PlacedRoom, made
from noetl_mcp.bim.floorplan.drawing.edges import SIDES, Laid, LineKey
from noetl_mcp.bim.floorplan.drawing.placing import Line, outer_parts

OPPOSITE = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}
_FAR = 5.0


class Meeting(NamedTuple):
    """The shared part of two walls: on the line of the one, and of the other if that differs."""

    room: PlacedRoom
    side: str
    key: LineKey
    other: LineKey | None
    low: float
    high: float
    outer: bool


def between(
    first: PlacedRoom, second: PlacedRoom, sides: tuple[str | None, str | None], laid: Laid
) -> Meeting | None:
    """Find the common wall of two rooms; sides that are not given are found."""
    if second.parent is not None and second.parent == first.name and second in first.rooms:
        return _inside(second, sides[1] or sides[0], laid)
    if first.parent is not None and first.parent == second.name and first in second.rooms:
        return _inside(first, sides[0] or sides[1], laid)
    own, other = sides
    tried: tuple[str, ...] = SIDES if own is None else (own,)
    if other is not None:
        facing = OPPOSITE[other]
        tried = (facing,) if facing in tried else ()
    found = _facing(first, second, tried, laid)
    return found or _facing(first, second, SIDES, laid)


def outward(
    room: PlacedRoom, side: str | None, laid: Laid, lines: Mapping[LineKey, Line]
) -> Meeting | None:
    """Find the wall of a room that leads outside; one that says `door` is taken first."""
    best: Meeting | None = None
    most = (False, 0.0)
    for tried in SIDES:
        found = laid.spot(room, tried) if side in (None, tried) else None
        if found is None:
            continue
        key, low, high = found
        runs = lines[key].runs_between(low, high)
        free = sum(end - start for start, end in outer_parts(runs, low, high))
        worth = (room.wall(tried) == "door" and free > 0, free)
        if best is None or worth > most:
            best = Meeting(room, tried, key, None, low, high, free > 0)
            most = worth
    return best


def _inside(inner: PlacedRoom, side: str | None, laid: Laid) -> Meeting | None:
    for tried in (side, *(one for one in SIDES if inner.wall(one) == "door"), "bottom"):
        found = laid.spot(inner, tried) if tried else None
        if found is not None and tried is not None:
            key, low, high = found
            return Meeting(inner, tried, key, None, low, high, False)
    return None


def _facing(
    first: PlacedRoom, second: PlacedRoom, sides: tuple[str, ...], laid: Laid
) -> Meeting | None:
    best: Meeting | None = None
    least = (float("inf"), 0.0)
    for side in sides:
        mine = laid.spot(first, side)
        theirs = laid.spot(second, OPPOSITE[side])
        if mine is None or theirs is None:
            continue
        key, low, high = mine
        other, start, end = theirs
        if start > low:
            low = start
        if end < high:
            high = end
        gap = abs(key[1] - other[1])
        if high <= low or (gap > 0 and gap > _FAR * _reach(first, second)):
            continue
        if (gap, low - high) < least:
            least = (gap, low - high)
            apart = other if gap > 0 else None
            best = made(Meeting, (first, side, key, apart, low, high, False))
    return best


def _reach(first: PlacedRoom, second: PlacedRoom) -> float:
    """Rooms meet across a gap of a part of the smaller one, as plans leave room for walls."""
    return min(first.box.width, first.box.height, second.box.width, second.box.height) / 50
