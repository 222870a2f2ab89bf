"""Read iterators: `type: iterator`, and the `loop` of the other dialects around an action."""

from noetl_mcp.playbook.dialects.actions import read_action
from noetl_mcp.playbook.dialects.conditions import read_conditions
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

ITERATOR_KEYS = (
    "collection",
    "element",
    "mode",
    "concurrency",
    "where",
    "order_by",
    "limit",
    "chunk",
    "enumerate",
    "tolerate",
)
_MODES = {
    "parallel": "async",
    "distributed": "async",
    "concurrent": "async",
    "serial": "sequential",
}
_FLOW = frozenset(
    (
        "step",
        "next",
        "join",
        "on_error",
        "priority",
        "result",
        "case",
        "when",
        "desc",
        "repeat",
        "turn",
    )
)
_STAYS = frozenset(("description", "set", "limits", "pool"))


def read_loop(node: Node, entries: Entries, reading: Reading) -> None:
    """Turn a step with `loop` around an action into an iterator over that action."""
    loop = entries.pop("loop", None)
    if loop is None:
        return
    if loop.mapping is None:
        reading.wrong_kind(loop, "'loop'", "a map of keys", "write 'loop: {in: …, iterator: …}'")
        return
    inner = dict(loop.mapping)
    spec = inner.pop("spec", None)
    if spec is not None:
        _read_spec(inner, dict(spec.mapping or {}), reading)
    if "cursor" in inner:
        reading.say(
            dialect.NOT_SUPPORTED,
            inner.pop("cursor"),
            at_key=True,
            construct="'loop.cursor'",
            cure="read the rows in a step of their own and iterate over its result",
        )
        inner.setdefault("collection", loop.become([]))
    reading.rename(inner, "collection", "in", "items", hint=False)
    reading.rename(inner, "element", "iterator", "item", hint=False)
    reading.drop(inner, "distribution", "run", "frame")
    task = {k: entries.pop(k) for k in list(entries) if _belongs_to_task(k)}
    entries["type"] = loop.become("iterator")
    if task:
        entries["task"] = node.become(task)
    for key in ITERATOR_KEYS:
        if key in inner:
            entries.setdefault(key, inner.pop(key))
    for key, child in inner.items():
        reading.say(dialect.DROPPED_KEY, child, at_key=True, key=f"loop.{key}")


def _belongs_to_task(key: str) -> bool:
    return key not in _FLOW and key not in _STAYS


def _read_spec(inner: Entries, spec: Entries, reading: Reading) -> None:
    if "mode" in spec:
        inner.setdefault("mode", spec.pop("mode"))
    most = spec.pop("max_in_flight", None)
    if most is not None:
        inner.setdefault("concurrency", most)
    policy = spec.pop("policy", None)
    if policy is not None:
        reading.drop(dict(policy.mapping or {}), "exec")
    reading.drop(spec, *list(spec))


def settle_iterator(node: Node, entries: Entries, reading: Reading) -> None:
    """Move the keys of an iterator below `iterator`."""
    kind = entries.get("type")
    if kind is None or kind.value != "iterator":
        return
    iterator: Entries = {k: entries.pop(k) for k in ITERATOR_KEYS if k in entries}
    settings = entries.get("settings")
    if settings is not None and settings.mapping is not None:
        rest = dict(settings.mapping)
        iterator |= {k: rest.pop(k) for k in ITERATOR_KEYS if k in rest}
        if "run" in rest and "task" not in entries:
            entries["task"] = read_action(rest.pop("run"), reading, "'run'")
        entries["settings"] = settings.become(rest)
    read_conditions(iterator, reading, "where")
    mode = iterator.get("mode")
    if mode is not None and mode.text in _MODES:
        iterator["mode"] = mode.become(_MODES[str(mode.value)])
    for key in ("calls", "task"):
        if key in entries:
            iterator[key] = entries.pop(key)
    collection = iterator.get("collection")
    if collection is not None and isinstance(collection.value, str) and "{" not in collection.value:
        iterator["collection"] = collection.become([collection])
    entries["iterator"] = node.become(iterator)
    if not (entries["settings"].mapping if "settings" in entries else True):
        entries.pop("settings")


def is_iterator(entries: Entries) -> bool:
    """Whether a step is written as an iterator."""
    kind = entries.get("type")
    return kind is not None and kind.value == "iterator"


__all__ = ["ITERATOR_KEYS", "is_iterator", "read_loop", "settle_iterator"]
