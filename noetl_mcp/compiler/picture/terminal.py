"""Set an arrangement into terminal cells: heights, boxes, lines. It refuses to choose an order."""

from collections import defaultdict
from dataclasses import dataclass

from noetl_mcp.compiler.picture.arrangement import Arrangement
from noetl_mcp.compiler.picture.canvas import DOWN, UP, Canvas, cells
from noetl_mcp.compiler.picture.conditions import condition
from noetl_mcp.compiler.picture.drawing import Box
from noetl_mcp.compiler.picture.frames import Unit
from noetl_mcp.compiler.picture.ports import Link, links
from noetl_mcp.compiler.picture.tracks import Channel, Strand, channel
from noetl_mcp.compiler.picture.wiring import Wire, Wiring
from noetl_mcp.lettering.fitted import printable, shortened, squeezed

_WIDEST_NAME = 28
_WIDEST_LABEL = 26
_BESIDE = {"next": 0, "error": 2, "need": -2}
_NARROW = 9


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The rows' upper edges and heights, and the channel below every row."""

    arrangement: Arrangement
    tops: list[int]
    heights: list[int]
    channels: list[Channel]

    def top(self, knot: int) -> int:
        """Find the upper edge of a unit, which stands in the middle of its row."""
        weave = self.arrangement.weave
        row = weave.row[knot]
        return self.tops[row] + (self.heights[row] - int(weave.heights[knot])) // 2


def label_text(text: str) -> str:
    """Shorten a condition for a terminal."""
    return shortened(condition(text), _WIDEST_LABEL, cells)


def box_lines(box: Box) -> tuple[str, ...]:
    """Say what stands in a box."""
    name = squeezed(printable(box.name), _WIDEST_NAME, cells)
    marks = ["writes"] * box.writes
    kind = " · ".join(filter(None, (printable(box.kind), *marks)))
    return (name, shortened(kind, _WIDEST_NAME, cells)) if kind else (name,)


def drawn(arrangement: Arrangement, wiring: Wiring) -> Canvas:
    """Draw one connected part."""
    sheet = _sheet(arrangement)
    canvas = Canvas()
    for knot in range(arrangement.weave.units, len(arrangement.across)):
        _pass(knot, sheet, canvas)
    for row, one in enumerate(sheet.channels):
        _strands(row, one, sheet, canvas)
    for at, unit in enumerate(arrangement.units):
        _unit(unit, (int(arrangement.left(at)), sheet.top(at)), wiring, canvas)
    for wire, path, label in zip(
        arrangement.wires, arrangement.weave.paths, arrangement.weave.labels, strict=True
    ):
        _ends(wire, path, sheet, canvas)
        if label >= 0 and path:
            text = f" {label_text(wire.label)} "
            x = int(arrangement.across[label]) - cells(text) // 2
            canvas.write(x, sheet.tops[arrangement.weave.row[label]], text)
    return canvas


def _sheet(arrangement: Arrangement) -> _Sheet:
    weave = arrangement.weave
    strands: dict[int, list[Strand]] = defaultdict(list)
    for link in links(arrangement):
        strands[weave.row[link.upper]].append(_strand(link, arrangement))
    heights = [max(1, int(max(weave.heights[k] for k in row))) for row in arrangement.rows]
    channels = [channel(strands[row]) for row in range(len(heights))]
    rising = {weave.row[wire.upper] for wire in arrangement.wires if wire.turned}
    tops, y = [], 0
    for row, one in enumerate(channels):
        tops.append(y)
        arrows = any(knot < weave.units for knot in _row(arrangement, row + 1))
        least = 2 if arrows and any(knot < weave.units for knot in _row(arrangement, row)) else 1
        y += heights[row] + max(least, one.tracks + arrows) + (row in rising)
    return _Sheet(arrangement, tops, heights, channels)


def _row(arrangement: Arrangement, row: int) -> tuple[int, ...]:
    return arrangement.rows[row] if row < len(arrangement.rows) else ()


def _strand(link: Link, arrangement: Arrangement) -> Strand:
    start, end = (_port(knot, link.kind, arrangement) for knot in (link.upper, link.lower))
    return Strand(link.upper, link.lower, link.kind, start, end)


def _port(knot: int, kind: str, arrangement: Arrangement) -> int:
    weave = arrangement.weave
    wide = knot < weave.units and weave.widths[knot] >= _NARROW
    return int(arrangement.across[knot]) + (_BESIDE[kind] if wide else 0)


def _pass(knot: int, sheet: _Sheet, canvas: Canvas) -> None:
    """Lead a line through a row."""
    weave = sheet.arrangement.weave
    row = weave.row[knot]
    kind = next(
        (w.kind for w, p in zip(sheet.arrangement.wires, weave.paths, strict=True) if knot in p), ""
    )
    foot = sheet.tops[row] + sheet.heights[row] - 1
    canvas.down(int(sheet.arrangement.across[knot]), sheet.tops[row], foot, ("lane", knot), kind)


def _strands(row: int, one: Channel, sheet: _Sheet, canvas: Canvas) -> None:
    weave = sheet.arrangement.weave
    gap = sheet.tops[row] + sheet.heights[row]
    rising = any(w.turned and weave.row[w.upper] == row for w in sheet.arrangement.wires)
    for net, strands in one.nets.items():
        y = gap + rising + one.track.get(net, 0)
        for strand in strands:
            top = (
                gap
                if strand.upper >= weave.units
                else sheet.top(strand.upper) + int(weave.heights[strand.upper])
            )
            foot = (
                sheet.tops[row + 1] if strand.lower >= weave.units else sheet.top(strand.lower)
            ) - 1
            name = (row, *net)
            if net not in one.track:
                canvas.down(strand.start, top, foot, name, strand.kind)
                continue
            canvas.down(strand.start, top, y - 1, name, strand.kind)
            canvas.touch(strand.start, y, UP, name, strand.kind)
            low, high = sorted((strand.start, strand.end))
            canvas.across(y, low, high, name, strand.kind)
            canvas.touch(strand.end, y, DOWN, name, strand.kind)
            canvas.down(strand.end, y + 1, foot, name, strand.kind)


def _ends(wire: Wire, path: tuple[int, ...], sheet: _Sheet, canvas: Canvas) -> None:
    """Mark where a line leaves a box, and where its arrow points."""
    arrangement = sheet.arrangement
    if not path:
        return
    upper, lower = path[0], path[-1]
    if upper < arrangement.weave.units:
        x = _port(upper, wire.kind, arrangement)
        foot = sheet.top(upper) + int(arrangement.weave.heights[upper])
        canvas.write(x, foot - 1, "┬")
        if wire.turned:
            canvas.write(x, foot, "▲")
    if lower < arrangement.weave.units and not wire.turned:
        canvas.write(_port(lower, wire.kind, arrangement), sheet.top(lower) - 1, "▼")


def _unit(unit: Unit, corner: tuple[int, int], wiring: Wiring, canvas: Canvas) -> None:
    x, y = corner
    if unit.framed:
        what = "branches" if len(unit.spots) > unit.branches else "steps"
        _border((x, y), (int(unit.width), int(unit.height)), True, canvas)
        canvas.write(x + 2, y, f" {unit.branches} {what} side by side ")
    for spot in unit.spots:
        size = (int(spot.width), int(spot.height))
        at = (x + int(spot.x), y + int(spot.y))
        _box(wiring.boxes[spot.box], at, size, canvas)
        if spot.box in wiring.loops:
            canvas.write(at[0] + size[0] - 1, at[1] + 1, "↻")
    for inner in unit.inner:
        middle = x + int(inner.start[0])
        top, foot = y + int(inner.start[1]), y + int(inner.end[1]) - 1
        if top <= foot:
            canvas.down(middle, top, foot, ("inner", middle, top), inner.wire.kind)
            head = (top, "▲") if inner.wire.turned else (foot, "▼")
            canvas.write(middle, *head)
        if inner.wire.label:
            text = label_text(inner.wire.label)
            canvas.write(middle - cells(text) // 2, max(top, (top + foot) // 2), text)


def _box(box: Box, at: tuple[int, int], size: tuple[int, int], canvas: Canvas) -> None:
    _border(at, size, box.hidden, canvas)
    for row, line in enumerate(box_lines(box)):
        canvas.write(at[0] + 2, at[1] + 1 + row, line)


def _border(at: tuple[int, int], size: tuple[int, int], dashed: bool, canvas: Canvas) -> None:
    (x, y), (width, height) = at, size
    across, down = ("╌", "╎") if dashed else ("─", "│")
    canvas.write(x, y, "┌" + across * (width - 2) + "┐")
    for row in range(y + 1, y + height - 1):
        canvas.write(x, row, down + " " * (width - 2) + down)
    canvas.write(x, y + height - 1, "└" + across * (width - 2) + "┘")
