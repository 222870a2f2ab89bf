"""Arrange one connected part of a picture: rows, their order, and every x. It refuses to set a y.

How high a row is, and how far it is from the next, is for the drawing to say: a terminal needs
room for corners where a page needs room for curves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from noetl_mcp.compiler.picture.columns import placed_across
from noetl_mcp.compiler.picture.crossings import ordered
from noetl_mcp.compiler.picture.frames import Folded, Unit
from noetl_mcp.compiler.picture.places import Ruler
from noetl_mcp.compiler.picture.ranks import ranked
from noetl_mcp.compiler.picture.weave import Weave, woven
from noetl_mcp.compiler.picture.wiring import Wire, components


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Units and wires woven into rows; `across` is the x of every knot's middle."""

    units: tuple[Unit, ...]
    wires: tuple[Wire, ...]
    weave: Weave
    rows: tuple[tuple[int, ...], ...]
    across: tuple[float, ...]

    @property
    def width(self) -> float:
        """How wide the widest row is."""
        return max(self.right(knot) for knot in range(len(self.across)))

    def left(self, knot: int) -> float:
        """Where a knot begins."""
        return self.across[knot] - self.weave.widths[knot] / 2

    def right(self, knot: int) -> float:
        """Where a knot ends."""
        return self.across[knot] + self.weave.widths[knot] / 2


def arranged(graph: Folded, ruler: Ruler) -> tuple[Arrangement, ...]:
    """Arrange every connected part by itself, in the order in which they were written."""
    parts = components(len(graph.units), graph.wires)
    part_of = {unit: at for at, part in enumerate(parts) for unit in part}
    wires: list[list[Wire]] = [[] for _ in parts]
    for wire in graph.wires:
        wires[part_of[wire.upper]].append(wire)
    return tuple(
        _arranged([graph.units[unit] for unit in part], _renumbered(part, inside), ruler)
        for part, inside in zip(parts, wires, strict=True)
    )


def _renumbered(part: Sequence[int], wires: Sequence[Wire]) -> tuple[Wire, ...]:
    number = {unit: at for at, unit in enumerate(part)}
    return tuple(
        replace(wire, upper=number[wire.upper], lower=number[wire.lower]) for wire in wires
    )


def _arranged(units: Sequence[Unit], wires: tuple[Wire, ...], ruler: Ruler) -> Arrangement:
    rank = ranked([unit.width + ruler.gap for unit in units], wires, ruler.row_limit)
    weave = woven(units, wires, rank, ruler)
    rows = ordered(weave)
    across = placed_across(weave, rows, ruler)
    return Arrangement(tuple(units), wires, weave, rows, tuple(across))
