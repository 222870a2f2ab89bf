"""`render_floorplan`: a picture of a plan and the facts about its rooms and floors."""

from typing import Any

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.building import Building, PlacedFloor
from noetl_mcp.bim.floorplan.considered import Considered, considered
from noetl_mcp.bim.floorplan.drawing.counts import refuse_many
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw, Look
from noetl_mcp.bim.floorplan.drawing.plan_drawing import drawn
from noetl_mcp.bim.floorplan.measures import area, measured, square
from noetl_mcp.bim.floorplan.png import png_of
from noetl_mcp.bim.floorplan.rooms import listed, plain
from noetl_mcp.bim.floorplan.svg import svg_of
from noetl_mcp.bim.floorplan.tool_arguments import RenderArguments


def rendered(asked: RenderArguments) -> Answer:
    """Draw a plan; one with errors is answered with them."""
    found = considered(asked.dsl, raw=asked.raw)
    if isinstance(found, Answer):
        return found
    try:
        return _drawn(found, asked)
    except ModuleNotFoundError:
        says = "DXF needs the extra 'cad': pip install 'noetl-mcp[cad]'"
        return Answer({"success": False, "errors": [{"message": says}], **found.warnings})
    except CannotDraw as reason:
        return Answer({"success": False, "errors": [{"message": str(reason)}], **found.warnings})


def _drawn(found: Considered, asked: RenderArguments) -> Answer:
    building, look = found.building, look_of(asked)
    picture: bytes | None = None
    text: str | None = None
    notes: tuple[str, ...] = ()
    chosen = building.floors
    if look.floor is not None:
        chosen = building.floors[look.floor : look.floor + 1]
    refuse_many(chosen)
    if asked.format == "dxf":
        from noetl_mcp.bim.floorplan.dxf import dxf_of
        from noetl_mcp.bim.floorplan.exporting import too_large

        large = too_large(building, asked.format, chosen)
        if large is not None:
            raise CannotDraw(large)
        text = dxf_of(building, look)
    else:
        drawing = drawn(building, look)
        notes = drawing.notes
        if asked.format == "svg":
            text = svg_of(drawing)
        else:
            picture = png_of(drawing, asked.width, asked.height)
    facts: dict[str, Any] = {
        "success": True,
        "format": asked.format,
        "floorCount": len(building.floors),
        "renderedFloor": "all" if look.floor is None else look.floor,
        "rooms": listed(building),
        **measures_of(building, asked.area_unit),
        **found.warnings,
    }
    if notes:
        facts["notes"] = list(notes)
    return Answer(facts, picture, text)


def look_of(asked: RenderArguments) -> Look:
    """Return how a plan shall be drawn; one floor is drawn unless all are asked for."""
    return Look(
        floor=None if asked.render_all_floors else asked.floor_index or 0,
        layout=asked.multi_floor_layout,
        width=asked.width,
        height=asked.height,
        show_area=asked.show_area,
        show_dimensions=asked.show_dimensions,
        show_summary=asked.show_floor_summary,
        area_unit=asked.area_unit,
        length_unit=asked.length_unit,
        theme=asked.theme,
    )


def measures_of(building: Building, area_unit: str | None) -> dict[str, Any]:
    """Return the sums of a building and the measures of its floors."""
    unit = area_unit or building.habits.area_unit
    one = square(building.habits.unit, unit)
    floors = [_floor(floor, one) for floor in building.floors]
    return {
        "summary": {
            "grossFloorArea": plain(round(sum(floor["netArea"] for floor in floors), 6)),
            "totalRoomCount": sum(floor["roomCount"] for floor in floors),
            "floorCount": len(floors),
            "areaUnit": unit,
            "lengthUnit": building.habits.unit,
        },
        "floorMetrics": floors,
    }


def _floor(floor: PlacedFloor, one: float) -> dict[str, Any]:
    found = measured(floor)
    shown: dict[str, Any] = {
        "id": floor.id,
        "index": floor.index,
        "roomCount": found.room_count,
        "netArea": plain(round(found.net_area * one, 6)),
        "efficiency": plain(round(found.efficiency, 2)),
    }
    if found.box is not None:
        shown["boundingBox"] = {
            "width": plain(found.box.width),
            "height": plain(found.box.height),
            "area": plain(round(area(found.box) * one, 6)),
            "minX": plain(found.box.x),
            "minY": plain(found.box.y),
        }
    return shown
