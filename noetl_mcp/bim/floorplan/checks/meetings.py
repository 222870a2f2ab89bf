"""Find the rooms of a floor that face each other across a wall, without comparing all with all."""

import bisect
from collections.abc import Sequence
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
    """Return the pairs of boxes that face each other, in order, each with its first side."""
    best: dict[tuple[int, int], int] = {}
    spans = [(x, y, x + width, y + height) for x, y, width, height in boxes]
    upright = _facing(
        [(right, top, bottom) for _, top, right, bottom in spans],
        [(left, top, bottom) for left, top, _, bottom in spans],
    )
    level = _facing(
        [(bottom, left, right) for left, _, right, bottom in spans],
        [(top, left, right) for left, top, right, _ in spans],
    )
    for rank, found in ((0, upright), (2, level)):
        for one, other in found:
            pair, side = ((one, other), rank) if one < other else ((other, one), rank + 1)
            if best.get(pair, len(SIDES)) > side:
                best[pair] = side
    return tuple(Meeting(*pair, best[pair]) for pair in sorted(best))


def _facing(
    far: Sequence[tuple[float, float, float]], near: Sequence[tuple[float, float, float]]
) -> list[tuple[int, int]]:
    """Return which far edges are nearer than half a unit to which near edges, and overlap them."""
    columns, longest = _columns(near)
    found: list[tuple[int, int]] = []
    for index, (at, start, end) in enumerate(far):
        if end <= start or not -_FAR < at < _FAR:
            continue
        middle = int(at // NEAR)
        for key in (middle - 1, middle, middle + 1):
            column = columns.get(key)
            if column is None:
                continue
            place = bisect.bisect_right(column, (start - longest[key],))
            while place < len(column):
                other_start, other_end, other_at, other = column[place]
                if other_start >= end:
                    break
                if other_end > start and -NEAR < other_at - at < NEAR and other != index:
                    found.append((index, other))
                place += 1
    return found


def _columns(
    edges: Sequence[tuple[float, float, float]],
) -> tuple[dict[int, list[tuple[float, float, float, int]]], dict[int, float]]:
    """Sort edges into columns half a unit wide; return them and the longest edge of each."""
    columns: dict[int, list[tuple[float, float, float, int]]] = {}
    longest: dict[int, float] = {}
    for index, (at, start, end) in enumerate(edges):
        if end <= start or not -_FAR < at < _FAR:
            continue
        key = int(at // NEAR)
        column = columns.get(key)
        if column is None:
            columns[key] = [(start, end, at, index)]
            longest[key] = end - start
            continue
        column.append((start, end, at, index))
        if end - start > longest[key]:
            longest[key] = end - start
    for column in columns.values():
        column.sort()
    return columns, longest
