"""Where new things go in a plan's text: rooms, stairs, lifts, connections, styles, floors.

A new line stands beside its like and is indented like it. It refuses to write what goes there.
"""

from collections.abc import Iterable, Sequence

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit.sheet import Edit, FoundRoom, Sheet, Sign, things_of

_STEP = "    "
_SMALL_STEP = "  "

Node = (
    tree.Room
    | tree.Stair
    | tree.Lift
    | tree.Floor
    | tree.Style
    | tree.Define
    | tree.Config
    | tree.Connection
    | tree.Vertical
)


def indentation(sheet: Sheet, nodes: Iterable[Node], otherwise: str) -> str:
    """Return how the first of these that leads its line is indented."""
    found = (sheet.indentation(node.start) for node in nodes)
    return next((one for one in found if one is not None), otherwise)


def room_line(sheet: Sheet, floor: tree.Floor, line: str) -> Edit:
    """Put a room behind the rooms of a floor, and before its stairs and lifts."""
    things = sorted(things_of(floor), key=lambda one: one.start)
    after = [one for one in things if not floor.rooms or one.start > floor.rooms[-1].start]
    if not after:
        return before_end(sheet, floor, line, [*floor.rooms, *things])
    if not floor.rooms:
        first = after[0]
        return sheet.line_before(first.start, line, indentation(sheet, [first], _STEP))
    last = floor.rooms[-1]
    return sheet.line_after(last.end, line, indentation(sheet, floor.rooms, _STEP))


def stair_line(sheet: Sheet, floor: tree.Floor, line: str) -> Edit:
    """Put a stair behind the rooms and stairs of a floor, and before its lifts."""
    if not floor.lifts or (floor.stairs and floor.stairs[-1].start > floor.lifts[0].start):
        return before_end(sheet, floor, line, [*floor.rooms, *things_of(floor)])
    if floor.stairs:
        indent = indentation(sheet, floor.stairs, _STEP)
        return sheet.line_after(floor.stairs[-1].end, line, indent)
    first = floor.lifts[0]
    return sheet.line_before(first.start, line, indentation(sheet, [first], _STEP))


def before_end(sheet: Sheet, floor: tree.Floor, line: str, like: Sequence[Node]) -> Edit:
    """Put a line before the brace that closes a floor."""
    close = floor.close
    if sheet.leads_its_line(close):
        at = sheet.line_start(close)
        return Edit(at, at, f"{indentation(sheet, like, _STEP)}{line}{sheet.line_end(close)}")
    return sheet.line_before(close, line, "")


def beneath(sheet: Sheet, room: tree.Room, clause: str) -> Edit:
    """Put a relative clause behind the walls of a room, or in the place of the one it has."""
    if room.relation is not None:
        return Edit(room.relation.start, room.relation.end, clause)
    return sheet.clause_in(room.walls_end, clause)


def sub_room_edits(sheet: Sheet, parent: FoundRoom, line: str) -> tuple[Edit, ...]:
    """Put a sub-room into a room, which becomes one that is composed if it was none."""
    room = parent.room
    if room.rooms:
        last = room.rooms[-1]
        first_indent = sheet.indentation(room.rooms[0].start)
        return (sheet.line_after(last.end, line, first_indent),)
    opened = _bracket(sheet, room)
    if opened is not None:
        return (Edit(opened.end, opened.end, f" {line} "),)
    parts = (room.label, room.relation)
    after = max((part.end for part in parts if part is not None), default=room.walls_end)
    after = max(after, room.walls_end)
    own = sheet.indentation(room.start)
    if own is None:
        return (sheet.clause_in(after, f"composed of [ {line} ]"),)
    end = sheet.line_end(room.start)
    step = "\t" if "\t" in own else _SMALL_STEP
    return (sheet.clause_in(after, f"composed of [{end}{own}{step}{line}{end}{own}]"),)


def _bracket(sheet: Sheet, room: tree.Room) -> Sign | None:
    """Return the bracket of an empty `composed of [ ]`."""
    signs = sheet.signs(room.name.end, room.end)
    for word, bracket in zip(signs, signs[2:], strict=False):
        if word.text == "composed" and bracket.text == "[":
            return bracket
    return None


# Things outside of floors


def last_line(sheet: Sheet, line: str, like: Sequence[Node], before: Sequence[Node]) -> Edit:
    """Put a line behind the last of its like, else behind the last thing that goes before it."""
    if like:
        last = max(like, key=lambda one: one.end)
        return sheet.line_after(last.end, line, sheet.indentation(last.start))
    if before:
        last = max(before, key=lambda one: one.end)
        return sheet.line_after(last.end, line, sheet.indentation(last.start))
    opening = opening_word(sheet)
    own = sheet.indentation(opening.start) or ""
    return sheet.line_after(opening.end, line, own + _SMALL_STEP)


def opening_word(sheet: Sheet) -> Sign:
    """Return the word `floorplan` that opens the plan."""
    start = sheet.plan.start
    return Sign("floorplan", start, start + len("floorplan"))


def head_line(sheet: Sheet, line: str, like: Sequence[Node], before: Sequence[Node]) -> Edit:
    """Put a line of styles or config into the head of a plan."""
    if like or before:
        return last_line(sheet, line, like, before)
    opening = opening_word(sheet)
    own = sheet.indentation(opening.start) or ""
    indent = indentation(sheet, sheet.plan.floors, own + _SMALL_STEP)
    return sheet.line_after(opening.end, line, indent)
