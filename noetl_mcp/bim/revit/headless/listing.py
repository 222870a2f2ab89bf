"""The methods that list walls, rooms, doors and the like."""

from collections.abc import Callable, Sequence
from functools import partial

from noetl_mcp.bim.revit.headless.asking import Choosing, Columns, Floors, Openings
from noetl_mcp.bim.revit.headless.choosing import chosen
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity
from noetl_mcp.bim.revit.headless.method import Answer, Method, paged
from noetl_mcp.bim.revit.headless.rows import SHOWN, Row, called

_FLOORS = "OST_Floors"


def _listed(name: str, document: Document, asked: Choosing) -> Answer:
    shown = SHOWN[name]
    every = document.named(*shown.kinds)
    if name == "floors":  # slabs are roofs, too, and coverings are ceilings
        every = [one for one in every if document.category(one).key == _FLOORS]
    if isinstance(asked, Columns) and asked.column_id is not None:
        every = [one for one in every if one.id() == asked.column_id]
    found = chosen(document, every, asked)

    def row(document: Document, one: Entity) -> Row:
        return document.once(name, one, shown.row)

    return listed(document, name, found.elements, asked, row) | _told(found.warnings)


def listed(
    document: Document,
    name: str,
    elements: Sequence[Entity],
    asked: Choosing,
    row: Callable[[Document, Entity], Row],
) -> Answer:
    """Return the page of a list that is asked for, under the name of the list."""
    total: Answer = {"totalCount": len(elements)}
    if asked.summary_only:
        return total
    page = paged(elements, asked.window)
    if asked.ids_only:
        return total | {"elementIds": [one.id() for one in page]}
    if asked.names_only:
        return total | {"names": [called(one) or "" for one in page]}
    rows, wrong = rows_of(document, page, row)
    if getattr(asked, "include_location", True) is False:
        rows = [{key: one[key] for key in one if key != "location"} for one in rows]
    by_id = {f"{name}ById": {str(one["elementId"]): one for one in rows}} if name == "walls" else {}
    return total | {name: rows} | by_id | wrong


def _told(warnings: Sequence[str]) -> Answer:
    return {"warnings": list(warnings)} if warnings else {}


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

__all__ = ["METHODS", "listed"]
