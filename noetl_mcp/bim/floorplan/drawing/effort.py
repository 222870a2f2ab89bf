"""Estimate how long a drawing takes to be painted as pixels, and refuse what takes too long.

Nobody stops the painting once it goes on. The weights were measured: an area costs its pixels, a
line those along it, a line of a pixel or less much more.
"""

import math

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw
from noetl_mcp.bim.floorplan.drawing.shapes import (
    Arc,
    Areas,
    Circle,
    Drawing,
    Layer,
    Letters,
    Lines,
    Shape,
)

MOST_EFFORT = 2_000_000
"""About as many microseconds on a slow machine."""
_AREA, _PIXEL = 9.0, 0.00035
_PIXEL_OF_PAPER = 0.02
_SHAPE, _ROW = 1.0, 0.02
_HAIR, _LINE = 0.6, 0.08
_LEVEL = 0.15
_LETTER, _LETTER_PIXEL = 12.0, 0.8


def refuse_costly(cost: float, drawing: Drawing, zoom: float) -> None:
    """Raise CannotDraw where painting would take too long; `zoom` is pixels to a unit of paper."""
    times = cost / MOST_EFFORT
    if times > 1:
        raise CannotDraw(
            f"This drawing is too dense for a picture of {drawing.width * zoom:,.0f} by "
            f"{drawing.height * zoom:,.0f} pixels: painting it would take {times:,.1f} times as "
            "long as it may. Draw it smaller, a single floor of it, or as SVG."
        )


def effort(drawing: Drawing, zoom: float) -> float:
    """Return about how many microseconds it takes to paint a drawing."""
    paper = drawing.width * drawing.height * zoom * zoom * _PIXEL_OF_PAPER
    return paper + sum(
        _of_layer(layer, sheet.scale * zoom, zoom)
        for sheet in drawing.sheets
        for layer in sheet.layers
    )


def _of_layer(layer: Layer, scale: float, zoom: float) -> float:
    if isinstance(layer, Areas):
        ground = sum(width * height for _, _, (_, _, width, height), _ in layer.areas)
        return _AREA * len(layer.areas) + ground * scale * scale * _PIXEL
    if isinstance(layer, Letters):
        letters = sum(len(label.text) for label in layer.labels)
        return letters * (_LETTER + layer.size * zoom * _LETTER_PIXEL)
    return _of_lines(layer, scale, zoom)


def _of_lines(layer: Lines, scale: float, zoom: float) -> float:
    cost = _ROW if layer.fill else 0.0
    if layer.ink:
        cost += _HAIR if layer.width * zoom <= 1.0 else _LINE
    return sum(_SHAPE + _rows(shape) * scale * cost for shape in layer.shapes)


def _rows(shape: Shape) -> float:
    """How far a shape reaches down the paper, all its lines taken together."""
    if isinstance(shape, Box):
        _, _, width, height = shape
        return 2 * height + 2 * width * _LEVEL
    if isinstance(shape, Arc):
        return shape.radius * (2 if shape.large else 1)
    if isinstance(shape, Circle):
        return shape.radius * 4
    down = across = 0.0
    (x, y) = shape.points[0]
    for other_x, other_y in (*shape.points[1:], *(shape.points[:1] if shape.closed else ())):
        down += abs(other_y - y)
        across += abs(other_x - x)
        x, y = other_x, other_y
    return math.hypot(down, across * _LEVEL)
