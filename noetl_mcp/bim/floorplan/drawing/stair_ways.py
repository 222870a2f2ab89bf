"""What is seen of a stair on a floor, and which ways lead over it. It refuses to lay out steps.

A plan is cut at the height of a hand: of a stair that leads up only its lower steps are below the
cut. One that came up from below is seen from above as a whole, and its arrow leads down. Where a
stair goes on from there, the cut stands between the way up and the way down.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import PlacedStair
from noetl_mcp.bim.floorplan.drawing.shapes import Point
from noetl_mcp.bim.floorplan.drawing.stairs import Line, StairLines

UP, DOWN = "UP", "DN"
_BESIDE_CUT = 0.22


class Way(NamedTuple):
    """A way over a stair, from where it is entered, and what is written there."""

    word: str
    line: Line


class Seen(NamedTuple):
    """The steps that are seen whole, those above the cut, and the cut where there is one."""

    whole: tuple[Line, ...]
    above: tuple[Line, ...]
    cuts: tuple[Line, ...]


def seen(stair: PlacedStair, lines: StairLines) -> Seen:
    """Say what of a stair is seen on the floor where it is drawn."""
    cuts = (lines.cut,) if lines.cut else ()
    if not stair.leads_down:
        return Seen(lines.low, lines.high, cuts)
    return Seen((*lines.low, *lines.high), (), cuts if stair.leads_up else ())


def ways(stair: PlacedStair, lines: StairLines) -> tuple[Way, ...]:
    """Return the ways over a stair: up, down, or both as far as the cut."""
    way = lines.way
    if len(way) == 1:
        (x, y) = way[0]
        way = (way[0], (x, y - lines.width / 2))
    if not stair.leads_down:
        return (Way(UP, way),)
    if not stair.leads_up:
        return (Way(DOWN, way[::-1]),)
    middle = _middle(lines.cut or way)
    air = lines.width * _BESIDE_CUT
    return Way(UP, _until(way, middle, air)), Way(DOWN, _until(way[::-1], middle, air))


def _middle(line: Line) -> Point:
    (ax, ay), (bx, by) = line[0], line[-1]
    return (ax + bx) / 2, (ay + by) / 2


def _until(way: Sequence[Point], end: Point, air: float) -> Line:
    """The part of a way that ends a little before where it is nearest to a point."""
    nearest, at, done = math.inf, 0.0, 0.0
    for (ax, ay), (bx, by) in pairwise(way):
        length = math.dist((ax, ay), (bx, by))
        part = ((end[0] - ax) * (bx - ax) + (end[1] - ay) * (by - ay)) / max(length**2, 1e-18)
        part = min(1.0, max(0.0, part))
        away = math.dist(end, (ax + (bx - ax) * part, ay + (by - ay) * part))
        if away < nearest:
            nearest, at = away, done + part * length
        done += length
    return _first(way, max(at - air, at / 2))


def _first(way: Sequence[Point], length: float) -> Line:
    """So much of a way."""
    kept, left = [way[0]], length
    for (ax, ay), (bx, by) in pairwise(way):
        here = math.dist((ax, ay), (bx, by))
        if here >= left:
            part = left / max(here, 1e-9)
            return (*kept, (ax + (bx - ax) * part, ay + (by - ay) * part))
        kept.append((bx, by))
        left -= here
    return tuple(kept)
