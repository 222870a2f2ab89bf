"""Write rooms relative to each other, or by their positions. No room ever moves by it.

A room for which no clause gives exactly the place that it has stays as it is, and is told of.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.edit import references, room_operations
from noetl_mcp.bim.floorplan.edit.choosing import Choice, Clause, is_same, looked_on
from noetl_mcp.bim.floorplan.edit.places import beneath
from noetl_mcp.bim.floorplan.edit.sheet import (
    Edit,
    FoundRoom,
    Outcome,
    Refused,
    Sheet,
    floor_at,
    rooms_of,
    the_room,
)
from noetl_mcp.bim.floorplan.grid import Grid

MOST_PAIRS = 1_000_000
_SIGNS_A_PAIR = 8
"""Comparing two rooms takes as long as reading and checking so many signs."""
_OVERLAPS = 0.01
_MOST_TOLD = 12


def refuse_moves(before: Sheet, after: Sheet) -> None:
    """Refuse a text in which a room stands elsewhere than in the one before."""
    pairs = zip(rooms_of(before.plan), rooms_of(after.plan), strict=True)
    for old, new in pairs:
        was, now = before.places.get(old.room.start), after.places.get(new.room.start)
        if was is None or (now is not None and is_same(was.box, now.box)):
            continue
        raise Refused(f'Room "{old.name}" would move')


# To relative


def to_relative(sheet: Sheet, asked: room_operations.ConvertToRelative) -> Outcome:
    """Write rooms relative to those that have been placed, from the anchor on."""
    anchor = the_room(sheet.plan, asked.params.anchor_room)
    beside_anchor = references.siblings(anchor)
    targets = _targets(sheet, asked.params.target_rooms, anchor, beside_anchor)
    _refuse_many(len(targets), len(beside_anchor))
    relative = _relative(sheet, beside_anchor, targets)
    if len(relative) < len(targets):
        targets -= relative.keys()
    reasons = list(_reasons(sheet, anchor.room, beside_anchor, targets))
    if reasons:
        raise Refused(f"Cannot convert to relative: {'; '.join(reasons)}")
    tolerance = asked.params.alignment_tolerance
    clauses, kept = _grown(sheet, anchor.room, beside_anchor, targets, tolerance)
    edits = [edit for room, clause in clauses for edit in _written(sheet, room, clause)]
    message = f"{len(clauses)} of {len(targets)} rooms are relative now"
    if relative:
        message += f"; relative already: {_listed(relative.values())}"
    if kept:
        message += f"; no clause is exact for {', '.join(kept)}, so positions stay there"
    effort = len(targets) * len(beside_anchor) * _SIGNS_A_PAIR
    return Outcome(
        asked.target or anchor.name, tuple(edits), message, keeps_places=True, effort=effort
    )


def _relative(
    sheet: Sheet, rooms: Sequence[tree.Room], targets: Collection[int]
) -> Mapping[int, str]:
    """Return which of the rooms stand beside others already, by where they begin."""
    return {
        room.start: room.name.text
        for room in rooms
        if room.start in targets and room.at is None and room.start in sheet.places
    }


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_MOST_TOLD])
    return f"{shown} and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else shown


def _refuse_many(targets: int, rooms: int) -> None:
    """Refuse where comparing each room with all others would take long."""
    if targets * rooms > MOST_PAIRS:
        raise Refused(
            f"Cannot convert to relative: {targets:,} rooms among {rooms:,} are too many at once; "
            f"name at most {max(1, MOST_PAIRS // rooms):,} of them in targetRooms"
        )


def _targets(
    sheet: Sheet,
    asked: Sequence[str] | None,
    anchor: FoundRoom,
    rooms: Sequence[tree.Room],
) -> set[int]:
    """Return where the rooms begin that are converted."""
    if asked is None:
        return {room.start for room in rooms} - {anchor.room.start}
    starts: set[int] = set()
    for name in asked:
        found = the_room(sheet.plan, name)
        if all(room is not found.room for room in rooms):
            raise Refused(
                f'Cannot convert to relative: room "{name}" does not stand beside '
                f'"{anchor.name}", but on another floor or in another room'
            )
        starts.add(found.room.start)
    return starts - {anchor.room.start}


def _reasons(
    sheet: Sheet, anchor: tree.Room, rooms: Sequence[tree.Room], targets: Collection[int]
) -> Iterator[str]:
    """Yield why rooms cannot be converted."""
    if anchor.at is None or anchor.start not in sheet.places:
        yield f"Anchor room '{anchor.name.text}' has no position of its own"
    lost = [
        room.name.text
        for room in rooms
        if room.start in targets and (room.at is None or room.start not in sheet.places)
    ]
    if lost:
        relative = len(_relative(sheet, rooms, targets)) == len(lost)
        more = " (relative already)" if relative else ""
        yield f"Rooms without positions cannot be converted: {', '.join(lost)}{more}"
    placed = [(room, sheet.places[room.start].box) for room in rooms if room.start in sheet.places]
    meant = [
        (placed[first][0], placed[second][0])
        for first, second in Grid([box for _, box in placed]).pairs(_OVERLAPS)
        if placed[first][0].start in targets or placed[second][0].start in targets
    ]
    for one, other in meant[:_MOST_TOLD]:
        yield f"Rooms '{one.name.text}' and '{other.name.text}' overlap"
    if len(meant) > _MOST_TOLD:
        yield f"and {len(meant) - _MOST_TOLD} other pairs of rooms"


def _grown(
    sheet: Sheet,
    anchor: tree.Room,
    rooms: Sequence[tree.Room],
    targets: Collection[int],
    tolerance: float,
) -> tuple[list[tuple[tree.Room, Clause]], list[str]]:
    """Give rooms their clauses, and name those that get none.

    A room is placed beside one whose place is settled, so no circle can come of it. When none can
    go on, the first that is left keeps its position, and others may stand beside it.
    """
    boxes = {
        room.start: sheet.places[room.start].box for room in rooms if room.start in sheet.places
    }
    doubled = _doubled(rooms)
    settled: dict[str, Box] = {anchor.name.text: boxes[anchor.start]}
    order = list(settled.items())
    choices: dict[int, Choice] = {}
    waiting = [room for room in rooms if room is not anchor and room.start in boxes]
    clauses: list[tuple[tree.Room, Clause]] = []
    kept: list[str] = []

    def settle(room: tree.Room) -> None:
        waiting.remove(room)
        if room.name.text not in doubled:
            settled[room.name.text] = boxes[room.start]
            order.append((room.name.text, boxes[room.start]))

    while waiting:
        before = len(waiting)
        for room in list(waiting):
            if room.start not in targets:
                relation = room.relation if room.at is None else None
                if relation is None or relation.reference.text in settled:
                    settle(room)
                continue
            so_far = choices.get(room.start, Choice())
            choice = looked_on(so_far, boxes[room.start], order, tolerance)
            choices[room.start] = choice
            if choice.clause is not None:
                clauses.append((room, choice.clause))
                settle(room)
        if len(waiting) == before:
            stuck = next((one for one in waiting if one.start in targets), waiting[0])
            if stuck.start in targets:
                kept.append(stuck.name.text)
            settle(stuck)
    return clauses, kept


def _doubled(rooms: Sequence[tree.Room]) -> set[str]:
    """Return the names that more than one room bears: nothing may be placed by them."""
    counted = Counter(room.name.text for room in rooms)
    return {name for name, count in counted.items() if count > 1}


def _written(sheet: Sheet, room: tree.Room, clause: Clause) -> tuple[Edit, ...]:
    assert room.at is not None
    said = references.clause_of(sheet, room, clause)
    return beneath(sheet, room, said), sheet.clause_out(room.at.start, room.at.end)


# To absolute


def to_absolute(sheet: Sheet, asked: room_operations.ConvertToAbsolute) -> Outcome:
    """Write rooms by their positions in the place of their relative clauses."""
    params = asked.params or room_operations.ToAbsolute()
    floor = None if params.floor is None else floor_at(sheet.plan, params.floor)
    names = params.target_rooms
    wanted = None if names is None else {the_room(sheet.plan, one).room.start for one in names}
    edits: list[Edit] = []
    kept: list[str] = []
    count = 0
    for found in rooms_of(sheet.plan):
        relation = found.room.relation
        is_meant = wanted is None or found.room.start in wanted
        if relation is None or not is_meant or (floor is not None and found.floor is not floor):
            continue
        try:
            edits += _alone(sheet, found, relation)
            count += 1
        except Refused:
            kept.append(found.name)
    message = f"{count} room{'' if count == 1 else 's'} stand{'s' if count == 1 else ''} absolute"
    if kept:
        message += f"; {', '.join(kept)} cannot: no position, or one below zero"
    return Outcome(asked.target or "rooms", tuple(edits), message, keeps_places=True)


def _alone(sheet: Sheet, found: FoundRoom, relation: tree.Relation) -> tuple[Edit, ...]:
    if found.room.at is not None:
        return (sheet.clause_out(relation.start, relation.end),)
    return references.absolute(sheet, found).edits


DOES: dict[type[Any], Any] = {
    room_operations.ConvertToRelative: to_relative,
    room_operations.ConvertToAbsolute: to_absolute,
}
