"""The signs for what is in the holes of walls: doors, windows, passages. Knows no colours.

A leaf stands open at a right angle, a thin quarter of a circle shows its way. Leaves hang on the
face of the wall towards which they open. What is too wide for one leaf has two; what is too wide
for two, as of a garage, is a panel that goes up.
"""

from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box, made
from noetl_mcp.bim.floorplan.drawing.network import Opening, Wall
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Point, Stroke

_TWO_LEAVES = 1.5
_A_PANEL = 2.3
_SHORT = 0.72


class DoorSign(NamedTuple):
    """A door: its leaves and the ways they swing.

    `above` is where a panel is when it is open.
    """

    leaves: tuple[Stroke, ...]
    swings: tuple[Arc, ...]
    above: tuple[Stroke, ...]


def at(wall: Wall, along: float, across: float) -> Point:
    """A point on a wall's line, and so far below or right of it."""
    return (along, wall.at + across) if wall.horizontal else (wall.at + across, along)


def face(wall: Wall, into: int) -> float:
    """How far a wall's face is from its line."""
    return into * wall.thickness / 2 if wall.solid else 0.0


def door_sign(wall: Wall, opening: Opening, usual: float) -> DoorSign:
    """Draw a door; `usual` is the width of a common one."""
    into = opening.into or 1
    across = face(wall, into)
    first, last = opening.start, opening.end
    double = opening.kind == "double-door"
    leaf = (last - first) / (2 if double else 1)
    if usual > 0 and leaf > _A_PANEL * usual:
        return _panel(wall, opening, across + into * 2 * usual)
    if double or leaf > _TWO_LEAVES * usual > 0:
        middle = (first + last) / 2
        one, one_way = _leaf(wall, first, middle, across, into)
        other, other_way = _leaf(wall, last, middle, across, into)
        return DoorSign((one, other), (one_way, other_way), ())
    hinge, jamb = (last, first) if opening.hinge == "end" else (first, last)
    only, way = _leaf(wall, hinge, jamb, across, into)
    return DoorSign((only,), (way,), ())


def _leaf(wall: Wall, hinge: float, jamb: float, across: float, into: int) -> tuple[Stroke, Arc]:
    """A leaf that stands open, and its way from there to where it shuts."""
    reach = abs(jamb - hinge)
    near = wall.at + across
    far = near + into * reach
    if wall.horizontal:
        foot = (hinge, near)
        clockwise = (jamb > hinge) == (into < 0)
        tip, shut = (hinge, far), (jamb, near)
    else:
        foot = (near, hinge)
        clockwise = (jamb > hinge) != (into < 0)
        tip, shut = (far, hinge), (near, jamb)
    leaf = made(Stroke, ((foot, tip), False))
    return leaf, made(Arc, (foot, reach, tip, shut, clockwise, False))


def threshold(wall: Wall, opening: Opening) -> Stroke:
    """Close the hole on the face where the door hangs: where one floor ends and another begins."""
    across = face(wall, opening.into or 1)
    ends = (at(wall, opening.start, across), at(wall, opening.end, across))
    return made(Stroke, (ends, False))


def swept(arc: Arc) -> tuple[Box, Box]:
    """The ground of a leaf that swings, as two boxes; the corner beyond its arc stays free."""
    (x, y), long, short = arc.center, arc.radius, arc.radius * _SHORT
    right = arc.start[0] + arc.end[0] > 2 * x
    down = arc.start[1] + arc.end[1] > 2 * y
    return (
        Box(x if right else x - long, y if down else y - short, long, short),
        Box(x if right else x - short, y if down else y - long, short, long),
    )


def _panel(wall: Wall, opening: Opening, far: float) -> DoorSign:
    first, last = opening.start, opening.end
    thin = wall.thickness * 0.12
    panel = (at(wall, first, -thin), at(wall, last, -thin), at(wall, last, thin))
    leaf = Stroke((*panel, at(wall, first, thin)), closed=True)
    near = face(wall, opening.into or 1)
    above = (at(wall, first, near), at(wall, first, far), at(wall, last, far), at(wall, last, near))
    return DoorSign((leaf,), (), (Stroke(above),))


def window_lines(wall: Wall, opening: Opening, panes: int, fine: bool) -> list[Stroke]:
    """Draw a window: both faces of the wall; in a fine one what is between them, too."""
    half = wall.thickness / 2
    faces = [
        Stroke((at(wall, opening.start, across), at(wall, opening.end, across)))
        for across in (-half, half)
    ]
    return faces + pane_lines(wall, opening, panes) if fine else faces


def pane_lines(wall: Wall, opening: Opening, panes: int) -> list[Stroke]:
    """Draw what is in a window: the glass along its middle, a post between its panes."""
    half = wall.thickness / 2
    lines = [Stroke((at(wall, opening.start, 0.0), at(wall, opening.end, 0.0)))]
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
