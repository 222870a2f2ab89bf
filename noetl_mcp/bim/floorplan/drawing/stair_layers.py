"""Stairs and lifts to scale, by drafting convention. It refuses to write what they are called.

A stair shows its steps, broken lines above the height at which plans are cut, a break line, and an
arrow in the direction in which it is walked; a lift is a crossed box with its doors.
"""

import math
from collections.abc import Iterator

from noetl_mcp.bim.floorplan.building import Box, PlacedLift
from noetl_mcp.bim.floorplan.drawing.colors import Palette
from noetl_mcp.bim.floorplan.drawing.floor_shapes import FloorShapes
from noetl_mcp.bim.floorplan.drawing.shapes import Circle, Layer, Lines, Point, Shape, Stroke
from noetl_mcp.bim.floorplan.drawing.stair_ways import seen, ways
from noetl_mcp.bim.floorplan.drawing.stairs import Line

_ARROW = 7.0
_TIGHT = 2.2


def stair_layers(floor: FloorShapes, palette: Palette, scale: float) -> Iterator[Layer]:
    """All stairs of a floor."""
    if not floor.stairs:
        return
    outlines: list[Shape] = []
    low: list[Shape] = []
    high: list[Shape] = []
    cuts: list[Shape] = []
    arrows: list[Shape] = []
    heads: list[Shape] = []
    for stair, lines in floor.stairs:
        outlines += [Stroke(line, closed=True) for line in lines.outlines]
        every = max(1, math.ceil(_TIGHT / max(stair.tread * scale, 1e-9)))
        there = seen(stair, lines)
        low += [Stroke(line) for line in there.whole[::every]]
        high += [Stroke(line) for line in there.above[::every]]
        cuts += [Stroke(line) for line in there.cuts]
        for way in ways(stair, lines):
            shaft, head, start = _arrow(way.line, lines.width, scale)
            arrows.append(shaft)
            heads += [head, start]
    yield Lines("stairs", palette.symbol, 0.9, tuple(outlines), fill=palette.stair)
    yield Lines("treads", palette.symbol, 0.6, tuple(low))
    if high:
        yield Lines("treads-above", palette.faint, 0.6, tuple(high), dash=(2.5, 2))
    if cuts:
        yield Lines("break-lines", palette.symbol, 1.1, tuple(cuts))
    yield Lines("ways", palette.symbol, 0.9, tuple(arrows))
    yield Lines("arrows", None, 0.0, tuple(heads), fill=palette.symbol)


def _arrow(line: Line, width: float, scale: float) -> tuple[Stroke, Stroke, Circle]:
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
    """All lifts of a floor."""
    if not floor.lifts:
        return
    boxes: list[Shape] = [lift.box for lift in floor.lifts]
    crosses: list[Shape] = []
    doors: list[Shape] = []
    for lift in floor.lifts:
        box = lift.box
        crosses.append(Stroke(((box.x, box.y), (box.right, box.bottom))))
        crosses.append(Stroke(((box.right, box.y), (box.x, box.bottom))))
        doors += _lift_doors(lift, scale)
    yield Lines("lifts", palette.symbol, 1.4, tuple(boxes), fill=palette.stair)
    yield Lines("lift-crosses", palette.symbol, 0.7, tuple(crosses))
    if doors:
        yield Lines("lift-doors", palette.symbol, 0.9, tuple(doors), fill=palette.paper)


def _lift_doors(lift: PlacedLift, scale: float) -> Iterator[Box]:
    """Two leaves on each side that has doors."""
    box, deep = lift.box, min(4.0 / scale, min(lift.box.width, lift.box.height) * 0.12)
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
