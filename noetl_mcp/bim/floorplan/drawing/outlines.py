"""The outlines of rectangles that touch or cover each other, as if they were cut from one sheet."""

from collections.abc import Iterable, Iterator, Sequence

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.shapes import Point

_DIGITS = 6
_Span = tuple[float, float]
_Sides = tuple[float, float, float, float]
"""A rectangle: where it begins and ends along a line, and across."""


def outlines(boxes: Iterable[Box]) -> list[list[Point]]:
    """Return closed lines around what any of the boxes covers, holes in it included."""
    sides = [
        (
            round(box.x, _DIGITS),
            round(box.right, _DIGITS),
            round(box.y, _DIGITS),
            round(box.bottom, _DIGITS),
        )
        for box in boxes
    ]
    ways: dict[Point, list[Point]] = {}
    for at, (start, end), before in _edges(sides):
        one, other = (start, at), (end, at)
        first, last = (other, one) if before else (one, other)
        ways.setdefault(first, []).append(last)
    turned = [(top, bottom, left, right) for left, right, top, bottom in sides]
    for at, (start, end), before in _edges(turned):
        one, other = (at, start), (at, end)
        first, last = (one, other) if before else (other, one)
        ways.setdefault(first, []).append(last)
    return list(_closed(ways))


def _edges(sides: Sequence[_Sides]) -> Iterator[tuple[float, _Span, bool]]:
    """Yield where one side of a line is covered and the other is not, and whether it is the one
    before the line."""
    for at in sorted({line for _, _, low, high in sides for line in (low, high)}):
        before = _joined((a, b) for a, b, low, high in sides if low < at <= high)
        behind = _joined((a, b) for a, b, low, high in sides if low <= at < high)
        for span in _without(before, behind):
            yield at, span, True
        for span in _without(behind, before):
            yield at, span, False


def _joined(spans: Iterable[_Span]) -> list[_Span]:
    """Put spans together that touch or overlap."""
    found: list[_Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def _without(spans: Sequence[_Span], others: Sequence[_Span]) -> Iterator[_Span]:
    """Yield the parts of spans that none of the others covers."""
    for start, end in spans:
        for low, high in others:
            if high <= start or low >= end:
                continue
            if low > start:
                yield start, low
            start = high
        if start < end:
            yield start, end


def _closed(ways: dict[Point, list[Point]]) -> Iterator[list[Point]]:
    """Walk along the edges until each walk is back where it began."""
    for begin in list(ways):
        while ways[begin]:
            line, here = [begin], ways[begin].pop()
            while here != begin:
                line.append(here)
                here = ways[here].pop()
            yield line


__all__ = ["outlines"]
