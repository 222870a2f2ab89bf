"""Stairs and lifts to scale, by drafting convention. It refuses to write what they are called.

A stair shows its steps, broken lines above the height at which plans are cut, a break line, and an
arrow in the direction in which it is walked; a lift is a crossed box with its doors.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box, PlacedLift, PlacedStair
from noetl_mcp.bim.floorplan.drawing.colors import VISIBLE, Palette, on
from noetl_mcp.bim.floorplan.drawing.colors import seen as visible
from noetl_mcp.bim.floorplan.drawing.floor_shapes import FloorShapes
from noetl_mcp.bim.floorplan.drawing.handrails import handrails
from noetl_mcp.bim.floorplan.drawing.shapes import Circle, Layer, Lines, Point, Shape, Stroke
from noetl_mcp.bim.floorplan.drawing.stair_ways import seen, ways
from noetl_mcp.bim.floorplan.drawing.stairs import Line, StairLines
from noetl_mcp.bim.floorplan.drawing.styles import color_of, floor_of

_ARROW = 7.0
_TIGHT = 2.2
_TOLD_APART = 2.2


class _Colours(NamedTuple):
    """The ground of a stair or lift, its edge, its lines, and those that are only hinted at."""

    fill: str
    edge: str
    ink: str
    faint: str


def stair_layers(floor: FloorShapes, palette: Palette, scale: float) -> Iterator[Layer]:
    """All stairs of a floor, those of one colour together."""
    coloured: dict[_Colours, list[tuple[PlacedStair, StairLines]]] = {}
    for stair, lines in floor.stairs:
        coloured.setdefault(_colours(stair.style, palette), []).append((stair, lines))
    for colours, stairs in coloured.items():
        yield from _stairs(stairs, colours, scale)


def _stairs(
    stairs: Sequence[tuple[PlacedStair, StairLines]], colours: _Colours, scale: float
) -> Iterator[Layer]:
    outlines: list[Shape] = []
    low: list[Shape] = []
    high: list[Shape] = []
    cuts: list[Shape] = []
    arrows: list[Shape] = []
    heads: list[Shape] = []
    rails: list[Shape] = []
    for stair, lines in stairs:
        outlines += [Stroke(line, closed=True) for line in lines.outlines]
        every = max(1, math.ceil(_TIGHT / max(stair.tread * scale, 1e-9)))
        there = seen(stair, lines)
        low += [Stroke(line) for line in there.whole[::every]]
        high += [Stroke(line) for line in there.above[::every]]
        cuts += [Stroke(line) for line in there.cuts]
        for way in ways(stair, lines):
            shaft, head, start = arrow(way.line, lines.width, scale)
            arrows.append(shaft)
            heads += [head, start]
        rails += [Stroke(rail) for rail in handrails(stair, lines)]
    fill, edge, ink, faint = colours
    yield Lines("stairs", edge, 0.9, tuple(outlines), fill=fill)
    yield Lines("treads", ink, 0.6, tuple(low))
    if high:
        yield Lines("treads-above", faint, 0.6, tuple(high), dash=(2.5, 2))
    if cuts:
        yield Lines("break-lines", ink, 1.1, tuple(cuts))
    if rails:
        yield Lines("handrails", ink, 0.9, tuple(rails))
    yield Lines("ways", ink, 0.9, tuple(arrows))
    yield Lines("arrows", None, 0.0, tuple(heads), fill=ink)


def _colours(style: tree.Style | None, palette: Palette) -> _Colours:
    """The colours of a stair or lift; lines can be told from what is below them."""
    fill = floor_of(style, palette.stair, palette)
    edge = color_of(style, "wall_color")
    ink = on(fill, palette.symbol, VISIBLE)
    return _Colours(
        fill,
        ink if edge is None else visible(fill, edge, ink, _TOLD_APART),
        ink,
        on(fill, palette.faint, VISIBLE),
    )


def arrow(line: Line, width: float, scale: float) -> tuple[Stroke, Stroke, Circle]:
    """A way as an arrow: its shaft, its head and the dot where it begins."""
    way = list(line)
    size = min(_ARROW / scale, width * 0.45)
    (x, y), (fx, fy) = way[-1], _before(way, size)
    length = math.dist((x, y), (fx, fy)) or 1.0
    dx, dy = (x - fx) / length, (y - fy) / length
    foot = (x - dx * size, y - dy * size)
    half = size * 0.42
    head = Stroke(
        (
            (x, y),
            (foot[0] - dy * half, foot[1] + dx * half),
            (foot[0] + dy * half, foot[1] - dx * half),
        ),
        closed=True,
    )
    kept = [point for point in way[:-1] if math.dist(point, (x, y)) > size * 0.9]
    return Stroke((*(kept or way[:1]), foot)), head, Circle(way[0], size * 0.3)


def _before(way: list[Point], size: float) -> Point:
    end = way[-1]
    return next((point for point in reversed(way[:-1]) if math.dist(point, end) > size), way[0])


def lift_layers(floor: FloorShapes, palette: Palette, scale: float) -> Iterator[Layer]:
    """All lifts of a floor, those of one colour together."""
    coloured: dict[_Colours, list[PlacedLift]] = {}
    for lift in floor.lifts:
        coloured.setdefault(_colours(lift.style, palette), []).append(lift)
    for (fill, edge, ink, _), lifts in coloured.items():
        crosses: list[Shape] = []
        doors: list[Shape] = []
        for lift in lifts:
            box = lift.box
            crosses.append(Stroke(((box.x, box.y), (box.right, box.bottom))))
            crosses.append(Stroke(((box.right, box.y), (box.x, box.bottom))))
            doors += lift_doors(lift, 4.0 / scale)
        yield Lines("lifts", edge, 1.4, tuple(lift.box for lift in lifts), fill=fill)
        yield Lines("lift-crosses", ink, 0.7, tuple(crosses))
        if doors:
            yield Lines("lift-doors", edge, 0.9, tuple(doors), fill=palette.paper)


def lift_doors(lift: PlacedLift, most: float) -> Iterator[Box]:
    """Two leaves, at most so deep, on each side that has doors."""
    box, deep = lift.box, min(most, min(lift.box.width, lift.box.height) * 0.12)
    for side in lift.lift.doors:
        if side in ("top", "bottom"):
            y = (box.y if side == "top" else box.bottom) - deep / 2
            leaf = box.width * 0.3
            yield Box(box.x + box.width * 0.2, y, leaf, deep)
            yield Box(box.x + box.width * 0.5, y, leaf, deep)
            continue
        x = (box.x if side == "left" else box.right) - deep / 2
        leaf = box.height * 0.3
        yield Box(x, box.y + box.height * 0.2, deep, leaf)
        yield Box(x, box.y + box.height * 0.5, deep, leaf)
