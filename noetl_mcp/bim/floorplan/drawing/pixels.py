"""Put a drawing on the grid of its pixels, for pictures that are made of them.

Walls are then as thick everywhere and have sharp edges, and the same letters look the same wherever
they stand. No wall and no letter moves by a whole pixel. It refuses to know any file format.
"""

from dataclasses import replace
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.shapes import (
    Areas,
    Drawing,
    Label,
    Layer,
    Letters,
    Sheet,
)


class _Grid(NamedTuple):
    """The way from a sheet's coordinates to pixels: `begin + step * coordinate`."""

    step: float
    left: float
    top: float


def on_pixels(drawing: Drawing, zoom: float) -> Drawing:
    """Return the drawing as it is best for a picture of `zoom` pixels to a unit of paper."""
    return replace(drawing, sheets=tuple(_sheet(sheet, zoom) for sheet in drawing.sheets))


def _sheet(sheet: Sheet, zoom: float) -> Sheet:
    left, top = sheet.origin
    grid = _Grid(sheet.scale * zoom, left * zoom, top * zoom)
    return replace(sheet, layers=tuple(_layer(layer, grid) for layer in sheet.layers))


def _layer(layer: Layer, grid: _Grid) -> Layer:
    if isinstance(layer, Areas):
        return layer
    if isinstance(layer, Letters):
        return replace(layer, labels=tuple(_label(label, grid) for label in layer.labels))
    if not any(isinstance(shape, Box) for shape in layer.shapes):
        return layer
    # A line of one pixel fills it when it runs along its middle.
    inset = 0.5 if layer.ink else 0.0
    return replace(
        layer,
        shapes=tuple(
            _box(shape, grid, inset) if isinstance(shape, Box) else shape for shape in layer.shapes
        ),
    )


def _label(label: Label, grid: _Grid) -> Label:
    step, left, top = grid
    text, x, y, anchor, turned = label
    x, y = round(left + x * step), round(top + y * step)
    return Label(text, (x - left) / step, (y - top) / step, anchor, turned)


def _box(box: Box, grid: _Grid, inset: float) -> Box:
    step, left, top = grid
    x, y, width, height = box
    thin = min(width, height) * step
    thick = max(1, round(thin))
    start, end = _ends(left + x * step, width * step, thin, thick)
    upper, lower = _ends(top + y * step, height * step, thin, thick)
    inset = min(inset, (end - start) / 2, (lower - upper) / 2)
    return Box(
        (start + inset - left) / step,
        (upper + inset - top) / step,
        (end - start - 2 * inset) / step,
        (lower - upper - 2 * inset) / step,
    )


def _ends(low: float, long: float, thin: float, thick: int) -> tuple[int, int]:
    """Where a wall begins and ends, so that it fills the corner with one across its end."""
    first = round(low + (thin - thick) / 2)
    last = round(low + long - (thin + thick) / 2)
    return first, last + thick
