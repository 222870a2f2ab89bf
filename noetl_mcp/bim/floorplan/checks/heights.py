"""Checks of heights, and of units that do not go together."""

from collections.abc import Iterator

from noetl_mcp.bim.floorplan import tree, units
from noetl_mcp.bim.floorplan.checks.subject import LANGUAGE_HEIGHT, Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import WARNING, of_language
from noetl_mcp.bim.floorplan.units import shown

_ROUNDING = 1e-6

MIXED = of_language(
    "mixed-units",
    WARNING,
    "Mixed unit systems detected: This floorplan uses both metric (m, cm, mm) and imperial (ft, "
    "in) units. Consider using a consistent unit system for clarity.",
    "defines, floors and rooms have metric and imperial units",
)
CLIPS = of_language(
    "room-higher-than-floor",
    WARNING,
    "Room '{room}' has height {height} which exceeds floor '{floor}' height of {most}. This will "
    "cause the room to clip through the floor above in 3D rendering. Consider increasing the "
    "floor height or reducing the room height.",
    "a room is higher than its floor; rooms without a height are 3.35 high, or `default_height`",
)
RULES = (MIXED, CLIPS)


def mixed_units(subject: Subject) -> Iterator[Finding]:
    """Look for metric and imperial units in one plan; the place is the first of the other kind."""
    if units.all_bare(subject.plan):
        return
    first: bool | None = None
    for number in _numbers(subject.plan):
        if number.unit is None:
            continue
        is_metric = number.unit in units.METRIC
        if first is None:
            first = is_metric
        if first != is_metric:
            yield MIXED.found(number.start, number.end)
            return


def _numbers(plan: tree.Plan) -> Iterator[tree.Number]:
    for define in plan.defines:
        yield from (n for n in (define.size.width, define.size.height) if n is not None)
    for floor in plan.floors:
        if floor.height is not None:
            yield floor.height
    for room in units.every_room(plan):
        if room.at is not None:
            yield room.at.x
            yield room.at.y
        if isinstance(room.size, tree.Size):
            yield room.size.width
            if room.size.height is not None:
                yield room.size.height
        yield from (number for number in (room.height, room.elevation) if number is not None)
        if room.relation is not None and room.relation.gap is not None:
            yield room.relation.gap


def clipping(subject: Subject) -> Iterator[Finding]:
    """Look for rooms that are higher than their floor."""
    default = subject.config_number("default_height")
    fallback = default or tree.Number(LANGUAGE_HEIGHT, None, 0, 0)
    if all(floor.height is None for floor in subject.plan.floors) and all(
        written.room.height is None for written in subject.rooms
    ):
        return
    for written in subject.rooms:
        room, floor = written.room, written.floor
        if written.parent is not None and room.height is None:
            continue
        height, most = room.height or fallback, floor.height or fallback
        if not _exceeds(height, most):
            continue
        place = room.name if room.height is None else room.height
        words = _worded(height, most)
        yield CLIPS.found(
            place.start,
            place.end,
            room=room.name.text,
            floor=floor.name.text,
            height=words[0],
            most=words[1],
        )


def _exceeds(height: tree.Number, most: tree.Number) -> bool:
    """Compare as written, unless both say in which unit they are."""
    if height.unit is None or most.unit is None or height.unit == most.unit:
        return height.value > most.value
    worth = units.METRES
    return height.value * worth[height.unit] > most.value * worth[most.unit] + _ROUNDING


def _worded(height: tree.Number, most: tree.Number) -> tuple[str, str]:
    """Write both as they are, with units where these differ."""
    if height.unit is None or most.unit is None or height.unit == most.unit:
        return shown(height.value), shown(most.value)
    return f"{shown(height.value)}{height.unit}", f"{shown(most.value)}{most.unit}"
