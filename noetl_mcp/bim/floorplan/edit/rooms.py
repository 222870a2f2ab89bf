"""Do the operations on rooms: add, remove, resize, move, rename, walls, labels, heights.

Each decides the edits and touches nothing; what it cannot do it refuses with a sentence.
"""

from collections.abc import Iterable
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit import fields, references, room_operations, writing
from noetl_mcp.bim.floorplan.edit.fields import PositionAsked, RelativeAsked, SizeAsked
from noetl_mcp.bim.floorplan.edit.places import beneath, room_line, sub_room_edits
from noetl_mcp.bim.floorplan.edit.sheet import (
    Edit,
    FoundRoom,
    Outcome,
    Refused,
    Sheet,
    element_at,
    floor_at,
    replaced,
    room_at,
    rooms_of,
    the_room,
)
from noetl_mcp.bim.floorplan.words import KEYWORDS

Thing = tree.Room | tree.Stair | tree.Lift


def told(says: Iterable[str | None]) -> str | None:
    """Put sentences together, None where there are none."""
    return "; ".join(one for one in says if one) or None


def no_word(name: str) -> None:
    """Refuse a word of the language as a name; not every reader would take it for one."""
    if name in KEYWORDS:
        raise Refused(f'"{name}" is a word of the language and cannot be a name')


def free_name(sheet: Sheet, name: str) -> None:
    """Refuse a name that a room bears; connections name rooms without their floor."""
    no_word(name)
    found = room_at(sheet.plan, name)
    if found is not None:
        raise Refused(f'A room "{name}" is already there, on floor "{found.floor.name.text}"')


def add_room(sheet: Sheet, asked: room_operations.AddRoom) -> Outcome:
    """Add a room or a sub-room."""
    params = asked.params
    if params.position is None and params.relative_position is None:
        raise Refused("Room must have either 'position' or 'relativePosition'")
    if not sheet.plan.floors:
        raise Refused("Could not find floor block to add room")
    free_name(sheet, params.name)
    line = writing.room(params)
    if params.parent is not None:
        parent = the_room(sheet.plan, params.parent)
        if params.floor is not None and parent.floor.name.text != params.floor:
            raise Refused(f'Room "{params.parent}" is not on floor "{params.floor}"')
        _has_reference(params.relative_position, parent.room.rooms, f'room "{parent.name}"')
        return Outcome(params.name, sub_room_edits(sheet, parent, line))
    floor = sheet.plan.floors[0]
    if params.floor is not None:
        floor = floor_at(sheet.plan, params.floor)
    _has_reference(params.relative_position, floor.rooms, f'floor "{floor.name.text}"')
    return Outcome(params.name, (room_line(sheet, floor, line),))


def _has_reference(asked: RelativeAsked | None, rooms: Iterable[tree.Room], of: str) -> None:
    if asked is not None and all(room.name.text != asked.reference for room in rooms):
        raise Refused(f'Room "{asked.reference}" not found on {of}, so nothing can stand beside it')


def remove_room(sheet: Sheet, asked: room_operations.RemoveRoom) -> Outcome:
    """Remove a room, and what would refer to nothing without it."""
    found = the_room(sheet.plan, asked.target)
    repair = references.without_rooms(sheet, [found])
    out = sheet.without(found.room.start, found.room.end)
    return Outcome(asked.target, (out, *repair.edits), told(repair.says))


def resize_room(sheet: Sheet, asked: room_operations.ResizeRoom) -> Outcome:
    """Replace the two numbers of a size; units stay."""
    found = the_room(sheet.plan, asked.target)
    size = found.room.size
    if isinstance(size, tree.SizeName):
        edit = replaced(size.name, writing.size(asked.params))
        return Outcome(asked.target, (edit,), f"Its size was given by {size.name.text}")
    if size.height is None:
        raise Refused(f'Could not resize room "{asked.target}"')
    edits = (
        relength(sheet, size.width, asked.params.width),
        relength(sheet, size.height, asked.params.height),
    )
    return Outcome(asked.target, edits, _in_odd_unit(sheet, size, asked.params))


def _in_odd_unit(sheet: Sheet, size: tree.Size, asked: SizeAsked) -> str | None:
    """Tell of bare numbers that take the unit that was written there, which is not the plan's."""
    pairs = ((size.width, asked.width), (size.height, asked.height))
    odd = [
        f"{writing.number(said)} {old.unit}"
        for old, said in pairs
        if old is not None and isinstance(said, float)
        if old.unit not in (None, sheet.building.habits.unit)
    ]
    return f"That is {' by '.join(odd)}, the unit that was there" if odd else None


def move_room(sheet: Sheet, asked: room_operations.MoveRoom) -> Outcome:
    """Move a room to a place, or beside another."""
    found = the_room(sheet.plan, asked.target)
    params = asked.params
    if params.relative_position is not None:
        return _beside(sheet, found, asked.target, params.relative_position)
    assert params.x is not None
    assert params.y is not None
    edits, message = moved(sheet, found.room, PositionAsked(x=params.x, y=params.y))
    relation = found.room.relation
    without = relation and f"its {relation.direction} {relation.reference.text} is without effect"
    return Outcome(asked.target, edits, told((message, without)))


def moved(sheet: Sheet, thing: Thing, asked: PositionAsked) -> tuple[tuple[Edit, ...], str]:
    """Return the edits that give a thing a position, and the sentence about it."""
    at = thing.at
    x, y = writing.length(asked.x), writing.length(asked.y)
    if at is None:
        edit = sheet.clause_in(thing.name.end, f"at ({x},{y})")
        return (edit,), f"Added position ({x}, {y})"
    edits = (relength(sheet, at.x, asked.x), relength(sheet, at.y, asked.y))
    return edits, f"Moved to ({x}, {y})"


def relength(sheet: Sheet, old: tree.Number, asked: float | str) -> Edit:
    """Put a length in the place of another; the old unit stays where the new one has none."""
    return sheet.length_in(old, writing.length(asked), has_unit=isinstance(asked, str))


def _beside(sheet: Sheet, found: FoundRoom, target: str, asked: RelativeAsked) -> Outcome:
    of = f'room "{found.parents[-1].name.text}"' if found.parents else "its floor"
    if asked.reference == found.name:
        raise Refused(f'Room "{target}" cannot stand beside itself')
    _has_reference(asked, references.siblings(found), of)
    room = found.room
    clause = writing.relation(asked)
    edits = [beneath(sheet, room, clause)]
    if room.at is not None:
        edits.append(sheet.clause_out(room.at.start, room.at.end))
    return Outcome(target, tuple(edits), f"Moved {clause}")


def rename_room(sheet: Sheet, asked: room_operations.RenameRoom) -> Outcome:
    """Rename a room, and what refers to it."""
    found = the_room(sheet.plan, asked.target)
    name = asked.params.new_name
    if name == found.name:
        return Outcome(asked.target, (), f"Renamed to {name}")
    free_name(sheet, name)
    repair = references.renamed(sheet, found, name)
    others = sum(one.name == found.name for one in rooms_of(sheet.plan)) > 1
    left = f"connections with {found.name} mean the other room of this name" if others else None
    edits = (replaced(found.room.name, name), *repair.edits)
    return Outcome(asked.target, edits, told((f"Renamed to {name}", *repair.says, left)))


def update_walls(sheet: Sheet, asked: room_operations.UpdateWalls) -> Outcome:
    """Change walls that are listed, and list those that are not."""
    found = the_room(sheet.plan, asked.target)
    edits: list[Edit] = []
    added: list[str] = []
    for side, value in fields.entries(asked.params).items():
        if value is None:
            continue
        listed = [one for one in found.room.walls if one.side == side]
        if not listed:
            added.append(writing.wall(side, value))
            continue
        if isinstance(value, str):
            edits += [Edit(one.kind_start, one.kind_end, value) for one in listed]
            continue
        edits.append(Edit(listed[0].start, listed[0].end, writing.wall(side, value)))
        edits += [edit for one in listed[1:] for edit in _entry_out(sheet, found.room, one)]
    if added:
        last = found.room.walls[-1]
        edits.append(Edit(last.end, last.end, ", " + ", ".join(added)))
    message = f"Added {', '.join(added)}" if added else None
    if not edits:
        message = "Nothing is changed: no wall is named"
    return Outcome(asked.target, tuple(edits), message)


def _entry_out(sheet: Sheet, room: tree.Room, entry: tree.Wall) -> tuple[Edit, ...]:
    """Take an entry that is not the first out of a list of walls, with the comma before it."""
    before = room.walls[room.walls.index(entry) - 1]
    comma = sheet.signs(before.end, entry.start)[0]
    return Edit(comma.start, comma.end, ""), sheet.clause_out(entry.start, entry.end)


def the_thing(sheet: Sheet, target: str) -> Thing:
    """Return a room, a stair or a lift; refuse when there is none."""
    room = room_at(sheet.plan, target)
    if room is not None:
        return room.room
    element = element_at(sheet.plan, target)
    if element is None:
        raise Refused(f'Room "{target}" not found')
    return element.element


def add_label(sheet: Sheet, asked: room_operations.AddLabel) -> Outcome:
    """Label a thing, or change its label."""
    thing = the_thing(sheet, asked.target)
    text = writing.quoted(asked.params.label)
    if thing.label is not None:
        edit = Edit(thing.label.text_start, thing.label.text_end, text)
        return Outcome(asked.target, (edit,))
    return Outcome(asked.target, (sheet.clause_in(_before_label(thing), f"label {text}"),))


def _before_label(thing: Thing) -> int:
    """Return where the clause ends behind which a label belongs."""
    if isinstance(thing, tree.Room):
        return thing.relation.end if thing.relation is not None else thing.walls_end
    if thing.relation is not None:
        return thing.relation.end
    return thing.end if thing.style is None else thing.name.end


def remove_label(sheet: Sheet, asked: room_operations.RemoveLabel) -> Outcome:
    """Take a label away."""
    label = the_thing(sheet, asked.target).label
    if label is None:
        raise Refused(f'"{asked.target}" has no label')
    return Outcome(asked.target, (sheet.clause_out(label.start, label.end),))


def set_style(sheet: Sheet, asked: room_operations.SetStyle) -> Outcome:
    """Give a thing a style, or take it away."""
    thing = the_thing(sheet, asked.target)
    style = asked.params.style
    if style is None:
        if thing.style is None:
            raise Refused(f'"{asked.target}" has no style')
        return Outcome(asked.target, (sheet.clause_out(thing.style.start, thing.style.end),))
    if all(one.name.text != style for one in sheet.plan.styles):
        raise Refused(f'Style "{style}" not found')
    if thing.style is not None:
        return Outcome(asked.target, (replaced(thing.style.name, style),))
    return Outcome(asked.target, (sheet.clause_in(thing.end, f"style {style}"),))


def set_height(sheet: Sheet, asked: room_operations.SetHeight) -> Outcome:
    """Say how high a room or a floor is."""
    found = room_at(sheet.plan, asked.target)
    if found is not None:
        room = found.room
        edit = _measure(sheet, "height", room.height, asked.params.height, room.size.end, room)
        return Outcome(asked.target, (edit,))
    floor = next((one for one in sheet.plan.floors if one.name.text == asked.target), None)
    if floor is None:
        raise Refused(f'Room "{asked.target}" not found')
    edit = _measure(sheet, "height", floor.height, asked.params.height, floor.name.end, floor)
    return Outcome(asked.target, (edit,))


def set_elevation(sheet: Sheet, asked: room_operations.SetElevation) -> Outcome:
    """Say how far above its floor a room lies."""
    room = the_room(sheet.plan, asked.target).room
    after = room.size.end if room.height is None else room.height.end
    value = asked.params.elevation
    return Outcome(
        asked.target, (_measure(sheet, "elevation", room.elevation, value, after, room),)
    )


def _measure(
    sheet: Sheet,
    word: str,
    old: tree.Number | None,
    asked: float | str | None,
    after: int,
    owner: tree.Room | tree.Floor,
) -> Edit:
    """Change, add or take away a word with a length."""
    if asked is not None and old is not None:
        return relength(sheet, old, asked)
    if asked is not None:
        return sheet.clause_in(after, f"{word} {writing.length(asked)}")
    if old is None:
        raise Refused(f'"{owner.name.text}" has no {word}')
    sign = sheet.signs(owner.name.end, old.start)[-1]
    return sheet.clause_out(sign.start, old.end)


DOES: dict[type[Any], Any] = {
    room_operations.AddRoom: add_room,
    room_operations.RemoveRoom: remove_room,
    room_operations.ResizeRoom: resize_room,
    room_operations.MoveRoom: move_room,
    room_operations.RenameRoom: rename_room,
    room_operations.UpdateWalls: update_walls,
    room_operations.AddLabel: add_label,
    room_operations.RemoveLabel: remove_label,
    room_operations.SetStyle: set_style,
    room_operations.SetHeight: set_height,
    room_operations.SetElevation: set_elevation,
}
