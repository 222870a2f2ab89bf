"""Dimension chains around a floor: the edges of rooms that are seen from each side, then the whole.

It refuses to draw inside the outline.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box

_SAME = 1e-6
_HORIZONTAL = ("top", "bottom")


class Chain(NamedTuple):
    """A chain on one side: the marks along it, and how far off its walls are at each mark."""

    side: str
    marks: tuple[float, ...]
    depths: tuple[float, ...]
    whole: bool

    @property
    def horizontal(self) -> bool:
        """Whether it runs along x."""
        return self.side in _HORIZONTAL


def chains(boxes: Sequence[Box]) -> tuple[Chain, ...]:
    """Return the chains of a floor; right and lower ones only where they tell something new."""
    if not boxes:
        return ()
    found: list[Chain] = []
    for side, opposite in (("top", None), ("left", None), ("bottom", "top"), ("right", "left")):
        marks, depths = _skyline(boxes, side)
        told = next((chain.marks for chain in found if chain.side == opposite), None)
        if told is not None and set(marks) <= set(told):
            continue
        found.append(Chain(side, marks, depths, opposite is None))
    return tuple(found)


def _skyline(boxes: Sequence[Box], side: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Walk along a side and note where another room comes into view."""
    spans = sorted(_span(box, side) for box in boxes)
    points = sorted({point for start, end, _ in spans for point in (start, end)})
    waiting = list(reversed(spans))
    seen: list[tuple[float, float, float]] = []
    views: list[tuple[float, float, float]] = []
    for point in points:
        while waiting and waiting[-1][0] <= point:
            start, end, depth = waiting.pop()
            heapq.heappush(seen, (depth, end, start))
        while seen and seen[0][1] <= point:
            heapq.heappop(seen)
        views.append((point, *((seen[0][0], seen[0][2]) if seen else (float("inf"), 0.0))))
    return _marks(views)


def _marks(
    views: Sequence[tuple[float, float, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    marks: list[float] = []
    depths: list[float] = []
    last: tuple[float, float] | None = None
    for point, depth, start in views:
        if last == (depth, start):
            continue
        if marks and point - marks[-1] < _SAME:
            continue
        marks.append(point)
        depths.append(min(depth, last[0] if last else depth))
        last = (depth, start)
    return tuple(marks), tuple(depths)


def _span(box: Box, side: str) -> tuple[float, float, float]:
    if side == "top":
        return box.x, box.right, box.y
    if side == "bottom":
        return box.x, box.right, -box.bottom
    if side == "left":
        return box.y, box.bottom, box.x
    return box.y, box.bottom, -box.right


def gaps(marks: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield the parts between marks."""
    return itertools.pairwise(marks)
