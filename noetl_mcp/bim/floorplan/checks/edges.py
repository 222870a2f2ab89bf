"""Sides of boxes: where they are, whether two lie on each other. Knows no rooms."""

from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box

OPPOSITE = {"right": "left", "left": "right", "bottom": "top", "top": "bottom"}


class Edge(NamedTuple):
    """A side of a box: a line across `at`, from `start` to `end`."""

    is_upright: bool
    at: float
    start: float
    end: float


def edge(box: Box, side: str) -> Edge:
    """Return a side of a box."""
    x, y, width, height = box
    if side == "left":
        return Edge(True, x, y, y + height)
    if side == "right":
        return Edge(True, x + width, y, y + height)
    if side == "top":
        return Edge(False, y, x, x + width)
    return Edge(False, y + height, x, x + width)


def shared(first: Edge, second: Edge, apart: float) -> float:
    """Return how long two edges lie on each other, 0 where they are more than `apart` away."""
    if first.is_upright != second.is_upright or abs(first.at - second.at) > apart:
        return 0.0
    return max(0.0, min(first.end, second.end) - max(first.start, second.start))
