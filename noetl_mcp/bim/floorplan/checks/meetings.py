"""Find the rooms of a floor that face each other across a wall, without comparing all with all."""

import bisect
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box

NEAR = 0.5
_FAR = 1e12
SIDES = ("right", "left", "bottom", "top")


class Meeting(NamedTuple):
    """Two neighbours by number; `rank` tells on which of SIDES the first meets the second."""

    first: int
    second: int
    rank: int


def meetings(boxes: Sequence[Box]) -> tuple[Meeting, ...]:
    """Return the pairs of rooms that face each other, in order, each with its first side."""
    best: dict[tuple[int, int], int] = {}
    for rank, is_upright in ((0, True), (2, False)):
        if is_upright:
            far = [(x + w, y, y + h) for x, y, w, h in boxes]
            near = [(x, y, y + h) for x, y, w, h in boxes]
        else:
            far = [(y + h, x, x + w) for x, y, w, h in boxes]
            near = [(y, x, x + w) for x, y, w, h in boxes]
        for one, other in _facing(far, near):
            pair, side = ((one, other), rank) if one < other else ((other, one), rank + 1)
            best[pair] = min(side, best.get(pair, side))
    return tuple(Meeting(*pair, rank) for pair, rank in sorted(best.items()))


def _facing(
    far: Sequence[tuple[float, float, float]], near: Sequence[tuple[float, float, float]]
) -> Iterator[tuple[int, int]]:
    """Yield which far edges are nearer than half a unit to which near edges, and overlap them."""
    columns: dict[int, list[tuple[float, float, float, int]]] = {}
    longest: dict[int, float] = {}
    for index, (at, start, end) in enumerate(near):
        if not abs(at) < _FAR:
            continue
        key = int(at // NEAR)
        columns.setdefault(key, []).append((start, end, at, index))
        longest[key] = max(longest.get(key, 0.0), end - start)
    for ordered in columns.values():
        ordered.sort()
    for index, (at, start, end) in enumerate(far):
        if not abs(at) < _FAR:
            continue
        middle = int(at // NEAR)
        for key in (middle - 1, middle, middle + 1):
            column = columns.get(key)
            if column is None:
                continue
            place = bisect.bisect_right(column, (start - longest[key],))
            while place < len(column) and column[place][0] < end:
                _, other_end, other_at, other = column[place]
                place += 1
                if other_end > start and abs(other_at - at) < NEAR and other != index:
                    yield index, other
