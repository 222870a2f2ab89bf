"""Measure a plan: areas, bounding boxes and efficiency of its floors, areas of its rooms.

Numbers are in true units: lengths in the plan's own, areas in the one that is asked for. A plan
with errors is not measured; the answer has the errors.
"""

from typing import Any

from noetl_mcp.bim.floorplan.building import Building, PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.measures import (
    Measures,
    area,
    cubic,
    measured,
    metrics,
    square,
    volume,
)
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.rooms import plain
from noetl_mcp.bim.floorplan.validate import judged, verdict

Json = dict[str, Any]


def analyze(
    text: str, area_unit: str | None = None, room_details: bool = True, raw: bool = False
) -> Json:
    """Return what the tool answers; without `area_unit` the plan's own is taken.

    `raw` reads numbers without their units.
    """
    reading = read(text)
    if reading.errors:
        return {"success": False, "errors": verdict(reading.errors, reading.lines)["errors"]}
    building = understood(reading.plan, raw)
    found = verdict(judged(reading.plan, building), reading.lines)
    told = {"warnings": found["warnings"]} if "warnings" in found else {}
    if found["errors"]:
        return {"success": False, "errors": found["errors"]} | told
    return {"success": True} | measures_of(building, area_unit, room_details) | told


def measures_of(
    building: Building, area_unit: str | None = None, room_details: bool = True
) -> Json:
    """Return `summary`, `floors` and, where they are asked for, `rooms`."""
    unit = area_unit or building.habits.area_unit
    squared = square(building.habits.unit, unit)
    floors = [(floor, measured(floor)) for floor in building.floors]
    shown: Json = {
        "summary": {
            "floorCount": len(floors),
            "totalRooms": sum(measures.room_count for _, measures in floors),
            "grossFloorArea": plain(_tidy(sum(m.net_area for _, m in floors) * squared)),
            "areaUnit": unit,
            "lengthUnit": building.habits.unit,
        },
        "floors": [_floor(floor, measures, squared) for floor, measures in floors],
    }
    if room_details:
        rooms = ((floor, room) for floor in building.floors for room in floor.every_room())
        shown["rooms"] = [_room(floor, room, building, unit) for floor, room in rooms]
    return shown


def _floor(floor: PlacedFloor, measures: Measures, squared: float) -> Json:
    shown = metrics(measures, squared)
    shown["netArea"] = plain(_tidy(shown["netArea"]))
    shown["boundingBox"]["area"] = plain(_tidy(shown["boundingBox"]["area"]))
    return {"id": floor.id, "index": floor.index} | shown


def _room(floor: PlacedFloor, room: PlacedRoom, building: Building, unit: str) -> Json:
    own = building.habits.unit
    shown: Json = {
        "name": room.name,
        "floor": floor.id,
        "area": plain(_tidy(area(room.box) * square(own, unit))),
        "dimensions": {"width": plain(room.box.width), "height": plain(room.box.height)},
    }
    filled = volume(room)
    if filled is not None:
        shown["volume"] = plain(_tidy(filled * cubic(own, unit)))
    if room.parent is not None:
        shown["parent"] = room.parent
    if room.room.label is not None:
        shown["label"] = room.room.label.text
    return shown


def _tidy(number: float) -> float:
    """Drop the noise of changing units: 12 square metres are not 11.999999999999998."""
    return round(number, 6)
