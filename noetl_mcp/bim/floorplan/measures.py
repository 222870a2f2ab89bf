"""Areas, bounding boxes and efficiency of floors, in true units. It refuses to round them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from noetl_mcp.bim.floorplan.building import Box, PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.rooms import plain
from noetl_mcp.bim.floorplan.units import METRES, SQUARE_METRES


@dataclass(frozen=True, slots=True)
class Measures:
    """What a floor measures, in the building's unit and its square; `box` is None without rooms.

    `efficiency` is the share of its bounding box that rooms take. Sub-rooms are part of their room
    and count nothing of their own.
    """

    net_area: float
    box: Box | None
    room_count: int

    @property
    def efficiency(self) -> float:
        """The share of the bounding box that rooms take, 0 where there is none."""
        if self.box is None or area(self.box) <= 0:
            return 0.0
        return self.net_area / area(self.box)


def measured(floor: PlacedFloor) -> Measures:
    """Measure a floor."""
    return Measures(
        net_area=sum(area(room.box) for room in floor.rooms),
        box=around(room.box for room in floor.rooms),
        room_count=len(floor.rooms),
    )


def area(box: Box) -> float:
    """Return the area of a box, in the square of its unit."""
    return box.width * box.height


def around(boxes: Iterable[Box]) -> Box | None:
    """Return the box around boxes, None where there are none."""
    spans = [(x, y, x + width, y + height) for x, y, width, height in boxes]
    if not spans:
        return None
    left, top = min(span[0] for span in spans), min(span[1] for span in spans)
    right, bottom = max(span[2] for span in spans), max(span[3] for span in spans)
    return Box(left, top, right - left, bottom - top)


def square(unit: str, area_unit: str) -> float:
    """Return what one square of a unit of length is in a unit of area."""
    return METRES[unit] ** 2 / SQUARE_METRES[area_unit]


def cubic(unit: str, area_unit: str) -> float:
    """Return what one cube of a unit of length is in cubic metres (sqm) or feet (sqft)."""
    edge = "m" if area_unit == "sqm" else "ft"
    return (METRES[unit] / METRES[edge]) ** 3


def volume(room: PlacedRoom) -> float | None:
    """Return the volume of a room that names its height, in the cube of the building's unit."""
    return None if room.room.height is None else area(room.box) * room.height


def metrics(measures: Measures, squared: float) -> dict[str, Any]:
    """Say measures as JSON; `squared` turns areas into the unit that they are wanted in."""
    box = measures.box or Box(0.0, 0.0, 0.0, 0.0)
    return {
        "netArea": plain(measures.net_area * squared),
        "boundingBox": {
            "width": plain(box.width),
            "height": plain(box.height),
            "area": plain(area(box) * squared),
            "minX": plain(box.x),
            "minY": plain(box.y),
        },
        "roomCount": measures.room_count,
        "efficiency": plain(math.floor(measures.efficiency * 100 + 0.5) / 100),
    }
