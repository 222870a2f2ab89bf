"""Checks of rooms as boxes: overlapping, empty, or outside the room that they belong to."""

from collections.abc import Iterator

from noetl_mcp.bim.floorplan.building import Box, PlacedRoom
from noetl_mcp.bim.floorplan.checks.subject import Subject, floors_with_plan
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.rules import WARNING, Rule, hint
from noetl_mcp.bim.floorplan.units import shown

_LEAST = 0.01

OVERLAP = Rule(
    "rooms-overlap",
    WARNING,
    "overlap",
    'Rooms "{first}" and "{second}" overlap',
    "two rooms of a floor overlap by more than 0.01 in both directions",
)
INNER_OVERLAP = hint(
    "sub-rooms-overlap",
    'Sub-rooms "{first}" and "{second}" of "{parent}" overlap',
    "two sub-rooms of one room overlap by more than 0.01 in both directions",
    "overlap",
)
OUTSIDE_PARENT = hint(
    "sub-room-outside",
    "Sub-room '{room}' reaches beyond '{parent}'. Its position counts from the corner of "
    "'{parent}'.",
    "a sub-room is not wholly in its room",
    "overlap",
)
EMPTY = hint(
    "zero-size",
    "Room '{room}' has no area: its size is {width} x {height}.",
    "a room is 0 wide or 0 deep",
)
EMPTY_LIFT = hint(
    "zero-size-lift",
    "Lift '{lift}' has no area.",
    "a lift is 0 wide or 0 deep",
)
RULES = (OVERLAP, INNER_OVERLAP, OUTSIDE_PARENT, EMPTY, EMPTY_LIFT)


def overlaps(subject: Subject) -> Iterator[Finding]:
    """Look for rooms that overlap, in the order in which they were placed."""
    for floor, grid in floors_with_plan(subject):
        for one, other in grid.pairs(_LEAST):
            first, second = floor.order[one], floor.order[other]
            yield OVERLAP.found(
                *second.room.name[1:],
                about_all=(first.name, second.name),
                first=first.name,
                second=second.name,
            )


def inner(subject: Subject) -> Iterator[Finding]:
    """Look for sub-rooms that overlap or reach out of their room."""
    for rooms in subject.standing:
        for room in rooms:
            if room.rooms:
                yield from _inside(room)


def _inside(parent: PlacedRoom) -> Iterator[Finding]:
    boxes = [room.box for room in parent.rooms]
    for room in parent.rooms:
        if not _holds(parent.box, room.box):
            yield OUTSIDE_PARENT.found(*room.room.name[1:], room=room.name, parent=parent.name)
    for one, other in Grid(boxes).pairs(_LEAST):
        first, second = parent.rooms[one], parent.rooms[other]
        yield INNER_OVERLAP.found(
            *second.room.name[1:],
            about_all=(first.name, second.name),
            first=first.name,
            second=second.name,
            parent=parent.name,
        )


def _holds(outer: Box, box: Box) -> bool:
    return (
        box.x >= outer.x - _LEAST
        and box.y >= outer.y - _LEAST
        and box.right <= outer.right + _LEAST
        and box.bottom <= outer.bottom + _LEAST
    )


def empty(subject: Subject) -> Iterator[Finding]:
    """Look for rooms and lifts without area."""
    for floor, rooms in zip(subject.building.floors, subject.standing, strict=True):
        for room in rooms:
            _, _, width, height = room.box
            if width > 0 and height > 0:
                continue
            size = room.room.size
            yield EMPTY.found(
                size.start, size.end, room=room.name, width=shown(width), height=shown(height)
            )
        for lift in floor.lifts:
            if lift.box.width <= 0 or lift.box.height <= 0:
                size = lift.lift.size
                yield EMPTY_LIFT.found(size.start, size.end, lift=lift.lift.name.text)
