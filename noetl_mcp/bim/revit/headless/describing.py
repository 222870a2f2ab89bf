"""The methods that tell of single elements: what they are, their parameters, their boxes."""

from noetl_mcp.bim.revit.headless.asking import (
    Described,
    OneRoomPaged,
    OneWall,
    OneWallPaged,
    Page,
    Some,
)
from noetl_mcp.bim.revit.headless.choosing import element, elements, in_view
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.pages import paged
from noetl_mcp.bim.revit.headless.parameters import parameters
from noetl_mcp.bim.revit.headless.refusals import Refused
from noetl_mcp.bim.revit.headless.rows import SHOWN, Row, box_row, common, listed, origin
from noetl_mcp.bim.revit.headless.walls import is_wall, measures

FOOT = 304.8
_IN_FEET = 9


def element_info(document: Document, asked: Described) -> Answer:
    """Tell what elements are and where; missing ones are listed."""
    found, missing = _some(document, asked)
    if asked.view_id is not None:
        claims = in_view(document, asked.view_id)
        found = [one for one in found if all(claim(one) for claim in claims)]
    rows, wrong = rows_of(document, found, _rich_info if asked.rich else _info)
    return {"count": len(rows), "elements": rows, "missing": missing} | wrong


def bounding_boxes(document: Document, asked: Some) -> Answer:
    """Tell the box around elements in mm; one whose shape cannot be read says so."""
    found, missing = _some(document, asked)
    rows, wrong = rows_of(document, found, _boxed)
    rows += [{"elementId": name, "ok": False, "code": "NOT_FOUND"} for name in missing]
    return {"totalCount": len(rows), "boxes": rows, "units": "mm"} | wrong


def wall_parameters(document: Document, asked: OneWallPaged) -> Answer:
    """Tell what is said of a wall, its own parameters before those of its type."""
    found = _wall(document, asked)
    return _parameters(document, found, Page(skip=asked.skip, limit=asked.count))


def room_parameters(document: Document, asked: OneRoomPaged) -> Answer:
    """Tell what is said of a room."""
    number = asked.element_id if asked.room_id is None else asked.room_id
    found = element(document, number, asked.unique_id)
    if not found.is_a("IfcSpace"):
        raise Refused("INVALID_PARAMS", f"element {found.id()} is no room")
    return _parameters(document, found, Page(skip=asked.skip, limit=asked.count))


def wall_baseline(document: Document, asked: OneWall) -> Answer:
    """Tell the line in the middle of a wall in mm."""
    found = _wall(document, asked)
    line = [document.point(at) for at in measures(document, found).line]
    if not line:
        raise Refused("NO_LOCATION", f"the line of wall {found.id()} cannot be read")
    names: Answer = {"elementId": found.id(), "uniqueId": text(found.GlobalId)}
    if len(line) == 2:
        return names | {"baseline": {"kind": "line", "start": line[0], "end": line[1]}}
    return names | {"baseline": {"kind": "points", "points": line}}


def _some(document: Document, asked: Some) -> tuple[list[Entity], list[int | str]]:
    numbers = [*(asked.element_ids or ())]
    names = [*(asked.unique_ids or ())]
    numbers += [] if asked.element_id is None else [asked.element_id]
    names += [] if asked.unique_id is None else [asked.unique_id]
    if not numbers and not names and asked.element_ids is None and asked.unique_ids is None:
        raise Refused("INVALID_PARAMS", "say which elements: 'elementIds' or 'uniqueIds'")
    return elements(document, numbers, names)


def _wall(document: Document, asked: OneWall) -> Entity:
    number = asked.element_id if asked.wall_id is None else asked.wall_id
    found = element(document, number, asked.unique_id)
    if not is_wall(found):
        raise Refused("INVALID_PARAMS", f"element {found.id()} is no wall")
    return found


def _boxed(document: Document, one: Entity) -> Row:
    box = box_row(document, one)
    told = {"boundingBox": box} if box else {"code": "NO_SHAPE", "msg": "no shape that is read"}
    return {"elementId": one.id(), "ok": box is not None, **told}


def _info(document: Document, one: Entity) -> Row:
    """Return the row of an element of whatever kind."""
    name = next((name for name, held in SHOWN.items() if any(map(one.is_a, held.kinds))), None)
    row = common(document, one) if name is None else listed(name, document, one)
    own = row.get("location") or row.get("center") or row.get("start")
    place = own or origin(document, one)
    in_feet = {axis: round(at / FOOT, _IN_FEET) + 0.0 for axis, at in (place or {}).items()}
    return row | {
        "ifcClass": one.is_a(),
        "level": row["levelName"],
        "coordinatesMm": place,
        "coordinates": in_feet or None,
    }


def _rich_info(document: Document, one: Entity) -> Row:
    """Return the row of an element with its box and what it belongs to."""
    row = _info(document, one)
    host = document.host(one)
    return row | {
        "bboxMm": box_row(document, one),
        "hostId": None if host is None else host.id(),
        "hostedIds": [held.id() for held in document.hosted(one)],
        "isPinned": False,
        "isInGroup": False,
    }


def _parameters(document: Document, one: Entity, page: Page) -> Answer:
    found = parameters(document, one)
    return {
        "elementId": one.id(),
        "uniqueId": text(one.GlobalId),
        "totalCount": len(found),
        "parameters": [held.row() for held in paged(found, page)],
    }


METHODS = (
    Method("get_element_info", "Tell what elements are and where.", Described, element_info),
    Method("get_bounding_box", "Tell the box around elements in mm.", Some, bounding_boxes),
    Method("get_wall_parameters", "Tell a wall's parameters.", OneWallPaged, wall_parameters),
    Method("get_wall_baseline", "Tell the line of a wall in mm.", OneWall, wall_baseline),
    Method("get_room_params", "Tell a room's parameters.", OneRoomPaged, room_parameters),
)

__all__ = [
    "METHODS",
    "bounding_boxes",
    "element_info",
    "room_parameters",
    "wall_baseline",
    "wall_parameters",
]
