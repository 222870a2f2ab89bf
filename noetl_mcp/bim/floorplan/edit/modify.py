"""Carry out operations on a plan's text, one after the other, and answer as the tool does.

An operation that cannot be done, or whose result would be worse than what was there, leaves the
text as it found it and says why. Nothing is ever answered as a success that is broken.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noetl_mcp.bim.floorplan.checks.registry import errors
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.edit import connections, convert, floors, rooms, settings
from noetl_mcp.bim.floorplan.edit.asked import Asking, asked_of
from noetl_mcp.bim.floorplan.edit.bare import has_bare_numbers
from noetl_mcp.bim.floorplan.edit.operations import AnyOperation
from noetl_mcp.bim.floorplan.edit.sheet import Outcome, Refused, Sheet, applied
from noetl_mcp.bim.floorplan.findings import Finding, Lines
from noetl_mcp.bim.floorplan.reading.read import Reading, read
from noetl_mcp.bim.floorplan.tool_arguments import LONGEST_TEXT

MOST_SIGNS = 5_000_000
"""How many signs a call may read: after each operation the whole plan is read and checked."""
_MOST_GROWN = 6_000_000
_ENOUGH = (
    "This call has read and compared as much as one may: send this operation with the text that "
    "comes back"
)

_DOES: Mapping[type[Any], Any] = (
    rooms.DOES | connections.DOES | settings.DOES | floors.DOES | convert.DOES
)


@dataclass(frozen=True)
class _State:
    """The text after some operations, and the errors of meaning that are in it."""

    sheet: Sheet

    @cached_property
    def errors(self) -> list[Finding]:
        """The errors of meaning; asked only of what was not valid to begin with."""
        sheet = self.sheet
        return list(errors(Subject(sheet.plan, sheet.building)))


def modify(
    text: str, operations: Sequence[AnyOperation | Mapping[str, Any]], atomic: bool = False
) -> dict[str, Any]:
    """Return `{success, dsl, changes, errors?}`.

    Operations that fail are told of and the others go on; with `atomic` one that fails undoes all.
    Operations that nobody could carry out, such as ones with unknown keys, are refused as a whole.
    """
    asking = asked_of(operations)
    if asking.wrong:
        return _answer(text, [], [dict(one) for one in asking.wrong])
    reading = read(text)
    if reading.errors:
        return _answer(text, [], [_located(one, reading.lines) for one in reading.errors])
    most = max(1, MOST_SIGNS // len(text))
    if len(asking.operations) > most:
        return _answer(text, [], [{"message": _too_many(len(text), most)}])
    changes, errors, made = _carried_out(reading, asking)
    if atomic and errors:
        _undo(changes, errors)
        return _answer(text, changes, errors)
    return _answer(made, changes, errors)


def _too_many(length: int, most: int) -> str:
    return (
        f"A plan of {length:,} signs takes at most {most:,} operations at once: send the others "
        "with the text that comes back"
    )


def _answer(
    text: str, changes: list[dict[str, Any]], errors: list[dict[str, Any]]
) -> dict[str, Any]:
    answer: dict[str, Any] = {"success": not errors, "dsl": text, "changes": changes}
    return answer | {"errors": errors} if errors else answer


def _located(found: Finding, lines: Lines) -> dict[str, Any]:
    shown: dict[str, Any] = {"message": found.message}
    if found.start is not None:
        shown["line"], shown["column"] = lines.place(found.start)
    return shown


def _carried_out(
    reading: Reading, asking: Asking
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Carry out the operations; return the changes, the errors and the text that was made."""
    changes: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    state = _State(Sheet(reading.plan.text, reading.plan))
    left = _MOST_GROWN
    for index, operation in enumerate(asking.operations):
        change: dict[str, Any] = {"action": operation.action, "target": _target(operation)}
        changes.append(change)
        try:
            left -= len(state.sheet.text)
            if left < 0:
                raise Refused(_ENOUGH)
            outcome: Outcome = _DOES[type(operation)](state.sheet, operation)
            left -= outcome.effort
            state = _next(state, outcome)
        except Refused as refused:
            change |= {"result": "error", "message": str(refused)}
            errors.append({"message": str(refused), "operation": index})
            continue
        change |= {"target": outcome.target, "result": "applied"}
        if outcome.message or not outcome.edits:
            change["message"] = outcome.message or "Nothing is changed: the plan says so already"
    return changes, errors, state.sheet.text


def _target(operation: AnyOperation) -> str:
    """Return what an operation is about, before it is known whether that is there."""
    target = getattr(operation, "target", None)
    if target is not None:
        return str(target)
    params: Any = operation.params
    for name in ("name", "anchor_room"):
        if hasattr(params, name):
            return str(getattr(params, name))
    if hasattr(params, "from_"):
        return f"{params.from_} to {params.to}"
    if hasattr(params, "elements"):
        return " to ".join(params.elements)
    return operation.action.partition("_")[2]


def _next(state: _State, outcome: Outcome) -> _State:
    """Return the state with an operation's edits; refuse them where they break something."""
    if not outcome.edits:
        return state
    text = applied(state.sheet.text, outcome.edits)
    if len(text) > LONGEST_TEXT:
        raise Refused(f"The plan would have more than {LONGEST_TEXT:,} signs then")
    reading = read(text)
    if reading.errors:
        raise Refused(f"The plan could not be read then: {reading.errors[0].message}")
    made = _State(Sheet(text, reading.plan))
    _refuse_errors(state, made)
    if not outcome.sets_unit:
        _refuse_unit(state.sheet, made.sheet)
    if outcome.keeps_places:
        convert.refuse_moves(state.sheet, made.sheet)
    return made


def _refuse_errors(before: _State, after: _State) -> None:
    """Refuse a text with more errors of a kind than there were before."""
    if not after.errors:
        return
    had = Counter(one.code for one in before.errors)
    has = Counter(one.code for one in after.errors)
    for one in after.errors:
        if has[one.code] > had[one.code]:
            raise Refused(f"The plan would not be valid then: {one.message}")


def _refuse_unit(before: Sheet, after: Sheet) -> None:
    """Refuse a text in which bare numbers, where there were some, mean another unit than before."""
    old, new = before.building.habits.unit, after.building.habits.unit
    if old != new and has_bare_numbers(before.plan):
        raise Refused(
            f"Numbers without a unit would be in {new} then, and not in {old}: set default_unit "
            f"to {old} first"
        )


def _undo(changes: list[dict[str, Any]], errors: list[dict[str, Any]]) -> None:
    """Say of what was done that it is undone."""
    first = errors[0].get("operation", 0)
    for change in changes:
        if change["result"] == "applied":
            change["result"] = "error"
            change["message"] = f"Not applied: operation {first} failed, and all or none are asked"
