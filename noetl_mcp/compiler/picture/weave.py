"""Lead long wires through the rows between their ends. It refuses to order or place anything.

Every row a wire passes gets a lane, a knot of no height; a condition gets a knot of its own size
in a row between the steps, so that nothing is ever drawn over it. Long needs of one result share
their lanes, and so do error wires to one step: forty wires become one trunk.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from noetl_mcp.compiler.picture.frames import Unit
from noetl_mcp.compiler.picture.places import Ruler
from noetl_mcp.compiler.picture.wiring import Wire

_MOST_LANES = 12_000
_LANES_PER_UNIT = 4


@dataclass(frozen=True, slots=True)
class Weave:
    """Knots by number: first the units, then labels and lanes.

    `paths` holds for every wire its knots from top to bottom, none for a wire too long to be led;
    a wire that shares a trunk begins or ends where it meets what another wire has already.
    `labels` holds the knot where a wire's condition stands, or -1.
    """

    units: int
    widths: tuple[float, ...]
    heights: tuple[float, ...]
    row: tuple[int, ...]
    rows: int
    above: tuple[tuple[int, ...], ...]
    below: tuple[tuple[int, ...], ...]
    paths: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    main: frozenset[tuple[int, int]]

    def is_lane(self, knot: int) -> bool:
        """Say whether only a line passes here."""
        return knot >= self.units and not self.heights[knot]


class _Loom:
    """Knots and threads while they are being added."""

    def __init__(self, units: Sequence[Unit], rank: Sequence[int]) -> None:
        self.widths = [unit.width for unit in units]
        self.heights = [unit.height for unit in units]
        self.row = [2 * row for row in rank]
        self.lanes: dict[tuple[object, ...], int] = {}

    def knot(self, row: int, width: float, height: float) -> int:
        self.widths.append(width)
        self.heights.append(height)
        self.row.append(row)
        return len(self.row) - 1

    def has_lane(self, trunk: tuple[object, ...], row: int) -> bool:
        return (*trunk, row) in self.lanes

    def lane(self, trunk: tuple[object, ...], row: int) -> int:
        key = (*trunk, row)
        if key not in self.lanes:
            self.lanes[key] = self.knot(row, 1.0, 0.0)
        return self.lanes[key]


def woven(units: Sequence[Unit], wires: Sequence[Wire], rank: Sequence[int], ruler: Ruler) -> Weave:
    """Add a label knot for every condition and a lane for every row a wire passes."""
    loom = _Loom(units, rank)
    labels = [_label(wire, loom, ruler) for wire in wires]
    present = sorted(set(loom.row))
    number = {row: at for at, row in enumerate(present)}
    led = _led(wires, [number[row] for row in loom.row], len(units))
    paths = [
        _path((at, wire), labels[at], loom, present, number) if at in led else ()
        for at, wire in enumerate(wires)
    ]
    row = tuple(number[row] for row in loom.row)
    above: list[dict[int, None]] = [{} for _ in row]
    below: list[dict[int, None]] = [{} for _ in row]
    main: set[tuple[int, int]] = set()
    for wire, path in zip(wires, paths, strict=True):
        for upper, lower in pairwise(path):
            below[upper][lower] = None
            above[lower][upper] = None
            if wire.kind == "next":
                main.add((upper, lower))
    return Weave(
        len(units),
        tuple(loom.widths),
        tuple(loom.heights),
        row,
        len(present),
        tuple(tuple(near) for near in above),
        tuple(tuple(near) for near in below),
        tuple(paths),
        tuple(labels),
        frozenset(main),
    )


def _label(wire: Wire, loom: _Loom, ruler: Ruler) -> int:
    if not wire.label:
        return -1
    return loom.knot(loom.row[wire.upper] + 1, *ruler.label(wire.label))


def _led(wires: Sequence[Wire], row: Sequence[int], units: int) -> set[int]:
    """Choose the wires that get lanes: all of them, unless that would be far too many."""
    room = _MOST_LANES + _LANES_PER_UNIT * units
    spent: dict[tuple[object, ...], int] = defaultdict(int)
    led: set[int] = set()
    for at in sorted(range(len(wires)), key=lambda at: row[wires[at].lower] - row[wires[at].upper]):
        trunk = _trunk(at, wires[at])
        length = row[wires[at].lower] - row[wires[at].upper] - 1
        room -= max(0, length - spent[trunk])
        if room < 0:
            break
        spent[trunk] = max(length, spent[trunk])
        led.add(at)
    return led


def _trunk(at: int, wire: Wire) -> tuple[object, ...]:
    if wire.label or wire.kind == "next":
        return ("alone", at)
    if wire.kind == "need":
        return ("need", wire.upper, wire.turned)
    return ("error", wire.lower, wire.turned)


def _path(
    numbered: tuple[int, Wire],
    label: int,
    loom: _Loom,
    present: Sequence[int],
    number: Mapping[int, int],
) -> tuple[int, ...]:
    """Name the knots a wire passes; of a trunk that is there already, only where they meet."""
    at, wire = numbered
    trunk = _trunk(at, wire)
    first, last = number[loom.row[wire.upper]] + 1, number[loom.row[wire.lower]]
    if trunk[0] == "need":
        rows = _until_met(range(last - 1, first - 1, -1), trunk, loom, present)[::-1]
    elif trunk[0] == "error":
        rows = _until_met(range(first, last), trunk, loom, present)
    else:
        rows = [present[row] for row in range(first, last)]
    met = [loom.has_lane(trunk, row) for row in rows]
    passed = [
        label if label >= 0 and row == loom.row[label] else loom.lane(trunk, row) for row in rows
    ]
    start = () if trunk[0] == "need" and any(met) else (wire.upper,)
    end = () if trunk[0] == "error" and any(met) else (wire.lower,)
    return (*start, *passed, *end)


def _until_met(
    rows: range, trunk: tuple[object, ...], loom: _Loom, present: Sequence[int]
) -> list[int]:
    """Walk towards the common end until the trunk is there."""
    walked: list[int] = []
    for row in rows:
        walked.append(present[row])
        if loom.has_lane(trunk, present[row]):
            break
    return walked
