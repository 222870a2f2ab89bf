"""List the rooms of a building as `render_floorplan` answers them. It refuses to judge."""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Building, PlacedRoom

Placed = Mapping[int, PlacedRoom]
"""Rooms that have a place, by where their text begins."""


def listed(building: Building) -> list[dict[str, Any]]:
    """Return the rooms of all floors in the order of the text, sub-rooms in their rooms.

    Sizes and positions are those that are written, a sub-room's relative to its room;
    `resolvedPosition` is where a room came to stand, `absolutePosition` where a sub-room did.
    """
    sizes = {define.name.text: define.size for define in building.plan.defines}
    placed = {room.room.start: room for floor in building.floors for room in floor.every_room()}
    return [
        _room(room, placed, sizes, is_inner=False)
        for floor in building.plan.floors
        for room in floor.rooms
    ]


def _room(
    room: tree.Room, placed: Placed, sizes: Mapping[str, tree.Size], *, is_inner: bool
) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": room.name.text}
    shown |= _size(room, sizes)
    kinds = {wall.side: wall.kind for wall in room.walls}
    shown["walls"] = {side: kinds.get(side, "solid") for side in ("top", "right", "bottom", "left")}
    if room.at is not None:
        shown["position"] = {"x": plain(room.at.x.value), "y": plain(room.at.y.value)}
    found = placed.get(room.start)
    if found is not None:
        where = {"x": plain(found.box.x), "y": plain(found.box.y)}
        shown["absolutePosition" if is_inner else "resolvedPosition"] = where
    if room.relation is not None:
        shown["relativePosition"] = _relation(room.relation)
    if room.label is not None:
        shown["label"] = room.label.text
    if room.rooms:
        shown["subRooms"] = [_room(one, placed, sizes, is_inner=True) for one in room.rooms]
    return shown


def _size(room: tree.Room, sizes: Mapping[str, tree.Size]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    size = room.size
    if isinstance(size, tree.SizeName):
        shown["sizeRef"] = size.name.text
        known = sizes.get(size.name.text)
        if known is None:
            return shown
        size = known
    height = size.height.value if size.height is not None else 0.0
    shown["size"] = {"width": plain(size.width.value), "height": plain(height)}
    if size.width.unit is not None:
        shown["unit"] = size.width.unit
    return shown


def _relation(relation: tree.Relation) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "direction": relation.direction,
        "reference": relation.reference.text,
    }
    if relation.gap is not None:
        shown["gap"] = plain(relation.gap.value)
    if relation.align is not None:
        shown["alignment"] = relation.align
    return shown


def plain(number: float) -> float | int:
    """Return a number as JSON shows it best: 10 for 10.0."""
    return int(number) if number == int(number) else number
