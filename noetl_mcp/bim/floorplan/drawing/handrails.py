"""The handrails of stairs as lines beside their steps. It refuses to draw them over landings.

Left and right are those of somebody who climbs. Inner is the hand to which a stair turns; a
straight one has its rail on both sides then.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedStair
from noetl_mcp.bim.floorplan.drawing.shapes import Point
from noetl_mcp.bim.floorplan.drawing.stairs import Line, StairLines

_BOTH = ("left", "right")
_OTHER = {"left": "right", "right": "left"}
_FROM_EDGE = 0.07


def handrails(stair: PlacedStair, lines: StairLines) -> Iterator[Line]:
    """Yield a line for each handrail of each flight; a stair that names none has none drawn."""
    hands = _hands(stair.stair)
    inset = lines.width * _FROM_EDGE
    for part in lines.parts if hands else ():
        rails: dict[str, list[Point]] = {hand: [] for hand in hands}
        for index, (edge, after) in enumerate(pairwise(part.edges)):
            _add(edge, edge, after, rails, inset)
            if index == len(part.edges) - 2:
                _add(after, edge, after, rails, inset)
        yield from (tuple(rail) for rail in rails.values() if len(rail) > 1)


def _hands(stair: tree.Stair) -> tuple[str, ...]:
    hand = stair.handrail
    if hand is None or hand == "none":
        return ()
    if hand in _BOTH:
        return (hand,)
    inner = _inner(stair.shape)
    if hand == "both" or inner is None:
        return _BOTH
    return (inner if hand == "inner" else _OTHER[inner],)


def _inner(shape: tree.Shape) -> str | None:
    """The hand to which a stair turns; of several turns the first."""
    if shape.kind == "spiral":
        return "left" if shape.rotation == "counterclockwise" else "right"
    if shape.kind == "curved":
        return "right"
    turns = (one.direction for one in shape.segments if isinstance(one, tree.Turn))
    return shape.turn or next(turns, None)


def _add(edge: Line, here: Line, after: Line, rails: dict[str, list[Point]], inset: float) -> None:
    """Add to each rail its point on the edge of a step; the way leads from one edge to another."""
    one, other = edge
    length = math.dist(one, other)
    (x, y), (next_x, next_y) = _middle(here), _middle(after)
    if length <= 2 * inset or (x, y) == (next_x, next_y):
        return
    across = (other[0] - one[0]) * (y - next_y) + (other[1] - one[1]) * (next_x - x)
    left, right = (one, other) if across > 0 else (other, one)
    for hand, rail in rails.items():
        start, end = (left, right) if hand == "left" else (right, left)
        part = inset / length
        rail.append((start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part))


def _middle(edge: Line) -> Point:
    (ax, ay), (bx, by) = edge
    return (ax + bx) / 2, (ay + by) / 2
