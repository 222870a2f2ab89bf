"""Read keys that other servers spell or nest otherwise, where they mean what ours mean."""

from noetl_mcp.playbook.dialects.reading import Entries, Reading

_WRAPPERS = frozenset(("query", "body"))


def read_foreign_keys(kind: str, entries: Entries, reading: Reading) -> None:
    """Bring keys of a task type into the form that its settings have here, in place."""
    reading.rename(entries, "timeout", "timeout_seconds", hint=False)
    for key in ("set_ctx", "set_iter", "vars"):
        if key in entries:
            reading.rename(entries, "set", key)
    if kind == "http":
        _http(entries)
    script = entries.get("script")
    uri = script.get("uri") if script is not None else None
    if kind == "python" and uri is not None:
        entries["script"] = uri
    pool = entries.get("pool")
    if kind in ("postgres", "duckdb") and pool is not None and pool.mapping is not None:
        reading.drop(entries, "pool")


def _http(entries: Entries) -> None:
    """A map as the body is sent as JSON; `data: {query, body}` says which part goes where."""
    body = entries.get("body")
    if body is not None and (body.mapping is not None or body.items is not None):
        entries.setdefault("json", body)
        if entries["json"] is body:
            entries.pop("body")
    data = entries.get("data")
    parts = data.mapping if data is not None else None
    if not parts or not set(parts) <= _WRAPPERS:
        return
    entries.pop("data")
    if "query" in parts:
        entries.setdefault("params", parts["query"])
    if "body" in parts:
        entries.setdefault("json", parts["body"])
