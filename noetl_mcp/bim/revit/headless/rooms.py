"""The measures of a room: its area and the middle of it."""

from typing import Any

from noetl_mcp.bim.revit.headless.document import Document, scaled
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.parameters import measure
from noetl_mcp.bim.revit.headless.profiles import area, middle
from noetl_mcp.bim.revit.headless.shapes import solids

_NET = ("NetFloorArea", "GSA BIM Area", "GrossFloorArea", "Area")
"""Where files tell the area of a room, the better first."""


def row(document: Document, room: Entity) -> dict[str, Any]:
    """Return what answers tell of a room beside its names."""
    feet = [one.foot for one in solids(room, document.effort) or () if one.is_upright]
    said = measure(document, room, *_NET)
    if said is None and feet:
        inside = sum(area(tuple((x, y) for x, y, _ in foot)) for foot in feet)
        said = scaled(inside, (document.to_mm / 1000) ** 2, 6)
    place = None
    if feet:
        largest = max(feet, key=lambda foot: area(tuple((x, y) for x, y, _ in foot)))
        centre = middle(tuple((x, y) for x, y, _ in largest))
        if centre is not None:
            held = document.frames.of(room)
            place = document.point(held.placed((*centre, largest[0][2])))
    return {
        "number": text(room.Name or ""),
        "area": said,
        "center": place,
        "state": "placed" if feet or said is not None else "unplaced",
    }


__all__ = ["row"]
