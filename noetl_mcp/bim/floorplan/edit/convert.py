"""Write rooms relative to each other, or by their positions. No room ever moves by it.

A room for which no clause gives exactly the place that it has stays as it is, and is told of.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import hypot
from typing import Any, NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.edit import references, room_operations
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
from noetl_mcp.bim.floorplan.positions import beside

_SAME = 1e-6
_OVERLAPS = 0.01
_ACROSS = ("top", "bottom", "center")
_ALONG = ("left", "right", "center")


class Clause(NamedTuple):
    """A relative clause that may be written, and how good it is: less is better."""

    direction: str
    reference: str
    gap: float
    align: str | None
    score: float


def refuse_moves(before: Sheet, after: Sheet) -> None:
    """Refuse a text in which a room stands elsewhere than in the one before."""
    if before.building.habits.unit != after.building.habits.unit:
        raise Refused(
            f"Nothing would say then that the plan is in {before.building.habits.unit}: set "
            "default_unit first"
        )
    pairs = zip(rooms_of(before.plan), rooms_of(after.plan), strict=True)
    for old, new in pairs:
        was, now = before.places.get(old.room.start), after.places.get(new.room.start)
        if was is None or (now is not None and _is_same(was.box, now.box)):
            continue
        raise Refused(f'Room "{old.name}" would move')


def _is_same(one: Box, other: Box) -> bool:
    return all(abs(a - b) <= _SAME for a, b in zip(one, other, strict=True))


# To relative


def to_relative(sheet: Sheet, asked: room_operations.ConvertToRelative) -> Outcome:
    """Write rooms relative to those that have been placed, from the anchor on."""
    anchor = the_room(sheet.plan, asked.params.anchor_room)
    beside_anchor = references.siblings(anchor)
    targets = _targets(sheet, asked.params.target_rooms, anchor, beside_anchor)
    reasons = list(_reasons(sheet, anchor.room, beside_anchor, targets))
    if reasons:
        raise Refused(f"Cannot convert to relative: {'; '.join(reasons)}")
    tolerance = asked.params.alignment_tolerance
    clauses, kept = _grown(sheet, anchor.room, beside_anchor, targets, tolerance)
    edits = [edit for room, clause in clauses for edit in _written(sheet, room, clause)]
    message = f"{len(clauses)} of {len(targets)} rooms are relative now"
    if kept:
        message += f"; no clause is exact for {', '.join(kept)}, so positions stay there"
    return Outcome(asked.target or anchor.name, tuple(edits), message, keeps_places=True)


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
        yield f"Rooms without positions cannot be converted: {', '.join(lost)}"
    placed = [(room, sheet.places[room.start].box) for room in rooms if room.start in sheet.places]
    placed.sort(key=lambda pair: pair[1].x)
    for index, (room, box) in enumerate(placed):
        for other, over in placed[index + 1 :]:
            if over.x >= box.right - _OVERLAPS:
                break
            is_meant = room.start in targets or other.start in targets
            if is_meant and _overlap(box, over):
                first, second = sorted((room, other), key=lambda one: one.start)
                yield f"Rooms '{first.name.text}' and '{second.name.text}' overlap"


def _overlap(one: Box, other: Box) -> bool:
    across = min(one.right, other.right) - max(one.x, other.x)
    along = min(one.bottom, other.bottom) - max(one.y, other.y)
    return across > _OVERLAPS and along > _OVERLAPS


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
    waiting = [room for room in rooms if room is not anchor and room.start in boxes]
    clauses: list[tuple[tree.Room, Clause]] = []
    kept: list[str] = []

    def settle(room: tree.Room) -> None:
        waiting.remove(room)
        if room.name.text not in doubled:
            settled[room.name.text] = boxes[room.start]

    while waiting:
        before = len(waiting)
        for room in list(waiting):
            if room.start not in targets:
                relation = room.relation if room.at is None else None
                if relation is None or relation.reference.text in settled:
                    settle(room)
                continue
            clause = _best(boxes[room.start], settled, tolerance)
            if clause is not None:
                clauses.append((room, clause))
                settle(room)
        if len(waiting) == before:
            stuck = next((one for one in waiting if one.start in targets), waiting[0])
            if stuck.start in targets:
                kept.append(stuck.name.text)
            settle(stuck)
    return clauses, kept


def _doubled(rooms: Sequence[tree.Room]) -> set[str]:
    names = [room.name.text for room in rooms]
    return (
        {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    )


def _best(box: Box, settled: Mapping[str, Box], tolerance: float) -> Clause | None:
    """Return the best clause that gives a box exactly, None when there is none.

    The first choice is the most natural clause, as long as it is exact; else any that is.
    """
    natural = _least(box, settled, lambda name, other: _natural(box, name, other, tolerance))
    if natural is None or _is_exact(box, settled[natural.reference], natural):
        return natural
    return _least(box, settled, lambda name, other: _exact(box, name, other))


def _least(
    box: Box, settled: Mapping[str, Box], clauses: Callable[[str, Box], Iterator[Clause]]
) -> Clause | None:
    best: Clause | None = None
    x, y = box.center
    for name, other in settled.items():
        far = hypot(other.x + other.width / 2 - x, other.y + other.height / 2 - y)
        if best is not None and far - 10 >= best.score:
            continue
        for clause in clauses(name, other):
            if best is None or clause.score < best.score:
                best = clause
    return best


def _clause(
    box: Box, other: Box, direction: str, name: str, gap: float, align: str | None
) -> Clause:
    """Return a clause with its score: near and aligned is good."""
    (x, y), (over_x, over_y) = box.center, other.center
    score = hypot(x - over_x, y - over_y) + gap
    score += (-10 if align is not None else 0) + (5 if "-" in direction else 0)
    return Clause(direction, name, gap, align, score)


def _natural(box: Box, name: str, other: Box, tolerance: float) -> Iterator[Clause]:
    """Yield the clause that a person would choose, even where it is not exact."""
    is_level = box.y < other.bottom + tolerance and box.bottom > other.y - tolerance
    is_above = box.x < other.right + tolerance and box.right > other.x - tolerance
    distances = _distances(box, other)
    for direction, distance in distances.items():
        fits = is_level if direction in ("right-of", "left-of") else is_above
        if not fits or distance < -tolerance:
            continue
        align = next(_aligned(box, other, direction, tolerance), None)
        gap = max(0.0, _rounded(distance))
        yield _clause(box, other, direction, name, gap, align)
        return
    across = "right-of" if box.x >= other.right else "left-of"
    down = "below" if box.y >= other.bottom else "above"
    gap = max(0.0, _rounded(min(distances[across], distances[down])))
    yield _clause(box, other, f"{down}-{across}", name, gap, None)


def _rounded(value: float) -> float:
    return round(value * 100) / 100


def _distances(box: Box, other: Box) -> dict[str, float]:
    """Return how far a box lies beyond another, in each of the straight directions."""
    return {
        "right-of": box.x - other.right,
        "left-of": other.x - box.right,
        "below": box.y - other.bottom,
        "above": other.y - box.bottom,
    }


def _aligned(box: Box, other: Box, direction: str, tolerance: float) -> Iterator[str]:
    if direction in ("right-of", "left-of"):
        offs = (box.y - other.y, box.bottom - other.bottom, box.center[1] - other.center[1])
        names = _ACROSS
    else:
        offs = (box.x - other.x, box.right - other.right, box.center[0] - other.center[0])
        names = _ALONG
    yield from (name for name, off in zip(names, offs, strict=True) if abs(off) <= tolerance)


def _exact(box: Box, name: str, other: Box) -> Iterator[Clause]:
    """Yield every clause that gives exactly this box."""
    distances = _distances(box, other)
    for direction, distance in distances.items():
        if distance < -_SAME:
            continue
        for align in _aligned(box, other, direction, _SAME / 2):
            yield _clause(box, other, direction, name, max(0.0, distance), align)
    for down in ("below", "above"):
        for across in ("right-of", "left-of"):
            gap, also = distances[across], distances[down]
            if min(gap, also) >= -_SAME and abs(gap - also) <= _SAME / 2:
                yield _clause(box, other, f"{down}-{across}", name, max(0.0, gap), None)


def _is_exact(box: Box, other: Box, clause: Clause) -> bool:
    nowhere = tree.Name(clause.reference, 0, 0)
    relation = tree.Relation(clause.direction, nowhere, None, clause.align, 0, 0)
    found = beside(relation, other, box.width, box.height, clause.gap)
    return _is_same(box, found)


def _written(sheet: Sheet, room: tree.Room, clause: Clause) -> tuple[Edit, ...]:
    said = f"{clause.direction} {clause.reference}"
    size = room.size
    unit = size.width.unit if isinstance(size, tree.Size) else None
    gap = references.in_unit(sheet, clause.gap, unit)
    if clause.gap > _SAME:
        said += f" gap {gap}"
    if clause.align is not None:
        said += f" align {clause.align}"
    assert room.at is not None
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
