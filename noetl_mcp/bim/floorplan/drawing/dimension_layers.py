"""Dimension chains to scale: lines outside the outline, slanted ticks, numbers that fit.

It refuses to write a number over another: one that does not fit is smaller, or one row farther out,
or left to the chain of the whole.
"""

from collections.abc import Callable, Iterator, Sequence

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.arrangement import Margins
from noetl_mcp.bim.floorplan.drawing.colors import Palette
from noetl_mcp.bim.floorplan.drawing.dimensions import Chain, gaps
from noetl_mcp.bim.floorplan.drawing.shapes import (
    Label,
    Layer,
    Letters,
    Lines,
    Point,
    Shape,
    Stroke,
)
from noetl_mcp.lettering.widths import width_of

_FIRST, _SECOND = 27.0, 49.0
_TICK = 3.2
_SIZE = 0.74
_SMALLER = 0.82

Write = Callable[[float], str]


def margins_of(all_chains: Sequence[Sequence[Chain]], blank: float) -> Margins:
    """The paper that chains need on each side, of all floors together."""
    needs = {"left": blank, "top": blank, "right": blank, "bottom": blank}
    for chain in (chain for chains in all_chains for chain in chains):
        both = chain.whole and len(chain.marks) > 2
        need = (_SECOND if both else _FIRST) + 14 + blank / 2
        needs[chain.side] = max(needs[chain.side], need)
    return Margins(needs["left"], needs["top"], needs["right"], needs["bottom"])


def dimension_layers(
    chains: Sequence[Chain],
    around: Box,
    thickness: float,
    write: Write,
    palette: Palette,
    scale: float,
    base: float,
) -> Iterator[Layer]:
    """Draw the chains of a floor."""
    lines: list[Shape] = []
    ticks: list[Shape] = []
    labels: dict[float, list[Label]] = {}
    for chain in chains:
        place = _Side(chain.side, around, scale)
        half = thickness / 2 + 3 / scale
        far = _FIRST + 4
        rows = [(chain.marks, _FIRST)]
        if chain.whole and len(chain.marks) > 2:
            rows.append(((chain.marks[0], chain.marks[-1]), _SECOND))
        for index, (mark, depth) in enumerate(zip(chain.marks, chain.depths, strict=True)):
            ends = index in (0, len(chain.marks) - 1) and len(rows) > 1
            start = place.on_wall(depth, half)
            lines.append(
                Stroke((place.at(mark, start), place.out(mark, _SECOND + 4 if ends else far)))
            )
        for marks, off in rows:
            lines.append(Stroke((place.out(marks[0], off), place.out(marks[-1], off))))
            ticks += [place.tick(mark, off) for mark in marks]
            for size, label in _numbers(marks, off, place, write, scale, base * _SIZE):
                labels.setdefault(size, []).append(label)
    if lines:
        yield Lines("dimensions", palette.dimension, 0.5, tuple(lines))
        yield Lines("dimension-ticks", palette.dimension, 1.2, tuple(ticks))
    for size, written in labels.items():
        yield Letters("dimension-texts", palette.dimension, size, tuple(written))


class _Side:
    """One side of a floor: turns a place along it and a distance from it into a point."""

    def __init__(self, side: str, around: Box, scale: float) -> None:
        self.horizontal = side in ("top", "bottom")
        self.sign = -1 if side in ("top", "left") else 1
        edge = {"top": around.y, "bottom": around.bottom, "left": around.x, "right": around.right}
        self.edge, self.scale = edge[side], scale

    def at(self, along: float, across: float) -> Point:
        return (along, across) if self.horizontal else (across, along)

    def out(self, along: float, paper: float) -> Point:
        """A point so much paper outside."""
        return self.at(along, self.edge + self.sign * paper / self.scale)

    def on_wall(self, depth: float, off: float) -> float:
        return self.sign * (off - depth) if self.sign > 0 else depth - off

    def tick(self, along: float, off: float) -> Stroke:
        by = _TICK / self.scale
        x, y = self.out(along, off)
        return Stroke(((x - by, y + by), (x + by, y - by)))

    def label(self, text: str, middle: float, off: float, size: float) -> Label:
        """A number on its line; those beside a floor read upwards."""
        over = off + 2.5 if self.sign < 0 else off - 2.5
        x, y = self.out(middle, over)
        return Label(text, x, y, "middle", not self.horizontal)


def _numbers(
    marks: Sequence[float], off: float, place: _Side, write: Write, scale: float, size: float
) -> Iterator[tuple[float, Label]]:
    last = float("-inf")
    for start, end in gaps(marks):
        text, middle = write(end - start), (start + end) / 2
        room = (end - start) * scale - 4
        fitting = next((s for s in (size, size * _SMALLER) if width_of(text, s) <= room), None)
        if fitting is not None:
            yield round(fitting, 2), place.label(text, middle, off, fitting)
            continue
        small = size * _SMALLER
        half = width_of(text, small) / 2 + 1
        if middle * scale - half < last:
            continue
        last = middle * scale + half
        row = off + small * 1.05
        yield round(small, 2), place.label(text, middle, row, small)
