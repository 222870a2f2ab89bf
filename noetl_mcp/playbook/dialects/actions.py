"""Read an action: its type, its settings, its input and its care, from any dialect."""

from noetl_mcp.playbook.dialects.care import read_care, settle_settings, spread
from noetl_mcp.playbook.dialects.edges import read_on_error
from noetl_mcp.playbook.dialects.policies import read_policies
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

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
ACTION_KEYS = frozenset(
    [
        "name",
        "description",
        "type",
        "settings",
        "action",
        "task",
        "tasks",
        "data",
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
        "on_error",
    ]
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
    reading.rename(entries, "save", "sink", hint=False)
    _type(node, entries, reading)
    _spec(entries, reading)
    _input(entries, reading)
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


def type_of(entries: Entries) -> str | None:
    """Return the task type as far as it is known already."""
    kind = entries.get("type")
    return kind.text if kind is not None else None


def _type(node: Node, entries: Entries, reading: Reading) -> None:
    """Find the type: `type`, `tool` as a word or a map, a list of tools, or `kind`."""
    tool = entries.pop("tool", None)
    if tool is not None and type_of(entries) == "mcp" and isinstance(tool.value, str):
        entries["tool"] = tool
        return
    if tool is not None and tool.mapping is not None:
        inner = dict(tool.mapping)
        reading.rename(inner, "type", "kind", hint=False)
        for key in (*INPUTS, "spec", "set"):
            if key in inner and key in entries and inner[key].mapping is not None:
                outer = entries.pop(key)
                inner[key] = inner[key].become(
                    {**(outer.mapping or {}), **(inner[key].mapping or {})}
                )
        name = inner.pop("name", None)
        entries.update({key: child for key, child in inner.items() if key not in entries})
        _workbook_name(entries, name)
    elif tool is not None and tool.items is not None:
        entries["type"] = tool.become("sequence")
        entries["tasks"] = tool
    elif tool is not None:
        entries.setdefault("type", tool)
    elif "kind" in entries:
        entries.setdefault("type", entries.pop("kind"))
    if type_of(entries) in ROUTERS:
        entries.pop("type")


def _workbook_name(entries: Entries, name: Node | None) -> None:
    if name is None:
        return
    if type_of(entries) == "workbook":
        entries.setdefault("task", name)
    else:
        entries.setdefault("name", name)


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
    reading.drop(inner, *list(inner))


def _input(entries: Entries, reading: Reading) -> None:
    """Keep the strongest of the names of the input; the others are settings of some types."""
    kind = type_of(entries) or ""
    own = OWN_INPUTS.get(kind, frozenset())
    if kind in ("workbook", "") and isinstance(_task_type(entries), str):
        own = OWN_INPUTS.get(str(_task_type(entries)), frozenset())
    for old in INPUTS[1:]:
        if old not in own or old == "payload":
            reading.rename(entries, "data", old, hint=False)


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
        entries["action"] = task
    elif not {"type", "tool", "kind", "task"} & set(task.mapping) and "name" in task.mapping:
        inner = spread(dict(task.mapping), "spec")
        entries["action"] = inner.pop("name")
        for key, child in inner.items():
            entries.setdefault(key, child)
        _input(entries, reading)
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
    for index, item in enumerate(items):
        task = read_action(_labelled(item), reading, "a task")
        if task.mapping is not None and "name" not in task.mapping:
            task.mapping["name"] = item.become(f"task_{index}")
        tasks.append(task)
    return node.become(list(tasks))


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
    "INPUTS",
    "OWN_INPUTS",
    "ROUTERS",
    "leave_out",
    "read_action",
    "read_body",
    "read_tasks",
    "type_of",
]
