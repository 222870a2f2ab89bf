"""Turn the tree that reading leaves, one form for all dialects, into the v2 form people write.

The inverse of `dialects`: settings stand beside the other keys again, edges are short, and keys
come in one fixed order. Gives nodes that stand where the ones they come from stand; judges nothing.
"""

from collections.abc import Iterable

from noetl_mcp.playbook import key_order
from noetl_mcp.playbook.care import Retry, Save
from noetl_mcp.playbook.dialects.actions import ACTION_KEYS, INPUTS, OWN_INPUTS
from noetl_mcp.playbook.dialects.loops import ITERATOR_KEYS
from noetl_mcp.playbook.dialects.steps import STEP_KEYS
from noetl_mcp.playbook.known_keys import keys_of
from noetl_mcp.playbook.node import At, Node, Scalar

Entries = dict[str, Node]

_SAVE_KEYS = frozenset((*keys_of(Save), "tool", "type", "spec", "args", "input", "payload"))
_SCOPES = ("ctx.", "step.", "iter.")
# fmt: off
_READ_OTHERWISE = frozenset((
    "kind", "tool", "spec", "sink", "desc", "loop", "case", "name", "admit", "pass", "output",
    "bind", "meta", "labels",
))
# fmt: on


def authored(root: Node) -> Node:
    """Return a whole playbook as it is written in v2."""
    entries = dict(root.mapping or {})
    version = entries.get("apiVersion")
    latest = "noetl.io/v2"
    entries["apiVersion"] = version.become(latest) if version is not None else _made(latest)
    if "metadata" in entries:
        entries["metadata"] = _ordered(entries["metadata"], key_order.METADATA)
    for key, write in (("workbook", _action), ("workflow", _step), ("finally", _step)):
        if key in entries:
            items = entries[key].items or []
            entries[key] = _block(entries[key], [write(item) for item in items])
    if "mcp" in entries:
        entries["mcp"] = _mcp(entries["mcp"])
    return _block(root, _sorted(entries, key_order.BOOK))


def _made(value: "Scalar | list[Node] | dict[str, Node]") -> Node:
    """Return a value that stands nowhere in the text."""
    return Node(value, At(), At())


def _block(node: Node, value: "list[Node] | dict[str, Node]") -> Node:
    return Node(value, node.start, node.end, None, node.key)


def _in_flow(node: Node, value: "list[Node] | dict[str, Node]") -> Node:
    return Node(value, node.start, node.end, "{", node.key)


def _short(node: Node) -> Node:
    """Put a list of one item into one line."""
    return _in_flow(node, node.items) if node.items and len(node.items) == 1 else node


def _sorted(entries: Entries, order: Iterable[str]) -> Entries:
    """Put the keys of an order first, in that order."""
    first = {key: entries[key] for key in order if key in entries}
    return {**first, **entries}


def _ordered(node: Node, order: Iterable[str]) -> Node:
    return _block(node, _sorted(node.mapping or {}, order))


def _step(node: Node) -> Node:
    entries = dict(node.mapping or {})
    entries.pop("name", None)
    iterator = entries.pop("iterator", None)
    if iterator is not None and _type_of(entries) == "iterator":
        entries.update(iterator.mapping or {})
    return _block(node, _body(entries, names_type=True))


def _action(node: Node) -> Node:
    return _block(node, _body(dict(node.mapping or {}), names_type=True))


def _body(entries: Entries, *, names_type: bool) -> Entries:
    """Write what actions and steps have in common."""
    settings = entries.pop("settings", None)
    flat = _flat_settings(settings, entries)
    if settings is not None and flat is None:
        entries["settings"] = settings
    action = entries.pop("calls", None)
    if action is not None:
        entries["task"] = action
        if names_type:
            entries.setdefault("type", _made("workbook"))
    elif "task" in entries:
        entries["task"] = _nested(entries["task"], names_type)
        if names_type:
            entries.setdefault("type", _made("workbook"))
    if "tasks" in entries:
        tasks = entries["tasks"]
        entries["tasks"] = _block(tasks, [_nested(one, names_type) for one in tasks.items or []])
    if "check" in entries:
        entries["check"] = _nested(entries["check"], False)
    _care(entries)
    _ways_on(entries)
    head = {key: entries.pop(key) for key in key_order.STEP_HEAD if key in entries}
    return {**head, **(flat or {}), **_sorted(entries, key_order.STEP_REST)}


def _nested(node: Node, names_type: bool) -> Node:
    return _block(node, _body(dict(node.mapping or {}), names_type=names_type))


def _type_of(entries: Entries) -> str | None:
    kind = entries.get("type")
    return kind.text if kind is not None else None


def _flat_settings(settings: Node | None, entries: Entries) -> Entries | None:
    """Return the settings when they can stand beside the other keys; None when they cannot.

    They cannot when the reader gives one of their keys another meaning there; such settings were
    written below `settings` in the first place.
    """
    if settings is None or settings.mapping is None:
        return None
    kind = _type_of(entries)
    reserved = STEP_KEYS | ACTION_KEYS | _READ_OTHERWISE | frozenset(INPUTS)
    reserved -= OWN_INPUTS.get(_type_of_body(entries), frozenset()) - {"payload"}
    tool = settings.get("tool")
    if kind == "mcp" and tool is not None and tool.text is not None:
        reserved -= {"tool"}
    if kind == "iterator":
        reserved |= frozenset((*ITERATOR_KEYS, "run"))
    if reserved & set(settings.mapping):
        return None
    return _sorted(settings.mapping, ("tool",) if kind == "mcp" else ())


def _type_of_body(entries: Entries) -> str:
    kind, task = _type_of(entries), entries.get("task")
    if kind in (None, "workbook") and task is not None:
        inner = task.get("type")
        return inner.text or "" if inner is not None else ""
    return kind or ""


def _care(entries: Entries) -> None:
    for key in ("retry", "cache"):
        node = entries.get(key)
        if node is not None and node.mapping == {}:
            entries[key] = node.become(True)
        elif node is not None and node.mapping is not None:
            entries[key] = node.become(_sorted(node.mapping, keys_of(Retry)))
    if "save" in entries:
        _put(entries, "save", _saves(entries["save"]))
    if "limits" in entries:
        _put(entries, "limits", _limits(entries["limits"]))
    if "set" in entries:
        entries["set"] = _scoped(entries["set"], always=False)


def _put(entries: Entries, key: str, node: Node | None) -> None:
    if node is None:
        entries.pop(key)
    else:
        entries[key] = node


def _saves(node: Node) -> Node | None:
    """Return one save as a map, several as a list, none as nothing."""
    items = [_save(item) for item in node.items or []]
    if len(items) == 1:
        return _alone(items[0], node)
    return _block(node, list(items)) if items else None


def _alone(item: Node, holder: Node) -> Node:
    """Put the only item of a list where the list stands."""
    return Node(item.value, item.start, item.end, item.style, holder.key)


def _save(node: Node) -> Node:
    entries = dict(node.mapping or {})
    settings = entries.pop("settings", None)
    flat = dict((settings.mapping or {}) if settings is not None else {})
    if settings is not None and _SAVE_KEYS & set(flat):
        entries["settings"], flat = settings, {}
    if "key" in entries:
        entries["key"] = _short(entries["key"])
    head = {key: entries.pop(key) for key in key_order.SAVE_HEAD if key in entries}
    return node.become({**head, **flat, **_sorted(entries, key_order.SAVE_REST)})


def _limits(node: Node) -> Node | None:
    items = [
        item.become(item.mapping["name"].value) if set(item.mapping or ()) == {"name"} else item
        for item in node.items or []
        if item.mapping is not None
    ]
    if len(items) == 1:
        return _alone(items[0], node)
    return node.become(list(items)) if items else None


def _scoped(node: Node, *, always: bool) -> Node:
    """Write `ctx.` before names to set where the reader needs it to take them for what they are."""
    names = {
        f"ctx.{key}" if always or key.startswith(_SCOPES) else key: child
        for key, child in (node.mapping or {}).items()
    }
    return node.become(dict(names))


def _ways_on(entries: Entries) -> None:
    """Write `next` with its `route`, and `on_error`."""
    on_error, following = entries.get("on_error"), entries.get("next")
    if on_error is not None:
        _put(entries, "on_error", _on_error(on_error))
    if following is None:
        return
    ways, route = _edges(following), entries.get("route")
    if route is not None and len(ways.items or []) > 1:
        entries.pop("route")
        if route.value != "seed":
            spec = Node({"mode": route}, following.start, following.end, "{")
            arcs = Node(ways.value, At(), At(), None)
            ways = _block(following, {"spec": spec, "arcs": arcs})
    elif route is not None and route.value == "seed":
        entries.pop("route")
    entries["next"] = ways


def _on_error(node: Node) -> Node | None:
    goes_on, edges = node.get("goes_on"), node.get("edges")
    ways = _edges(edges) if edges is not None else None
    if goes_on is not None and goes_on.value is True:
        return node if ways is not None and ways.items else node.become("continue")
    if ways is None or not ways.items:
        return None
    return ways.under(node.key)


def _edges(node: Node) -> Node:
    """Write edges; those that only name a step become names, in one line when all are."""
    items = [_edge(item) for item in node.items or []]
    if all(item.mapping is None for item in items):
        return _in_flow(node, list(items))
    return node.become(list(items))


def _edge(node: Node) -> Node:
    entries = {key: child for key, child in (node.mapping or {}).items() if child.value is not None}
    if set(entries) == {"step"}:
        step = entries["step"]
        return Node(step.value, node.start, node.end, step.style)
    if "set" in entries:
        entries["set"] = _scoped(entries["set"], always=True)
    return node.become(_sorted(entries, key_order.EDGE))


def _mcp(node: Node) -> Node:
    entries = dict(node.mapping or {})
    for section, order in key_order.MCP.items():
        if section in entries:
            items = [_mcp_item(item, section, order) for item in entries[section].items or []]
            entries[section] = _block(entries[section], list(items))
    return _block(node, _sorted(entries, key_order.MCP))


def _mcp_item(node: Node, section: str, order: Iterable[str]) -> Node:
    entries = dict(node.mapping or {})
    if section == "turns":
        _care(entries)
        for key in ("tools_allowed", "needs"):
            if key in entries:
                entries[key] = _short(entries[key])
        user = entries.get("user")
        if user is not None:
            items = [_message(item) for item in user.items or []]
            entries["user"] = _block(user, list(items))
    return _block(node, _sorted(entries, order))


def _message(node: Node) -> Node:
    entries = node.mapping or {}
    text = entries.get("text")
    if text is None or set(entries) != {"text"}:
        return node
    return Node(text.value, node.start, node.end, text.style)
