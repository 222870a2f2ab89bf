"""What stands around the floors: title, names of floors, scale bar, legend, sums.

It refuses to run off the paper: what is too long is shortened. All measures are paper's.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from noetl_mcp.bim.floorplan.building import Box, Building, PlacedFloor
from noetl_mcp.bim.floorplan.drawing import lengths
from noetl_mcp.bim.floorplan.drawing.arrangement import Arrangement
from noetl_mcp.bim.floorplan.drawing.colors import Palette
from noetl_mcp.bim.floorplan.drawing.limits import bounds
from noetl_mcp.bim.floorplan.drawing.look import Look
from noetl_mcp.bim.floorplan.drawing.shapes import Label, Layer, Letters, Lines
from noetl_mcp.bim.floorplan.units import METRES, shown
from noetl_mcp.lettering.fitted import Width, printable, shortened
from noetl_mcp.lettering.widths import width_of

EDGE = 18.0
_BAR = 140.0
_STEPS = (1.0, 2.0, 5.0)


def wide(size: float, bold: bool = False) -> Width:
    """How wide a text of a size is."""
    return lambda text: width_of(text, size, bold)


def heading(title: str, under: str, width: float, palette: Palette, base: float) -> Iterator[Layer]:
    """The plan's title, and a line under it."""
    large, small = base * 1.45, base * 0.85
    if title:
        text = shortened(printable(title), width - 2 * EDGE, wide(large, True))
        yield Letters(
            "title", palette.text, large, (Label(text, EDGE, EDGE + large * 0.8, "start"),), True
        )
    if under:
        text = shortened(printable(under), width - 2 * EDGE, wide(small))
        y = EDGE + large * 0.8 + small * 1.5
        yield Letters("title", palette.faint, small, (Label(text, EDGE, y, "start"),))


def heading_height(title: str, under: str, base: float) -> float:
    """How much paper the title needs."""
    return (EDGE + base * 1.6 if title else 0.0) + (base * 1.3 if under else 0.0)


def captions(
    floors: Sequence[PlacedFloor], cells: Sequence[Box], palette: Palette, base: float
) -> Iterator[Layer]:
    """The name of each floor over its drawing."""
    size = base * 1.1
    labels = tuple(
        Label(
            shortened(printable(floor.id), cell.width - 2 * EDGE, wide(size, True)),
            cell.x + cell.width / 2,
            cell.y + size * 1.3,
        )
        for floor, cell in zip(floors, cells, strict=True)
    )
    yield Letters("captions", palette.text, size, labels, True)


def scale_bar(
    building: Building, look: Look, scale: float, y: float, palette: Palette, base: float
) -> Iterator[Layer]:
    """A bar of a round length, in four parts."""
    unit = look.length_unit or building.habits.unit
    unit = "ft" if unit == "in" else unit
    one = scale * METRES[unit] / METRES[building.habits.unit]
    whole = _round_length(_BAR / one)
    long, high, size = whole * one, 4.0, base * 0.72
    parts = [Box(EDGE + long * at / 4, y, long / 4, high) for at in range(4)]
    yield Lines(
        "scale-bar", palette.dimension, 0.8, (Box(EDGE, y, long, high),), fill=palette.paper
    )
    dark = tuple(parts[::2])
    yield Lines("scale-bar", None, 0.0, dark, fill=palette.dimension)
    foot = y + high + size * 1.25
    labels = [Label("0", EDGE, foot)]
    labels += [Label(shown(round(whole / 2, 9)), EDGE + long / 2, foot)]
    labels += [Label(f"{shown(whole)} {unit}", EDGE + long, foot)]
    yield Letters("scale-bar", palette.dimension, size, tuple(labels))


def _round_length(about: float) -> float:
    ten = 10.0 ** math.floor(math.log10(max(about, 1e-9)))
    return max((step * ten for step in _STEPS if step * ten <= about * 1.0001), default=ten)


def legend(
    entries: Sequence[tuple[int, str]], width: float, y: float, palette: Palette, base: float
) -> tuple[list[Layer], float]:
    """What the numbers in small rooms mean, in columns; and where it ends."""
    if not entries:
        return [], y
    size = base * 0.8
    texts = [f"{number}  {title}" for number, title in entries]
    longest = min(width - 2 * EDGE, max(width_of(text, size) for text in texts) + size * 1.5)
    columns = max(1, min(6, int((width - 2 * EDGE) // max(longest, 1.0))))
    rows = math.ceil(len(texts) / columns)
    labels = [
        Label(
            shortened(text, longest - size * 0.5, wide(size)),
            EDGE + (index // rows) * longest,
            y + size * (1.2 + 1.4 * (index % rows)),
            "start",
        )
        for index, text in enumerate(texts)
    ]
    return [Letters("legend", palette.text, size, tuple(labels))], y + size * (1.4 * rows + 0.6)


def summary(
    floors: Sequence[PlacedFloor],
    building: Building,
    look: Look,
    width: float,
    y: float,
    palette: Palette,
    base: float,
) -> tuple[list[Layer], float]:
    """A panel with the sums of each floor; and where it ends."""
    size, pad = base * 0.82, base * 0.7
    areas = _areas(building, look)
    head = ("Floor", "Rooms", "Net area", "Gross area", "Efficiency")
    rows = [head, *(_sums(floor, areas) for floor in floors)]
    wides = [
        max(width_of(row[at], size, True) for row in rows) + 2 * pad for at in range(len(head))
    ]
    room = width - 2 * EDGE
    if sum(wides) > room:
        wides[0] = max(4 * size, wides[0] - (sum(wides) - room))
    high = size * 1.7
    box = Box(EDGE, y, min(room, sum(wides)), high * len(rows) + pad)
    bold: list[Label] = []
    plain: list[Label] = []
    for number, row in enumerate(rows):
        x = EDGE + pad
        for at, text in enumerate(row):
            said = shortened(text, wides[at] - pad, wide(size, not number))
            foot = y + pad / 2 + high * number + size * 1.2
            (plain if number else bold).append(Label(said, x, foot, "start"))
            x += wides[at]
    layers: list[Layer] = [
        Lines("summary", palette.dimension, 0.7, (box,), fill=palette.room),
        Letters("summary", palette.text, size, tuple(bold), True),
        Letters("summary", palette.text, size, tuple(plain)),
    ]
    return layers, box.bottom + pad


def _areas(building: Building, look: Look) -> Callable[[float], str]:
    shown_in = look.area_unit or building.habits.area_unit
    return lambda value: lengths.area(value, building.habits.unit, shown_in)


def _sums(floor: PlacedFloor, area: Callable[[float], str]) -> tuple[str, ...]:
    around = bounds(room.box for room in floor.rooms)
    net = sum(room.box.width * room.box.height for room in floor.rooms)
    gross = around.width * around.height if around else 0.0
    part = f"{100 * net / gross:.0f} %" if gross else "-"
    return printable(floor.id), str(len(floor.rooms)), area(net), area(gross), part


def lowest(arrangement: Arrangement) -> float:
    """Where the floors end."""
    return arrangement.bottom
