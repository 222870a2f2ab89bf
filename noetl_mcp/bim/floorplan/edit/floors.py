"""Do the operations on floors, stairs, lifts and verticals.

What stands on a floor that goes, goes with it. It refuses a name that is taken on its floor.
"""

from collections.abc import Callable
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit import building_operations, references, writing
from noetl_mcp.bim.floorplan.edit.fields import PositionAsked
from noetl_mcp.bim.floorplan.edit.places import Node, before_end, indentation, last_line, stair_line
from noetl_mcp.bim.floorplan.edit.rooms import moved, no_word, told
from noetl_mcp.bim.floorplan.edit.sheet import (
    Edit,
    FoundElement,
    FoundRoom,
    Outcome,
    Refused,
    Sheet,
    element_at,
    elements_of,
    floor_at,
    replaced,
    things_of,
)

_INDENT = "  "


def _free_floor(sheet: Sheet, name: str) -> None:
    no_word(name)
    if any(floor.name.text == name for floor in sheet.plan.floors):
        raise Refused(f'A floor "{name}" is already there')


def add_floor(sheet: Sheet, asked: building_operations.AddFloor) -> Outcome:
    """Add an empty floor behind the others."""
    params = asked.params
    _free_floor(sheet, params.name)
    plan = sheet.plan
    height = None if params.height is None else writing.length(params.height)
    head = writing.clauses(f"floor {params.name}", ("height", height))
    before: list[Node] = [*plan.defines, *plan.styles]
    if plan.config is not None and plan.config.start >= plan.start:
        before.append(plan.config)
    indent = indentation(sheet, plan.floors or before, _INDENT)
    end = sheet.line_end(plan.floors[-1].end if plan.floors else plan.start)
    edit = last_line(sheet, f"{head} {{{end}{indent}}}", plan.floors, before)
    return Outcome(params.name, (edit,))


def rename_floor(sheet: Sheet, asked: building_operations.RenameFloor) -> Outcome:
    """Rename a floor, and the verticals that name it."""
    floor = floor_at(sheet.plan, asked.target)
    name = asked.params.new_name
    if name == asked.target:
        return Outcome(asked.target, (), f"Renamed to {name}")
    _free_floor(sheet, name)
    edits = [replaced(floor.name, name)]
    if sum(one.name.text == asked.target for one in sheet.plan.floors) == 1:
        edits += [
            replaced(element.floor, name)
            for vertical in sheet.plan.verticals
            for element in vertical.elements
            if element.floor.text == asked.target
        ]
    return Outcome(asked.target, tuple(edits), f"Renamed to {name}")


def remove_floor(sheet: Sheet, asked: building_operations.RemoveFloor) -> Outcome:
    """Remove a floor with all that is on it."""
    floor = floor_at(sheet.plan, asked.target)
    rooms = [FoundRoom(room, floor, ()) for room in floor.rooms]
    repair = references.without_rooms(sheet, rooms)
    is_only = sum(one.name.text == asked.target for one in sheet.plan.floors) == 1
    verticals = references.Repair()
    if is_only:
        verticals = references.without_elements(
            sheet, lambda element: element.floor.text == asked.target
        )
    edits = (sheet.without(floor.start, floor.end), *repair.edits, *verticals.edits)
    return Outcome(asked.target, edits, told((*repair.says, *verticals.says)))


# Stairs and lifts


def _floor_for(sheet: Sheet, name: str | None, element: str) -> tree.Floor:
    no_word(element)
    if not sheet.plan.floors:
        raise Refused(f"Could not find floor block to add {element}")
    floor = sheet.plan.floors[0] if name is None else floor_at(sheet.plan, name)
    if any(one.name.text == element for one in things_of(floor)):
        raise Refused(f'A stair or lift "{element}" is already there, on floor "{floor.name.text}"')
    return floor


def add_stair(sheet: Sheet, asked: building_operations.AddStair) -> Outcome:
    """Add a stair."""
    floor = _floor_for(sheet, asked.params.floor, asked.params.name)
    edit = stair_line(sheet, floor, writing.stair(asked.params))
    return Outcome(asked.params.name, (edit,))


def add_lift(sheet: Sheet, asked: building_operations.AddLift) -> Outcome:
    """Add a lift."""
    floor = _floor_for(sheet, asked.params.floor, asked.params.name)
    like: list[Node] = [*floor.rooms, *things_of(floor)]
    edit = before_end(sheet, floor, writing.lift(asked.params), like)
    return Outcome(asked.params.name, (edit,))


def _the(sheet: Sheet, target: str, kind: type[tree.Stair] | type[tree.Lift]) -> FoundElement:
    found = element_at(sheet.plan, target, kind)
    if found is None:
        raise Refused(f'{kind.__name__} "{target}" not found')
    return found


def _move(sheet: Sheet, target: str, asked: PositionAsked, kind: type[Any]) -> Outcome:
    found = _the(sheet, target, kind)
    edits, message = moved(sheet, found.element, asked)
    return Outcome(target, edits, message)


def move_stair(sheet: Sheet, asked: building_operations.MoveStair) -> Outcome:
    """Move a stair."""
    return _move(sheet, asked.target, asked.params, tree.Stair)


def move_lift(sheet: Sheet, asked: building_operations.MoveLift) -> Outcome:
    """Move a lift."""
    return _move(sheet, asked.target, asked.params, tree.Lift)


def _remove(sheet: Sheet, target: str, kind: type[Any]) -> Outcome:
    """Remove a stair or a lift; what stands beside it gets a place of its own."""
    found = _the(sheet, target, kind)
    name, floor = found.element.name.text, found.floor
    others = [one for one in elements_of(sheet.plan) if one.element is not found.element]
    edits: list[Edit] = [sheet.without(found.element.start, found.element.end)]
    says: list[str] = []
    if not any(one.element.name.text == name and one.floor is floor for one in others):
        verticals = references.without_elements(sheet, _is_element(floor.name.text, name))
        alone = references.beside_element(sheet, found)
        edits += [*verticals.edits, *alone.edits]
        says += [*verticals.says, *alone.says]
    return Outcome(target, tuple(edits), told(says))


def _is_element(floor: str, name: str) -> Callable[[tree.Element], bool]:
    return lambda one: one.floor.text == floor and one.element.text == name


def remove_stair(sheet: Sheet, asked: building_operations.RemoveStair) -> Outcome:
    """Remove a stair."""
    return _remove(sheet, asked.target, tree.Stair)


def remove_lift(sheet: Sheet, asked: building_operations.RemoveLift) -> Outcome:
    """Remove a lift."""
    return _remove(sheet, asked.target, tree.Lift)


# Verticals


def add_vertical(sheet: Sheet, asked: building_operations.AddVertical) -> Outcome:
    """Connect stairs or lifts of several floors."""
    target = " to ".join(asked.params.elements)
    for element in asked.params.elements:
        if element_at(sheet.plan, element) is None:
            raise Refused(f'Stair or lift "{element}" not found')
    plan = sheet.plan
    before: list[Node] = [*plan.connections] if plan.connections else [*plan.floors]
    edit = last_line(sheet, f"vertical {target}", plan.verticals, before)
    return Outcome(target, (edit,))


def remove_vertical(sheet: Sheet, asked: building_operations.RemoveVertical) -> Outcome:
    """Remove a vertical."""
    parts = {part.strip() for part in asked.target.split(" to ")}
    every = [
        one
        for one in sheet.plan.verticals
        if parts <= {f"{part.floor.text}.{part.element.text}" for part in one.elements}
    ]
    if not every:
        raise Refused(f'Vertical "{asked.target}" not found')
    exact = [one for one in every if references.named(one) == asked.target.strip()]
    if len(every) > 1 and not exact:
        raise Refused(f'There are {len(every)} verticals with "{asked.target}": name all elements')
    found = (exact or every)[0]
    return Outcome(asked.target, (sheet.without(found.start, found.end),))


DOES: dict[type[Any], Any] = {
    building_operations.AddFloor: add_floor,
    building_operations.RenameFloor: rename_floor,
    building_operations.RemoveFloor: remove_floor,
    building_operations.AddStair: add_stair,
    building_operations.MoveStair: move_stair,
    building_operations.RemoveStair: remove_stair,
    building_operations.AddLift: add_lift,
    building_operations.MoveLift: move_lift,
    building_operations.RemoveLift: remove_lift,
    building_operations.AddVertical: add_vertical,
    building_operations.RemoveVertical: remove_vertical,
}
