"""The methods that list walls, rooms, doors and the like."""

from collections.abc import Sequence
from functools import partial

from noetl_mcp.bim.revit.headless.asking import Choosing, Columns, Floors, Openings
from noetl_mcp.bim.revit.headless.choosing import chosen
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.pages import Told, cut
from noetl_mcp.bim.revit.headless.rows import SHOWN, called, listed, number

_FLOORS = "OST_Floors"


def _listed(name: str, document: Document, asked: Choosing) -> Answer:
    shown = SHOWN[name]
    every = document.named(*shown.kinds)
    if name == "floors":  # slabs are roofs, too, and coverings are ceilings
        every = [one for one in every if document.category(one).key == _FLOORS]
    if isinstance(asked, Columns) and asked.column_id is not None:
        every = [one for one in every if one.id() == asked.column_id]
    found = chosen(document, every, asked)

    def rows(page: Sequence[Entity]) -> Answer:
        made, wrong = rows_of(document, page, partial(listed, name))
        if getattr(asked, "include_location", True) is False:
            made = [{key: one[key] for key in one if key != "location"} for one in made]
        by_id = {str(one["elementId"]): one for one in made}
        return {name: made} | ({"wallsById": by_id} if name == "walls" else {}) | wrong

    return cut(found.elements, asked, Told(number, called, rows)) | found.warned


def _method(method: str, name: str, says: str, asks: type[Choosing] = Choosing) -> Method:
    return Method(method, says, asks, partial(_listed, name))


METHODS = (
    _method("get_walls", "walls", "List walls: line, thickness and height in mm."),
    _method("get_rooms", "rooms", "List rooms: number, name, level, area in m2, centre."),
    _method("get_doors", "doors", "List doors: wall, size and place in mm.", Openings),
    _method("get_windows", "windows", "List windows: wall, size and place in mm.", Openings),
    _method("get_floors", "floors", "List floors: thickness in mm.", Floors),
    _method("get_structural_frames", "structuralFrames", "List beams and braces with their ends."),
    _method("get_structural_columns", "structuralColumns", "List structural columns.", Columns),
)

__all__ = ["METHODS"]
