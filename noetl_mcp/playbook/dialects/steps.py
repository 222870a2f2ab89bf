"""Read a step of the workflow, from any dialect, into the form of the model."""

from noetl_mcp.playbook.dialects.actions import (
    ACTION_KEYS,
    leave_out,
    read_body,
    type_of,
)
from noetl_mcp.playbook.dialects.care import settle_settings
from noetl_mcp.playbook.dialects.case import read_case
from noetl_mcp.playbook.dialects.conditions import bare, read_conditions
from noetl_mcp.playbook.dialects.edges import read_next
from noetl_mcp.playbook.dialects.loops import is_iterator, read_loop, settle_iterator
from noetl_mcp.playbook.dialects.policies import rule_parts
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

STEP_KEYS = ACTION_KEYS | frozenset(
    ["step", "next", "route", "join", "priority", "iterator", "repeat", "turn", "result"]
)


def read_steps(node: Node, reading: Reading, what: str) -> Node:
    """Read a list of steps; one step may become two."""
    steps = []
    for item in reading.listed(node, what, "step"):
        steps += read_step(item, reading)
    return node.become(list(steps))


def read_step(node: Node, reading: Reading) -> list[Node]:
    """Read one step; an admission rule becomes a router step before it."""
    entries = reading.entries(node, "a step")
    if entries is None:
        return []
    _identity(node, entries, reading)
    leave_out(entries, reading)
    read_loop(node, entries, reading)
    read_body(node, entries, reading)
    admit = entries.pop("admit", None)
    read_case(node, entries, reading)
    read_next(entries, reading)
    _result(entries)
    repeat = entries.get("repeat")
    if repeat is not None and repeat.mapping is not None:
        read_conditions(repeat.mapping, reading, "while", "until")
    if "vars" in entries:
        reading.say(dialect.VARS, entries.pop("vars"), at_key=True)
    known = STEP_KEYS
    if is_iterator(entries):
        known = STEP_KEYS | {"collection", "element", "mode", "concurrency"}
    step = node.become(settle_settings(node, entries, known))
    settle_iterator(step, step.mapping or {}, reading)
    for key in [k for k, child in (step.mapping or {}).items() if child.value is None]:
        if key not in ("result", "data"):
            (step.mapping or {}).pop(key)
    return _admitted(step, admit, reading)


def _identity(node: Node, entries: Entries, reading: Reading) -> None:
    """A step is named by `step`, else by `name`; on a workbook step `name` may be the action."""
    if "step" in entries:
        if type_of(entries) not in ("workbook",) and "tool" not in entries:
            entries.pop("name", None)
        return
    if "name" in entries:
        entries["step"] = entries.pop("name")
        if type_of(entries) == "workbook" and "task" not in entries:
            entries["task"] = entries["step"].under(entries["step"].key)


def _result(entries: Entries) -> None:
    """On a router step that ends, `result` is what the playbook returns."""
    result = entries.get("result")
    if result is not None and result.value is None:
        entries.pop("result")


def _admitted(step: Node, admit: Node | None, reading: Reading) -> list[Node]:
    """Put a router before a step that the newest form admits by a rule."""
    entries = step.mapping or {}
    if admit is None:
        return [step]
    condition = _admission(admit, reading)
    name = entries.get("step")
    if condition is None or name is None or not isinstance(name.value, str):
        return [step]
    inner = name.value + "_admitted"
    edge = admit.become({"step": name.become(inner), "when": condition})
    gate = step.become({"step": name, "next": admit.become([edge])})
    entries["step"] = name.become(inner)
    return [gate, step]


def _admission(admit: Node, reading: Reading) -> Node | None:
    """Return the condition under which a step is admitted, from the first rule that allows."""
    rules = admit.get("rules")
    conditions = []
    for item in (rules.items or []) if rules is not None else []:
        parts = rule_parts(item, reading)
        if parts is None:
            continue
        when, then = parts
        allow = then.get("allow")
        if when is None and allow is not None and allow.value is True:
            return None
        if when is not None and allow is not None and allow.value is True:
            conditions.append(when)
    if not conditions:
        return admit.become(False) if rules is not None and rules.items else None
    if len(conditions) == 1:
        return conditions[0]
    both = " or ".join(f"({bare(when)})" for when in conditions)
    return conditions[0].become("{{ " + both + " }}")


__all__ = ["STEP_KEYS", "read_step", "read_steps"]
