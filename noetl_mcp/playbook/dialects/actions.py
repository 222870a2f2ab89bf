"""Read an action: its type, its settings, its input and its care, from any dialect."""

from itertools import count

from noetl_mcp.playbook.dialects.care import read_care, settle_settings, spread
from noetl_mcp.playbook.dialects.conditions import is_lone
from noetl_mcp.playbook.dialects.edges import read_on_error
from noetl_mcp.playbook.dialects.foreign_keys import read_foreign_keys
from noetl_mcp.playbook.dialects.policies import read_policies
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node, plain
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import dialect, shape

INPUTS = ("data", "input", "payload", "args", "with", "params")
OWN_INPUTS = {
    "http": frozenset(("params", "payload")),
    "jsonrpc": frozenset(("params",)),
    "revit": frozenset(("params",)),
    "rhino": frozenset(("params",)),
    "postgres": frozenset(("params",)),
    "duckdb": frozenset(("params",)),
    "container": frozenset(("args",)),
    "shell": frozenset(("args",)),
}
ROUTERS = frozenset(("start", "end", "router"))
CARE_KEYS = (
    "auth",
    "assert",
    "retry",
    "timeout",
    "expect",
    "confirm",
    "writes",
    "idempotent",
    "check",
    "save",
    "limits",
    "pool",
    "cache",
    "set",
)
ACTION_KEYS = frozenset(
    (
        "name",
        "description",
        "type",
        "settings",
        "calls",
        "task",
        "tasks",
        "data",
        "on_error",
        *CARE_KEYS,
    )
)
_MEANINGLESS = ("pass", "output", "bind", "meta", "labels")


def read_action(node: Node, reading: Reading, what: str) -> Node:
    """Read an action that stands alone: of the workbook, an iterator or a sequence."""
    entries = reading.entries(node, what)
    if entries is None:
        return node.become({"type": node.become("noop")})
    read_body(node, entries, reading)
    if type_of(entries) == "iterator":
        reading.say(
            dialect.NOT_SUPPORTED,
            entries["type"],
            construct=f"an iterator as {what}",
            cure="make the iterator a step, and what it does for each item the action",
        )
        return node.become({k: entries[k] for k in ("name",) if k in entries})
    return node.become(settle_settings(node, entries, ACTION_KEYS))


def read_body(node: Node, entries: Entries, reading: Reading) -> None:
    """Read what an action and a step have in common, in place."""
    reading.rename(entries, "description", "desc", hint=False)
    _misspelt_type(entries, reading)
    _sinks(entries)
    _type(entries, reading)
    leave_out(entries, reading)
    _spec(entries, reading)
    _input(entries, reading)
    read_foreign_keys(type_of(entries) or "", entries, reading)
    _task(entries, reading)
    if "set" in entries:
        entries["set"] = _set(entries["set"])
    read_care(entries, reading)
    read_on_error(entries, reading)
    if "check" in entries:
        entries["check"] = read_action(entries["check"], reading, "'check'")
    for key in [key for key, child in entries.items() if child.value is None and key != "data"]:
        if key in ACTION_KEYS:
            entries.pop(key)


def _misspelt_type(entries: Entries, reading: Reading) -> None:
    """Without a type nothing can be judged, so one that is nearly spelt right is taken for it."""
    if {"type", "tool", "kind"} & set(entries):
        return
    for key in list(entries):
        if key in ACTION_KEYS or len(key) > 8 or reading.report.near(key, ("type",)) != "type":
            continue
        node = entries.pop(key)
        reading.say(
            shape.UNKNOWN_KEY,
            node,
            at_key=True,
            suggestion="type",
            where="a step",
            key=key,
            known="step, type, next and others",
        )
        entries["type"] = node
        return


def _sinks(entries: Entries) -> None:
    """A `sink` is a save; beside `save` it is one more."""
    sink, save = entries.pop("sink", None), entries.get("save")
    if sink is None:
        return
    if save is None:
        entries["save"] = sink
        return
    items = [*(save.items or [save]), *(sink.items or [sink])]
    entries["save"] = save.become(items)


def type_of(entries: Entries) -> str | None:
    """Return the task type as far as it is known already."""
    kind = entries.get("type")
    return kind.text if kind is not None else None


def _type(entries: Entries, reading: Reading) -> None:
    """Find the type: `type`, `tool` as a word or a map, a list of tools, or `kind`."""
    tool = entries.pop("tool", None)
    if tool is not None and type_of(entries) == "mcp" and isinstance(tool.value, str):
        entries["tool"] = tool
    elif tool is not None and tool.mapping is not None:
        _tool_map(dict(tool.mapping), entries, reading)
    elif tool is not None and tool.items is not None:
        entries["type"] = tool.become("sequence")
        entries["tasks"] = tool
    elif tool is not None:
        former = entries.setdefault("type", tool)
        if former.value != tool.value:
            reading.say(
                shape.KEYS_TOGETHER, tool, at_key=True, where="a step", first="type", second="tool"
            )
    elif "kind" in entries:
        entries.setdefault("type", entries.pop("kind"))
    if type_of(entries) in ROUTERS:
        entries.pop("type")


def _tool_map(tool: Entries, entries: Entries, reading: Reading) -> None:
    """Lay the keys of `tool: {kind: …}` beside those of the step; maps are laid together."""
    reading.rename(tool, "type", "kind", hint=False)
    name = tool.pop("name", None)
    _one_input(tool, entries, str(tool["type"].value) if "type" in tool else "")
    for key, child in tool.items():
        outer = entries.get(key)
        if outer is None:
            entries[key] = child
        elif outer.mapping is not None and child.mapping is not None:
            entries[key] = _laid_together(outer, child)
        elif plain(outer) != plain(child):
            said = "tool.kind" if key == "type" else f"tool.{key}"
            reading.say(dialect.SEVERAL_INPUTS, child, at_key=True, winner=key, loser=said)
    if name is not None and type_of(entries) == "workbook":
        entries.setdefault("task", name)
    elif name is not None:
        entries.setdefault("name", name)


def _one_input(tool: Entries, entries: Entries, kind: str) -> None:
    """Bring the inputs of a step and of its tool under one name, so that they meet."""
    own = OWN_INPUTS.get(kind, frozenset())
    for one in (tool, entries):
        given = next((key for key in INPUTS if key in one and key not in own), None)
        if given is not None and given != "data":
            one["data"] = one.pop(given)


def _laid_together(outer: Node, inner: Node) -> Node:
    """Return two maps as one; the inner one wins, and maps inside them are laid together too."""
    made = dict(outer.mapping or {})
    for key, child in (inner.mapping or {}).items():
        both = key in made and made[key].mapping is not None and child.mapping is not None
        made[key] = _laid_together(made[key], child) if both else child
    return inner.become(made)


def _spec(entries: Entries, reading: Reading) -> None:
    """Read the newest form's `spec`: a timeout and policies."""
    spec = entries.pop("spec", None)
    if spec is None:
        return
    if spec.mapping is None:
        reading.wrong_kind(spec, "'spec'", "a map of keys", "write 'spec: {timeout: …}'")
        return
    inner = dict(spec.mapping)
    policy = inner.pop("policy", None)
    if "timeout" in inner:
        entries.setdefault("timeout", inner.pop("timeout"))
    if policy is not None:
        read_policies(policy, entries, reading)
    reading.drop(inner, *list(inner), known=("policy", "timeout"))


def _input(entries: Entries, reading: Reading) -> None:
    """Keep the strongest of the names of the input; the others are settings of some types."""
    kind = type_of(entries) or ""
    own = OWN_INPUTS.get(kind, frozenset())
    if kind in ("workbook", "") and isinstance(_task_type(entries), str):
        own = OWN_INPUTS.get(str(_task_type(entries)), frozenset())
    for old in INPUTS[1:]:
        if old not in own or old == "payload":
            reading.rename(entries, "data", old, hint=False)
    data = entries.get("data")
    if data is not None and is_template(data.value) and not is_lone(str(data.value)):
        reading.wrong_kind(
            data, "'data'", "a map, or a lone template that gives one", "write 'NAME: …' below it"
        )
        entries.pop("data")


def _task_type(entries: Entries) -> object:
    task = entries.get("task")
    kind = task.get("type") if task is not None else None
    return kind.value if kind is not None else None


def _task(entries: Entries, reading: Reading) -> None:
    """Read `task`: the name of an action, an action in place, or one of the workbook with input."""
    if type_of(entries) == "sequence":
        _sequence(entries, reading)
        return
    if type_of(entries) == "workbook" and "task" not in entries and "name" in entries:
        entries["task"] = entries.pop("name")
    task = entries.pop("task", None)
    if task is None:
        return
    if task.items is not None:
        entries["task"] = _as_sequence(task, reading)
    elif task.mapping is None:
        entries["calls"] = task
    elif not {"type", "tool", "kind", "task"} & set(task.mapping) and "name" in task.mapping:
        inner = spread(dict(task.mapping), "spec")
        entries["calls"] = inner.pop("name")
        _one_input(inner, entries, "")
        if "data" in inner and "data" in entries:
            entries["data"] = _laid_together(inner.pop("data"), entries["data"])
        for key, child in inner.items():
            entries.setdefault(key, child)
    else:
        entries["task"] = read_action(task, reading, "'task'")


def _sequence(entries: Entries, reading: Reading) -> None:
    node = entries.get("tasks") or entries.get("task")
    entries.pop("task", None)
    if node is not None:
        entries["tasks"] = read_tasks(node, reading)


def _as_sequence(node: Node, reading: Reading) -> Node:
    kind = node.become("sequence")
    return node.become({"type": kind, "tasks": read_tasks(node, reading)})


def read_tasks(node: Node, reading: Reading) -> Node:
    """Read the tasks of a sequence; those without a name get one."""
    tasks = []
    items = reading.listed(node, "'tasks'", "name")
    if node.items is None and node.value is not None:
        items = [node.become({"name": node.become("?0"), "type": node.become("noop")})]
    labels = [item.get("name") for item in items]
    taken = {label.text for label in labels if label is not None}
    for index, item in enumerate(items):
        task = read_action(_labelled(item), reading, "a task")
        if task.mapping is not None and "name" not in task.mapping:
            number = next(n for n in count(index) if f"task_{n}" not in taken)
            taken.add(f"task_{number}")
            task.mapping["name"] = item.become(f"task_{number}")
        _no_ways(task, reading)
        tasks.append(task)
    return node.become(list(tasks))


def _no_ways(task: Node, reading: Reading) -> None:
    """A task of a sequence leads to the next one; it cannot lead elsewhere when it fails."""
    on_error = task.get("on_error")
    edges = on_error.get("edges") if on_error is not None else None
    if on_error is not None and edges is not None and edges.items:
        reading.say(
            dialect.NOT_SUPPORTED,
            on_error,
            at_key=True,
            construct="'on_error' with a way on, on a task of a sequence",
            cure="write 'on_error: continue' here, or the way on the step itself",
        )


def _labelled(item: Node) -> Node:
    """Read the label-as-key form, `- fetch: {kind: http}`, as a named task."""
    if item.mapping is None or len(item.mapping) != 1:
        return item
    ((label, body),) = item.mapping.items()
    if body.mapping is None or not {"kind", "type", "tool"} & set(body.mapping):
        return item
    name = body.key.become(label) if body.key is not None else body.become(label)
    return body.become({"name": name, **body.mapping})


def _set(node: Node) -> Node:
    """Strip the scope from the names of `set`: all of them are kept under `ctx`."""
    if node.mapping is None:
        return node
    names = {}
    for key, child in node.mapping.items():
        bare = key.split(".", 1)[1] if key.split(".", 1)[0] in ("ctx", "step", "iter") else key
        names[bare] = child
    return node.become(dict(names))


def leave_out(entries: Entries, reading: Reading) -> None:
    """Drop keys of other dialects that mean nothing here."""
    reading.drop(entries, *[key for key in _MEANINGLESS if key in entries])


__all__ = [
    "ACTION_KEYS",
    "CARE_KEYS",
    "INPUTS",
    "OWN_INPUTS",
    "ROUTERS",
    "leave_out",
    "read_action",
    "read_body",
    "read_tasks",
    "type_of",
]
