"""Read `retry`, `save`, `limits`, `cache` and `assert` in their short and older forms."""

from noetl_mcp.playbook.dialects.conditions import read_condition, read_conditions
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect, shape

_SAVE_KEYS = frozenset(
    ("name", "storage", "data", "when", "on", "mode", "key", "on_failure", "auth", "settings")
)
_TIMEOUTS = ("connect", "read", "total")
_BACKOFFS = {"none": 1.0, "fixed": 1.0, "constant": 1.0, "linear": 1.5, "exponential": 2.0}
_MODES = {"insert": "append", "update": "upsert", "replace": "overwrite", "merge": "upsert"}


def read_care(entries: Entries, reading: Reading) -> None:
    """Bring every care key of an action into its one shape."""
    expect = entries.get("expect")
    for key, child in ((expect.mapping or {}) if expect is not None else {}).items():
        if child.value is None:
            reading.say(shape.EMPTY_VALUE, child, at_key=True, key=key)
    if "retry" in entries:
        _retry(entries, reading)
    if "save" in entries:
        entries["save"] = read_saves(entries["save"], reading)
    if "limits" in entries:
        entries["limits"] = _limits(entries["limits"], reading)
    if "cache" in entries:
        _cache(entries)
    if "assert" in entries:
        _assertion(entries, reading)
    timeout = entries.get("timeout")
    if timeout is not None and timeout.mapping is not None:
        strange = {k: child for k, child in timeout.mapping.items() if k not in _TIMEOUTS}
        reading.drop(strange, *list(strange), known=_TIMEOUTS)
        longest = timeout.get("read") or timeout.get("total") or timeout.get("connect")
        if longest is not None:
            entries["timeout"] = longest


def _retry(entries: Entries, reading: Reading) -> None:
    node = entries["retry"]
    if node.value is False or node.value is None:
        entries.pop("retry")
    elif node.value is True:
        entries["retry"] = node.become({})
    elif node.mapping is not None:
        entries["retry"] = node.become(_retry_map(dict(node.mapping), reading))
    elif node.items is not None:
        first = node.items[0] if node.items else node
        reading.say(
            dialect.NOT_SUPPORTED,
            first,
            construct="a retry written as a list of when/then",
            cure="write 'retry: {max_attempts: …, retry_when: …, stop_when: …}'",
        )
        entries.pop("retry")
    else:
        entries["retry"] = node.become({"max_attempts": node})


def _retry_map(entries: Entries, reading: Reading) -> Entries:
    reading.rename(entries, "max_attempts", "attempts", "max", hint=False)
    reading.rename(entries, "initial_delay", "delay", "delay_seconds", hint=False)
    reading.rename(entries, "backoff_multiplier", "multiplier", "backoff_factor", hint=False)
    reading.rename(entries, "retry_when", "when", hint=False)
    read_conditions(entries, reading, "retry_when", "stop_when")
    backoff = entries.pop("backoff", None)
    if backoff is not None and "backoff_multiplier" not in entries:
        factor = _BACKOFFS.get(str(backoff.value))
        entries["backoff_multiplier"] = backoff if factor is None else backoff.become(factor)
    return entries


def _limits(node: Node, reading: Reading) -> Node:
    items = reading.fitting(node.items if node.items is not None else [node])
    return node.become([i if i.mapping is not None else i.become({"name": i}) for i in items])


def _cache(entries: Entries) -> None:
    node = entries["cache"]
    if node.value is False or node.value is None:
        entries.pop("cache")
    elif node.value is True:
        entries["cache"] = node.become({})


def _assertion(entries: Entries, reading: Reading) -> None:
    node = entries["assert"]
    if node.mapping is None:
        return
    that = node.get("that")
    if that is not None:
        checks = that.items if that.items is not None else [that]
        read = that.become([read_condition(check, reading) for check in checks])
        node = node.become({**node.mapping, "that": read})
    entries["assert"] = node.become(
        {
            key: child if child.items is not None else child.become([child])
            for key, child in (node.mapping or {}).items()
            if child.value is not None
        }
    )


def read_saves(node: Node, reading: Reading) -> Node:
    """Read one save or a list of them."""
    items = reading.fitting(node.items if node.items is not None else [node])
    return node.become([_save(item, reading) for item in items if item.value is not None])


def _save(node: Node, reading: Reading) -> Node:
    if isinstance(node.value, str):
        return node.become({"storage": _storage_name(node)})
    entries = reading.entries(node, "'save'")
    if entries is None:
        return node.become({})
    entries = spread(entries, "spec")
    reading.rename(entries, "storage", "tool", "type", hint=False)
    storage = entries.get("storage")
    if storage is not None and storage.mapping is not None:
        inner = dict(storage.mapping)
        reading.rename(inner, "storage", "type", "kind", "tool", hint=False)
        entries.pop("storage")
        entries = {**inner, **entries}
    for old in ("args", "input", "payload"):
        reading.rename(entries, "data", old, hint=False)
    read_conditions(entries, reading, "when")
    if "storage" in entries:
        entries["storage"] = _storage_name(entries["storage"])
    mode = entries.get("mode")
    if mode is not None and mode.text in _MODES:
        entries["mode"] = mode.become(_MODES[str(mode.value)])
    key = entries.get("key")
    if key is not None and isinstance(key.value, str):
        entries["key"] = key.become([key])
    return node.become(settle_settings(node, entries, _SAVE_KEYS))


def _storage_name(node: Node) -> Node:
    return node.become("event_log") if node.value in ("event", "events", "eventlog") else node


def spread(entries: Entries, key: str) -> Entries:
    """Lay the entries of a nested map beside the others; what stands outside wins."""
    inner = entries.pop(key, None)
    return {**(inner.mapping or {}), **entries} if inner is not None else entries


def settle_settings(node: Node, entries: Entries, known: frozenset[str]) -> Entries:
    """Move every key that is not `known` below `settings`."""
    rest = {key: child for key, child in entries.items() if key not in known}
    kept = {key: child for key, child in entries.items() if key in known}
    if rest:
        settings = kept.get("settings")
        kept["settings"] = node.become({**((settings.mapping or {}) if settings else {}), **rest})
    return kept
