"""The signs for what is in the holes of walls: doors, windows, passages. Knows no colours.

A leaf stands open at a right angle, a thin quarter of a circle shows its way. Leaves hang on the
face of the wall towards which they open.
"""

from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.network import Opening, Wall
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Point, Stroke


class DoorSign(NamedTuple):
    """A door: its leaves, the ways they swing, and the ground that they sweep."""

    leaves: tuple[Stroke, ...]
    swings: tuple[Arc, ...]
    swept: Box


def at(wall: Wall, along: float, across: float) -> Point:
    """A point on a wall's line, and so far below or right of it."""
    return (along, wall.at + across) if wall.horizontal else (wall.at + across, along)


def face(wall: Wall, into: int) -> float:
    """How far a wall's face is from its line."""
    return into * wall.thickness / 2 if wall.solid else 0.0


def door_sign(wall: Wall, opening: Opening) -> DoorSign:
    """Draw a door with one or two leaves."""
    into = opening.into or 1
    across = face(wall, into)
    wide = opening.end - opening.start
    if opening.kind == "double-door":
        middle = (opening.start + opening.end) / 2
        sides = [(opening.start, middle), (opening.end, middle)]
    else:
        first, last = opening.start, opening.end
        sides = [(first, last) if opening.hinge != "end" else (last, first)]
    leaves, swings = [], []
    for hinge, jamb in sides:
        reach = abs(jamb - hinge)
        foot, tip = at(wall, hinge, across), at(wall, hinge, across + into * reach)
        leaves.append(Stroke((foot, tip)))
        clockwise = ((jamb > hinge) == (into < 0)) == wall.horizontal
        swings.append(Arc(foot, reach, tip, at(wall, jamb, across), clockwise))
    deep = wide / len(sides)
    low = wall.at + (across if into > 0 else across - deep)
    swept = Box(opening.start, low, wide, deep)
    if not wall.horizontal:
        swept = Box(low, opening.start, deep, wide)
    return DoorSign(tuple(leaves), tuple(swings), swept)


def window_lines(wall: Wall, opening: Opening, panes: int, fine: bool) -> list[Stroke]:
    """Draw a window: both faces of the wall, the glass between, a post between its panes."""
    half = wall.thickness / 2
    lines = [
        Stroke((at(wall, opening.start, across), at(wall, opening.end, across)))
        for across in ((-half, 0.0, half) if fine else (-half, half))
    ]
    for pane in range(1, panes):
        along = opening.start + opening.width * pane / panes
        lines.append(Stroke((at(wall, along, -half), at(wall, along, half))))
    return lines


def passage_lines(wall: Wall, opening: Opening) -> list[Stroke]:
    """Draw a passage: the wall above it, as two broken lines."""
    half = wall.thickness / 2
    return [
        Stroke((at(wall, opening.start, across), at(wall, opening.end, across)))
        for across in (-half, half)
    ]


def entrance(wall: Wall, opening: Opening, outward: int, size: float, away: float) -> Stroke:
    """Draw the triangle that points to a door from outside."""
    middle = (opening.start + opening.end) / 2
    tip = outward * (wall.thickness / 2 + away)
    foot = tip + outward * size
    return Stroke(
        (
            at(wall, middle, tip),
            at(wall, middle - size * 0.6, foot),
            at(wall, middle + size * 0.6, foot),
        ),
        closed=True,
    )
