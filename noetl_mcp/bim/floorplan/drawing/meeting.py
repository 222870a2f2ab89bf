"""Find where a connection goes through walls. It refuses to place it there.

Rooms meet on a common line, or stand a little apart and have a wall each; a sub-room meets the
room around it in its own wall; the outside is met by a wall that has no room behind it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import PlacedRoom
from noetl_mcp.bim.floorplan.drawing.edges import SIDES, Edge, LineKey
from noetl_mcp.bim.floorplan.drawing.placing import Line, outer_parts

OPPOSITE = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}
_FAR = 5.0

RoomEdges = Mapping[tuple[int, str], tuple[LineKey, Edge]]


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
    first: PlacedRoom, second: PlacedRoom, sides: tuple[str | None, str | None], edges: RoomEdges
) -> Meeting | None:
    """Find the common wall of two rooms; sides that are not given are found."""
    if second.parent == first.name and second in first.rooms:
        return _inside(second, sides[1] or sides[0], edges)
    if first.parent == second.name and first in second.rooms:
        return _inside(first, sides[0] or sides[1], edges)
    tried = [side for side in SIDES if sides[0] in (None, side)]
    tried = [side for side in tried if sides[1] in (None, OPPOSITE[side])]
    found = _facing(first, second, tried, edges)
    return found or _facing(first, second, list(SIDES), edges)


def outward(
    room: PlacedRoom, side: str | None, edges: RoomEdges, lines: Mapping[LineKey, Line]
) -> Meeting | None:
    """Find the wall of a room that leads outside; one that says `door` is taken first."""
    best: Meeting | None = None
    most = (False, 0.0)
    for tried in SIDES:
        found = edges.get((id(room), tried))
        if found is None or side not in (None, tried):
            continue
        key, edge = found
        runs = lines[key].runs_between(edge.start, edge.end)
        free = sum(end - start for start, end in outer_parts(runs, edge.start, edge.end))
        worth = (room.wall(tried) == "door" and free > 0, free)
        if best is None or worth > most:
            best = Meeting(room, tried, key, None, edge.start, edge.end, free > 0)
            most = worth
    return best


def _inside(inner: PlacedRoom, side: str | None, edges: RoomEdges) -> Meeting | None:
    for tried in (side, *(one for one in SIDES if inner.wall(one) == "door"), "bottom"):
        found = edges.get((id(inner), tried)) if tried else None
        if found is not None and tried is not None:
            key, edge = found
            return Meeting(inner, tried, key, None, edge.start, edge.end, False)
    return None


def _facing(
    first: PlacedRoom, second: PlacedRoom, sides: list[str], edges: RoomEdges
) -> Meeting | None:
    best: Meeting | None = None
    least = (float("inf"), 0.0)
    for side in sides:
        mine = edges.get((id(first), side))
        theirs = edges.get((id(second), OPPOSITE[side]))
        if mine is None or theirs is None:
            continue
        low = max(mine[1].start, theirs[1].start)
        high = min(mine[1].end, theirs[1].end)
        gap = abs(mine[0][1] - theirs[0][1])
        if high <= low or gap > _FAR * _reach(first, second):
            continue
        if (gap, low - high) < least:
            least = (gap, low - high)
            other = theirs[0] if gap > 0 else None
            best = Meeting(first, side, mine[0], other, low, high, False)
    return best


def _reach(first: PlacedRoom, second: PlacedRoom) -> float:
    """Rooms meet across a gap of a part of the smaller one, as plans leave room for walls."""
    return min(first.box.width, first.box.height, second.box.width, second.box.height) / 50
