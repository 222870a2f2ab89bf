"""Plans drawn from their text, and what is found on the drawings."""

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.look import Look
from noetl_mcp.bim.floorplan.drawing.plan_drawing import drawn
from noetl_mcp.bim.floorplan.drawing.shapes import (
    Arc,
    Areas,
    Drawing,
    Label,
    Layer,
    Letters,
    Lines,
    Sheet,
)
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.lettering.widths import width_of

HEAD = '%%{version: "1.0"}%%\nfloorplan\n'


def drawing(text: str, look: Look | None = None) -> Drawing:
    text = text if "floorplan" in text else HEAD + text
    reading = read(text)
    assert not reading.errors, reading.errors
    return drawn(understood(reading.plan), look)


def layers(found: Drawing, name: str) -> list[tuple[Sheet, Layer]]:
    return [(sheet, one) for sheet in found.sheets for one in sheet.layers if one.name == name]


def lines(found: Drawing, name: str) -> list[Lines]:
    return [one for _, one in layers(found, name) if isinstance(one, Lines)]


def walls(found: Drawing) -> list[Box]:
    return [
        shape for one in lines(found, "walls") for shape in one.shapes if isinstance(shape, Box)
    ]


def arcs(found: Drawing) -> list[Arc]:
    return [s for one in lines(found, "swings") for s in one.shapes if isinstance(s, Arc)]


def written(found: Drawing, name: str) -> list[tuple[Label, Letters, Sheet]]:
    return [
        (label, one, sheet)
        for sheet, one in layers(found, name)
        if isinstance(one, Letters)
        for label in one.labels
    ]


def texts(found: Drawing, name: str) -> list[str]:
    return [label.text for label, _, _ in written(found, name)]


def ground_of(label: Label, letters: Letters, sheet: Sheet) -> Box:
    """The ground that a label covers, in the units of its sheet."""
    wide = width_of(label.text, letters.size, letters.bold) / sheet.scale
    high = letters.size * 0.8 / sheet.scale
    if label.turned:
        return Box(label.x - high, label.y - wide / 2, high, wide)
    left = label.x - (wide / 2 if label.anchor == "middle" else 0.0)
    return Box(left, label.y - high, wide, high)


def rooms(found: Drawing) -> dict[str, Box]:
    return {
        area.room: area.box
        for _, one in layers(found, "rooms")
        if isinstance(one, Areas)
        for area in one.areas
    }


def covers(one: Box, other: Box) -> bool:
    return (
        one.x < other.right - 1e-9
        and other.x < one.right - 1e-9
        and one.y < other.bottom - 1e-9
        and other.y < one.bottom - 1e-9
    )


def within(inner: Box, outer: Box, by: float = 1e-6) -> bool:
    return (
        inner.x >= outer.x - by
        and inner.y >= outer.y - by
        and inner.right <= outer.right + by
        and inner.bottom <= outer.bottom + by
    )
