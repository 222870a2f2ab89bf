"""Read a step of the workflow, from any dialect, into the form of the model."""

from noetl_mcp.playbook.dialects.actions import ACTION_KEYS, read_body, type_of
from noetl_mcp.playbook.dialects.care import settle_settings
from noetl_mcp.playbook.dialects.case import read_case
from noetl_mcp.playbook.dialects.conditions import read_conditions
from noetl_mcp.playbook.dialects.edges import read_next
from noetl_mcp.playbook.dialects.loops import is_iterator, read_loop, settle_iterator
from noetl_mcp.playbook.dialects.policies import take_admission
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect, shape

STEP_KEYS = ACTION_KEYS | frozenset(
    ["step", "next", "route", "join", "priority", "iterator", "repeat", "turn", "result", "when"]
)


def read_steps(node: Node, reading: Reading, what: str) -> Node:
    """Read a list of steps."""
    steps = [read_step(item, reading) for item in reading.listed(node, what, "step")]
    return node.become(list(steps))


def read_step(node: Node, reading: Reading) -> Node:
    """Read one step."""
    entries = reading.entries(node, "a step")
    if entries is None:
        return node.become({})
    _identity(node, entries, reading)
    take_admission(entries, reading)
    read_conditions(entries, reading, "when")
    read_loop(node, entries, reading)
    has_ways = read_case(entries, reading)
    read_body(node, entries, reading)
    if not has_ways:
        read_next(entries, reading)
    _repeat(entries, reading)
    if "iterator" in entries:
        names = ("collection", "element", "task")
        reading.say(
            shape.UNKNOWN_KEY,
            entries.pop("iterator"),
            at_key=True,
            where="a step",
            key="iterator",
            known=", ".join(names),
        )
    known = STEP_KEYS
    if is_iterator(entries):
        known = STEP_KEYS | {"collection", "element", "mode", "concurrency"}
    step = node.become(settle_settings(node, entries, known))
    settle_iterator(step, step.mapping or {}, reading)
    for key in [k for k, child in (step.mapping or {}).items() if child.value is None]:
        if key != "data":
            (step.mapping or {}).pop(key)
    return step


def _identity(node: Node, entries: Entries, reading: Reading) -> None:
    """A step is named by `step`, else by `name`; on a workbook step `name` may be the action."""
    if "step" in entries:
        if type_of(entries) not in ("workbook",) and "tool" not in entries and "name" in entries:
            name = entries.pop("name")
            if name.value != entries["step"].value:
                reading.say(dialect.DROPPED_KEY, name, at_key=True, key="name")
        return
    if "name" in entries:
        entries["step"] = entries.pop("name")
        if type_of(entries) == "workbook" and "task" not in entries:
            entries["task"] = entries["step"].under(entries["step"].key)


def _repeat(entries: Entries, reading: Reading) -> None:
    repeat = entries.get("repeat")
    if repeat is not None and repeat.mapping is not None:
        inner = dict(repeat.mapping)
        read_conditions(inner, reading, "while", "until")
        entries["repeat"] = repeat.become(inner)


__all__ = ["STEP_KEYS", "read_step", "read_steps"]
