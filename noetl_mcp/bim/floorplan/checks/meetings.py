"""Find the rooms of a floor that face each other across a wall, without comparing all with all."""

import bisect
from collections.abc import Sequence

from noetl_mcp.bim.floorplan.building import Box

NEAR = 0.5
_FAR = 1e12
SIDES = ("right", "left", "bottom", "top")

Meeting = tuple[int, int, int]
"""Two neighbours by number, the lower first, and on which of SIDES the first meets the second."""

_Span = tuple[float, float, float, float]
_Column = list[tuple[float, float, float, int]]


def meetings(boxes: Sequence[Box]) -> Sequence[Meeting]:
    """Return the pairs of boxes that face each other, in order, each with its first side."""
    spans = [(x, y, x + width, y + height) for x, y, width, height in boxes]
    found = _facing(spans, (0, 2, 1, 3), 0)
    found += _facing(spans, (1, 3, 0, 2), 2)
    found.sort()
    before: tuple[int, int] | None = None
    kept: list[Meeting] = []
    for meeting in found:
        pair = meeting[:2]
        if pair != before:
            kept.append(meeting)
            before = pair
    return kept


def _facing(spans: Sequence[_Span], axes: tuple[int, int, int, int], rank: int) -> list[Meeting]:
    """Return which far edges are nearer than half a unit to which near edges, and overlap them.

    `axes` are the places in a span of the near edge, the far edge, and of where both begin and end.
    """
    _, far, low, high = axes
    columns, longest = _columns(spans, axes)
    found: list[Meeting] = []
    for index, span in enumerate(spans):
        at, start, end = span[far], span[low], span[high]
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
                place += 1
                if other_end <= start or other == index or not -NEAR < other_at - at < NEAR:
                    continue
                if index < other:
                    found.append((index, other, rank))
                else:
                    found.append((other, index, rank + 1))
    return found


def _columns(
    spans: Sequence[_Span], axes: tuple[int, int, int, int]
) -> tuple[dict[int, _Column], dict[int, float]]:
    """Sort near edges into columns half a unit wide; return them and the longest edge of each."""
    near, _, low, high = axes
    columns: dict[int, _Column] = {}
    longest: dict[int, float] = {}
    for index, span in enumerate(spans):
        at, start, end = span[near], span[low], span[high]
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
