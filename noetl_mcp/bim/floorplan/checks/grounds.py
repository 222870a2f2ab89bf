"""Convex pieces of ground, and whether two of them overlap. Knows no doors and no stairs."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Point

Ground = tuple[Point, ...]
"""The corners of a convex piece of ground, in order."""
_PARTS = 8


def swept_ground(arc: Arc) -> Ground:
    """The quarter of a circle that a leaf passes over, its rim as a chain of lines."""
    x, y = arc.center
    start = math.atan2(arc.start[1] - y, arc.start[0] - x)
    turn = math.atan2(arc.end[1] - y, arc.end[0] - x) - start
    turn = (turn + math.pi) % math.tau - math.pi
    angles = (start + turn * part / _PARTS for part in range(_PARTS + 1))
    rim = tuple((x + math.cos(at) * arc.radius, y + math.sin(at) * arc.radius) for at in angles)
    return (arc.center, *rim)


def within(ground: Ground, box: Box) -> Ground:
    """The part of a ground that lies in a box; empty where none does."""
    for axis, low, high in ((0, box.x, box.right), (1, box.y, box.bottom)):
        ground = _cut(ground, axis, low, 1.0)
        ground = _cut(ground, axis, high, -1.0)
    return ground


def _cut(ground: Ground, axis: int, at: float, sign: float) -> Ground:
    """Keep what is beyond a line; `sign` is 1 to keep what is greater."""
    kept: list[Point] = []
    for one, other in pairwise((*ground, *ground[:1])):
        before, after = (one[axis] - at) * sign, (other[axis] - at) * sign
        if before >= 0:
            kept.append(one)
        if (before < 0) != (after < 0):
            part = before / (before - after)
            kept.append((one[0] + (other[0] - one[0]) * part, one[1] + (other[1] - one[1]) * part))
    return tuple(kept)


def corners(box: Box) -> Ground:
    """A box as a ground."""
    return (box.x, box.y), (box.right, box.y), (box.right, box.bottom), (box.x, box.bottom)


def overlap(one: Ground, other: Ground, deep: float) -> bool:
    """Tell whether one would have to be pushed further than `deep` to be off the other."""
    if len(one) < 3 or len(other) < 3:
        return False
    for x, y in (*_normals(one), *_normals(other)):
        low, high = _reach(one, x, y)
        start, end = _reach(other, x, y)
        if min(high, end) - max(low, start) <= deep:
            return False
    return True


def _normals(ground: Ground) -> Iterator[Point]:
    """Directions across the sides of a ground."""
    for (ax, ay), (bx, by) in pairwise((*ground, *ground[:1])):
        length = math.dist((ax, ay), (bx, by))
        if length > 1e-9:
            yield (ay - by) / length, (bx - ax) / length


def _reach(ground: Sequence[Point], x: float, y: float) -> tuple[float, float]:
    along = [px * x + py * y for px, py in ground]
    return min(along), max(along)
