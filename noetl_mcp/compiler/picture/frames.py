"""Fold wide fans of like branches into framed grids. It refuses to change what an arrow says.

The arrows of a fan are the same for every branch, so they are drawn once, to and from the frame.
Steps with no arrow at all become a grid too, without a frame.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from noetl_mcp.compiler.picture.fans import Fan, fans
from noetl_mcp.compiler.picture.places import Point, Ruler, Size
from noetl_mcp.compiler.picture.wiring import Wire, Wiring

_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Spot:
    """A box in a unit, its upper left corner measured from the unit's."""

    box: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Inner:
    """A wire within a branch: straight down from `start` to `end`, or its label only."""

    wire: Wire
    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Unit:
    """What the layout places as one thing: a box, or a grid of branches with or without a frame."""

    width: float
    height: float
    spots: tuple[Spot, ...]
    inner: tuple[Inner, ...] = ()
    branches: int = 0
    framed: bool = False
    conditioned: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """Units by number, and the wires between them."""

    units: tuple[Unit, ...]
    wires: tuple[Wire, ...]


def folded(wiring: Wiring, ruler: Ruler) -> Folded:
    """Make a unit of every box, or of every fan that would be too wide in one row."""
    sizes = [_size(wiring, at, ruler) for at in range(len(wiring.boxes))]
    wide = [fan for fan in fans(wiring) if _too_wide(fan, sizes, ruler)]
    fan_of = {at: fan for fan in wide for branch in fan.branches for at in branch}
    between = {(wire.upper, wire.lower): wire for wire in wiring.wires}
    owner: dict[int, int] = {}
    units: list[Unit] = []
    for at, size in enumerate(sizes):
        if at in owner:
            continue
        owner[at] = len(units)
        fan = fan_of.get(at)
        if fan is None:
            units.append(Unit(*size, (Spot(at, 0.0, 0.0, *size),)))
            continue
        owner |= {one: len(units) for branch in fan.branches for one in branch}
        cells = [_cell(branch, sizes, between, ruler) for branch in fan.branches]
        units.append(_grid(fan, _conditioned(fan, cells, ruler), ruler))
    told = {wire for fan in wide for wire in fan.conditions}
    wires = [replace(wire, label="") if wire in told else wire for wire in wiring.wires]
    return Folded(tuple(units), _between_units(wires, owner))


def _size(wiring: Wiring, at: int, ruler: Ruler) -> Size:
    width, height = ruler.box(wiring.boxes[at])
    return (width + 2 * ruler.loop if at in wiring.loops else width), height


def _too_wide(fan: Fan, sizes: Sequence[Size], ruler: Ruler) -> bool:
    row = sum(max(sizes[at][0] for at in branch) + ruler.gap for branch in fan.branches)
    return not fan.joined or (len(fan.branches) >= _FEWEST and row > ruler.fold)


def _between_units(wires: Sequence[Wire], owner: Mapping[int, int]) -> tuple[Wire, ...]:
    merged: dict[tuple[int, int, str, str, bool], list[Wire]] = defaultdict(list)
    for wire in wires:
        upper, lower = owner[wire.upper], owner[wire.lower]
        if upper != lower:
            merged[upper, lower, wire.label, wire.kind, wire.turned].append(wire)
    return tuple(
        Wire(upper, lower, tuple(arrow for wire in same for arrow in wire.arrows), turned, label)
        for (upper, lower, label, _, turned), same in merged.items()
    )


def _cell(
    branch: Sequence[int],
    sizes: Sequence[Size],
    between: Mapping[tuple[int, int], Wire],
    ruler: Ruler,
) -> Unit:
    """Set one branch as a column, leaving room for the conditions on its way."""
    wires = [between[pair] for pair in pairwise(branch)]
    labels = [ruler.label(wire.label) if wire.label else (0.0, 0.0) for wire in wires]
    width = max([sizes[at][0] for at in branch] + [label[0] for label in labels])
    y = 0.0
    spots: list[Spot] = []
    inner: list[Inner] = []
    for at, one in enumerate(branch):
        spots.append(Spot(one, 0.0, y, width, sizes[one][1]))
        y += sizes[one][1]
        if at < len(wires):
            room = ruler.stack + labels[at][1]
            inner.append(Inner(wires[at], (width / 2, y), (width / 2, y + room)))
            y += room
    return Unit(width, y, tuple(spots), tuple(inner))


def _conditioned(fan: Fan, cells: Sequence[Unit], ruler: Ruler) -> Sequence[Unit]:
    """Set the condition of each branch above it, where the branches differ in it."""
    if not fan.conditions:
        return cells
    sizes = [ruler.label(wire.label) if wire.label else (0.0, 0.0) for wire in fan.conditions]
    room = max(size[1] for size in sizes)
    return [
        _under(wire, size, room, cell)
        for wire, size, cell in zip(fan.conditions, sizes, cells, strict=True)
    ]


def _under(wire: Wire, size: Size, room: float, cell: Unit) -> Unit:
    width = max(cell.width, size[0])
    at = (width / 2, room - size[1] / 2)
    inner = tuple(
        Inner(i.wire, (width / 2, i.start[1] + room), (width / 2, i.end[1] + room))
        for i in cell.inner
    )
    return Unit(
        width,
        cell.height + room,
        tuple(replace(spot, y=spot.y + room) for spot in cell.spots),
        (Inner(wire, at, at), *inner) if wire.label else inner,
    )


def _grid(fan: Fan, cells: Sequence[Unit], ruler: Ruler) -> Unit:
    """Set the branches in rows, in the order in which they were written."""
    many = _columns(cells, ruler)
    inset, top = (ruler.inset, ruler.inset + ruler.caption) if fan.joined else (0.0, 0.0)
    widths = [max(cell.width for cell in cells[at::many]) for at in range(many)]
    heights = [max(c.height for c in cells[at : at + many]) for at in range(0, len(cells), many)]
    spots: list[Spot] = []
    inner: list[Inner] = []
    for at, cell in enumerate(cells):
        row, column = divmod(at, many)
        x = inset + sum(widths[:column]) + column * ruler.gap
        y = top + sum(heights[:row]) + row * ruler.stack
        middle = x + widths[column] / 2
        spots += [Spot(s.box, x, y + s.y, widths[column], s.height) for s in cell.spots]
        inner += [
            Inner(i.wire, (middle, y + i.start[1]), (middle, y + i.end[1])) for i in cell.inner
        ]
    width = sum(widths) + (many - 1) * ruler.gap + 2 * inset
    height = sum(heights) + (len(heights) - 1) * ruler.stack + top + inset
    content = (tuple(spots), tuple(inner))
    return Unit(width, height, *content, len(cells), fan.joined, bool(fan.conditions))


def _columns(cells: Sequence[Unit], ruler: Ruler) -> int:
    """Choose how many branches stand side by side: a good shape, and few empty places."""
    wide = max(cell.width for cell in cells) + ruler.gap
    high = max(cell.height for cell in cells) + ruler.stack
    most = max(1, min(len(cells), int(ruler.fold // wide)))

    def badness(many: int) -> float:
        rows = -(-len(cells) // many)
        shape = (many * wide) / (rows * high)
        return abs(math.log(shape / ruler.shape)) + (rows * many - len(cells)) / len(cells)

    return min(range(1, most + 1), key=badness)
