"""Find the scale at which floors fit the paper, and the place of each. It refuses to draw them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.look import (
    NARROWEST,
    STACKED,
    WIDEST,
    CannotDraw,
    Look,
)
from noetl_mcp.bim.floorplan.drawing.shapes import Point

_TALL = 1.5
_LEAST = 4.0
_IN_ONE_ROW = 3


class Margins(NamedTuple):
    """Paper around a floor, for dimensions and captions."""

    left: float
    top: float
    right: float
    bottom: float


class Arrangement(NamedTuple):
    """The paper's width, the scale, the origin and the cell of each floor, and their end."""

    width: float
    scale: float
    origins: tuple[Point, ...]
    cells: tuple[Box, ...]
    bottom: float


def arranged(
    extents: Sequence[Box], margins: Margins, look: Look, head: float, foot: float
) -> Arrangement:
    """Put floors into rows on paper; a stack has the highest floor on top."""
    width = float(min(WIDEST, max(NARROWEST, look.width)))
    columns = _columns(len(extents), look)
    rows = math.ceil(len(extents) / columns)
    order = list(range(len(extents)))
    if look.layout == STACKED:
        order.reverse()
    across = [max(extents[i].width for i in order[c::columns]) for c in range(columns)]
    down = [
        max(extents[i].height for i in order[r * columns : (r + 1) * columns]) for r in range(rows)
    ]
    side, over = margins.left + margins.right, margins.top + margins.bottom
    least = math.ceil(columns * (side + _LEAST))
    if least > width:
        wider = f"; a picture {least:,} pixels wide has" if least <= WIDEST else ", and none has"
        raise CannotDraw(
            f"A picture {width:g} pixels wide has no room for {len(extents)} floors, "
            f"{columns} in a row{wider}. One floor, or stacked floors, need less."
        )
    bound = float(look.height) if look.height else width * _TALL * max(1.0, rows / columns)
    room = max(NARROWEST / 2, bound - head - foot - rows * over)
    scale = min((width - columns * side) / sum(across), room / sum(down))
    used = sum(across) * scale + columns * side
    if look.height:
        width = min(width, max(NARROWEST, used))
    spare = (width - used) / (2 * columns)
    origins: dict[int, Point] = {}
    cells: dict[int, Box] = {}
    y = head
    for row in range(rows):
        x = 0.0
        for column, index in enumerate(order[row * columns : (row + 1) * columns]):
            box = extents[index]
            wide = across[column] * scale + side + 2 * spare
            left = x + (wide - side - box.width * scale) / 2 + margins.left
            origins[index] = (left - box.x * scale, y + margins.top - box.y * scale)
            cells[index] = Box(x, y, wide, down[row] * scale + over)
            x += wide
        y += down[row] * scale + over
    indices = range(len(extents))
    return Arrangement(
        width, scale, tuple(origins[i] for i in indices), tuple(cells[i] for i in indices), y
    )


def _columns(floors: int, look: Look) -> int:
    if look.layout == STACKED:
        return 1
    return floors if floors <= _IN_ONE_ROW else math.ceil(math.sqrt(floors))
