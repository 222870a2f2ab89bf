"""What refers to a room, a stair or a style by its name, and the edits that keep it right.

A name that something else bears, too, is left as it is: it still means something.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.edit.choosing import SAME, Clause, best
from noetl_mcp.bim.floorplan.edit.sheet import (
    Edit,
    FoundElement,
    FoundRoom,
    Refused,
    Sheet,
    elements_of,
    replaced,
    rooms_of,
    things_of,
    walked,
)
from noetl_mcp.bim.floorplan.edit.writing import clauses, near, point
from noetl_mcp.bim.floorplan.units import factor

_MOST_STANDING = 500


class Repair(NamedTuple):
    """Edits that keep references right, and what there is to say of them."""

    edits: tuple[Edit, ...] = ()
    says: tuple[str, ...] = ()


def siblings(found: FoundRoom) -> tuple[tree.Room, ...]:
    """Return the rooms among which a room is placed: of its floor, or of the room it lies in."""
    return found.parents[-1].rooms if found.parents else found.floor.rooms


def group(found: FoundRoom) -> int:
    """Return what tells the rooms among which a room is placed from all others."""
    return found.parents[-1].start if found.parents else found.floor.start


def together(repairs: Iterable[Repair]) -> Repair:
    """Put repairs together."""
    every = list(repairs)
    edits = chain.from_iterable(one.edits for one in every)
    return Repair(tuple(edits), tuple(chain.from_iterable(one.says for one in every)))


# Renaming


def renamed(sheet: Sheet, found: FoundRoom, name: str) -> Repair:
    """Return the edits that let all references to a room follow its new name."""
    names = list(_mentions(sheet.plan, found))
    says = f"{len(names)} reference{'s' if len(names) != 1 else ''} renamed with it"
    return Repair(tuple(replaced(one, name) for one in names), (says,) if names else ())


def _mentions(plan: tree.Plan, found: FoundRoom) -> Iterator[tree.Name]:
    old = found.name
    others = [one for one in rooms_of(plan) if one.name == old and one.room is not found.room]
    beside = siblings(found)
    if not any(one.room is room for one in others for room in beside):
        yield from (
            room.relation.reference
            for room in beside
            if room.relation is not None and room.relation.reference.text == old
        )
    if not any(one.floor is found.floor for one in others):
        yield from _of_stairs(found.floor, old)
    if not others:
        yield from _of_connections(plan, old)


def _of_stairs(floor: tree.Floor, name: str) -> Iterator[tree.Name]:
    things = things_of(floor)
    if not any(thing.name.text == name for thing in things):
        relations = (thing.relation for thing in things if thing.relation is not None)
        yield from (one.reference for one in relations if one.reference.text == name)
    yield from (
        flight.along.room
        for flight in _flights(floor)
        if flight.along is not None and flight.along.room.text == name
    )


def _flights(floor: tree.Floor) -> Iterator[tree.Flight]:
    for stair in floor.stairs:
        for segment in stair.shape.segments:
            if isinstance(segment, tree.Flight):
                yield segment


def _of_connections(plan: tree.Plan, name: str) -> Iterator[tree.Name]:
    for connection in plan.connections:
        ends = (connection.first.room, connection.second.room, connection.opens_into)
        yield from (end for end in ends if end is not None and end.text == name)


# Removing rooms


def without_rooms(sheet: Sheet, removed: Collection[FoundRoom]) -> Repair:
    """Return the edits that leave nothing behind that refers to rooms which go."""
    going = {inner.start for one in removed for inner in walked(one.room)}
    left = [one for one in rooms_of(sheet.plan) if one.room.start not in going]
    lost = {inner.name.text for one in removed for inner in walked(one.room)}
    lost_everywhere = lost - {one.name for one in left}
    floors = {one.floor.start for one in removed}
    lost_on = {
        floor.start: lost - {one.name for one in left if one.floor is floor}
        for floor in sheet.plan.floors
        if floor.start in floors
    }
    missing = {(group(one), one.name) for one in removed}
    missing -= {(group(one), one.name) for one in left}
    things = {
        floor.start: {thing.name.text for thing in things_of(floor)} for floor in sheet.plan.floors
    }
    return together(
        (
            *_connections_out(sheet, lost_everywhere),
            *_stand_alone(sheet, left, missing, going),
            *(
                _stair_alone(sheet, found, lost_on[found.floor.start], things[found.floor.start])
                for found in elements_of(sheet.plan)
                if found.floor.start in floors
            ),
        )
    )


def _connections_out(sheet: Sheet, names: Collection[str]) -> Iterator[Repair]:
    for connection in sheet.plan.connections:
        if connection.first.room.text in names or connection.second.room.text in names:
            said = f"{written(connection)} removed"
            yield Repair((sheet.without(connection.start, connection.end),), (said,))
            continue
        into = connection.opens_into
        if into is not None and into.text in names:
            said = f"{written(connection)} no longer says into which room it opens"
            yield Repair((into_out(sheet, connection, into),), (said,))


def written(connection: tree.Connection) -> str:
    """Return the ends of a connection for a sentence."""
    ends = (
        end.room.text + (f".{end.side}" if end.side else "")
        for end in (connection.first, connection.second)
    )
    return "connection {} to {}".format(*ends)


def into_out(sheet: Sheet, connection: tree.Connection, into: tree.Name) -> Edit:
    """Take `opens into A` out of a connection, with a `door` before it that is not its kind."""
    signs = sheet.signs(connection.second.end, into.end)
    at = max(index for index, one in enumerate(signs) if one.text == "opens")
    if at > 1 and signs[at - 1].text == "door":
        at -= 1
    return sheet.clause_out(signs[at].start, into.end)


def _stand_alone(
    sheet: Sheet,
    left: Iterable[FoundRoom],
    missing: Collection[tuple[int, str]],
    going: Collection[int],
) -> Iterator[Repair]:
    """Give rooms places of their own where the one that they stand beside goes."""
    staying: dict[int, dict[str, Box]] = {}
    for found in left:
        relation = found.room.relation
        if relation is None or (group(found), relation.reference.text) not in missing:
            continue
        if found.room.at is not None:
            yield Repair((sheet.clause_out(relation.start, relation.end),))
            continue
        try:
            yield absolute(sheet, found)
        except Refused as refused:
            if group(found) not in staying:
                staying[group(found)] = _staying(sheet, found, going)
            other = _beside_another(sheet, found, relation, staying[group(found)])
            if other is None:
                raise refused from None
            yield other


def _staying(sheet: Sheet, found: FoundRoom, going: Collection[int]) -> dict[str, Box]:
    """Return where rooms are beside which one may be placed; not all, where there are very many."""
    standing = (
        (room.name.text, sheet.places[room.start].box)
        for room in siblings(found)
        if room.at is not None and room.start not in going and room.start in sheet.places
    )
    return dict(islice(standing, _MOST_STANDING))


def _beside_another(
    sheet: Sheet, found: FoundRoom, relation: tree.Relation, others: Mapping[str, Box]
) -> Repair | None:
    """Place a room beside one that stays and has a position, where a clause is exact."""
    placed = sheet.places.get(found.room.start)
    clause = best(placed.box, others, 0.0) if placed is not None else None
    if clause is None:
        return None
    said = clause_of(sheet, found.room, clause)
    return Repair((Edit(relation.start, relation.end, said),), (f"{found.name} is {said} now",))


def clause_of(sheet: Sheet, room: tree.Room, clause: Clause) -> str:
    """Write a chosen clause; its gap is in the unit of the room."""
    size = room.size
    unit = size.width.unit if isinstance(size, tree.Size) else None
    gap = in_unit(sheet, clause.gap, unit) if clause.gap > SAME else None
    return clauses(f"{clause.direction} {clause.reference}", ("gap", gap), ("align", clause.align))


def absolute(sheet: Sheet, found: FoundRoom) -> Repair:
    """Write a room by its position in the place of its relative clause."""
    where = position(sheet, found)
    if where is None:
        raise Refused(f'Room "{found.name}" has no place that could be written')
    edits = [sheet.clause_in(found.room.name.end, f"at {where}")]
    relation = found.room.relation
    if relation is not None:
        edits.append(sheet.clause_out(relation.start, relation.end))
    return Repair(tuple(edits), (f"{found.name} stands at {where} now",))


def position(sheet: Sheet, found: FoundRoom) -> str | None:
    """Write where a room stands, in its own unit, counted from the room that it lies in."""
    placed = sheet.places.get(found.room.start)
    if placed is None:
        return None
    x, y = placed.box.x, placed.box.y
    if found.parents:
        outer = sheet.places[found.parents[-1].start].box
        x, y = x - outer.x, y - outer.y
    size = found.room.size
    unit = size.width.unit if isinstance(size, tree.Size) else None
    if min(x, y) < -1e-9:
        raise Refused(
            f'Room "{found.name}" stands at ({near(x)}, {near(y)}): the language has no negative '
            "positions"
        )
    return point(in_unit(sheet, x, unit), in_unit(sheet, y, unit))


def in_unit(sheet: Sheet, value: float, unit: str | None) -> str:
    """Write a length of the building in a unit."""
    if unit in (None, sheet.building.habits.unit):
        return near(value)
    return near(value / factor(str(unit), sheet.building.habits.unit)) + str(unit)


def _stair_alone(
    sheet: Sheet, found: FoundElement, names: Collection[str], things: Collection[str]
) -> Repair:
    """Free a stair or a lift of rooms that go."""
    element, relation = found.element, found.element.relation
    is_thing = relation is not None and relation.reference.text in things
    free = _free_of(sheet, found, () if is_thing else names)
    edits, says = list(free.edits), list(free.says)
    for segment in element.shape.segments if isinstance(element, tree.Stair) else ():
        if isinstance(segment, tree.Flight) and segment.along and segment.along.room.text in names:
            word = sheet.signs(segment.start, segment.along.start)[-1]
            edits.append(sheet.clause_out(word.start, segment.along.end))
            says.append(f"a flight of {element.name.text} no longer runs along a wall")
    return Repair(tuple(edits), tuple(says))


def _free_of(sheet: Sheet, found: FoundElement, names: Collection[str]) -> Repair:
    """Give a stair or a lift that stands beside one of these a place of its own."""
    element, relation = found.element, found.element.relation
    if relation is None or relation.reference.text not in names:
        return Repair()
    out = sheet.clause_out(relation.start, relation.end)
    if element.at is not None:
        return Repair((out,))
    where = _corner(sheet, found)
    said = f"{element.name.text} stands at {where} now"
    return Repair((sheet.clause_in(element.name.end, f"at {where}"), out), (said,))


def _corner(sheet: Sheet, found: FoundElement) -> str:
    for floor in sheet.building.floors:
        for stair in floor.stairs:
            if stair.stair is found.element:
                return point(near(stair.x), near(stair.y))
        for lift in floor.lifts:
            if lift.lift is found.element:
                return point(near(lift.box.x), near(lift.box.y))
    raise Refused(f'"{found.element.name.text}" has no place that could be written')


# Removing stairs, lifts and floors


def without_elements(sheet: Sheet, is_gone: Callable[[tree.Element], bool]) -> Repair:
    """Take elements out of the verticals; one with fewer than two left goes as a whole."""
    return together(_shortened(sheet, vertical, is_gone) for vertical in sheet.plan.verticals)


def _shortened(
    sheet: Sheet, vertical: tree.Vertical, is_gone: Callable[[tree.Element], bool]
) -> Repair:
    left = [one for one in vertical.elements if not is_gone(one)]
    if len(left) == len(vertical.elements):
        return Repair()
    if len(left) < 2:
        said = f"vertical {named(vertical)} removed"
        return Repair((sheet.without(vertical.start, vertical.end),), (said,))
    edits = []
    for index, element in enumerate(vertical.elements):
        if not is_gone(element):
            continue
        is_first = all(map(is_gone, vertical.elements[:index]))
        edits.append(_link_out(sheet, vertical, index, is_first))
    return Repair(tuple(edits), (f"vertical {named(vertical)} shortened",))


def _link_out(sheet: Sheet, vertical: tree.Vertical, index: int, is_first: bool) -> Edit:
    element = vertical.elements[index]
    if is_first:
        return Edit(element.start, vertical.elements[index + 1].start, "")
    word = sheet.signs(vertical.elements[index - 1].end, element.start)[0]
    return sheet.clause_out(word.start, element.end)


def named(vertical: tree.Vertical) -> str:
    """Return the elements of a vertical for a sentence."""
    return " to ".join(f"{one.floor.text}.{one.element.text}" for one in vertical.elements)


def beside_element(sheet: Sheet, going: FoundElement) -> Repair:
    """Free the stairs and lifts that stand beside one which goes."""
    others = (
        found
        for found in elements_of(sheet.plan)
        if found.floor is going.floor and found.element is not going.element
    )
    name = going.element.name.text
    return together(_free_of(sheet, found, (name,)) for found in others)
