"""A write as a dry run tells it: what would be sent, what the gates say, what is not known of it.

Sends nothing and shows no secret.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from noetl_mcp.broker.program import Node
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.tasks.gates import Finding, Planned
from noetl_mcp.worker.masks import Mask
from noetl_mcp.worker.rehearsed_unknown import Unknown
from noetl_mcp.worker.rendered import Rendered

_BODIES = ("json", "form", "body")
_CONNECTING = frozenset({"dsn", "password"})
_INPUT_IS_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class Deed:
    """What a write would do: the words of its first line, what is sent along, and all of it."""

    head: str
    body: str = ""
    request: Mapping[str, Any] | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One write that a dry run came to."""

    planned: Planned
    deed: Deed
    item: str | None = None
    playbook: str | None = None
    """The path of the playbook it stands in, where that is not the one that is tried."""
    perhaps: bool = False
    """Whether it is open if it is reached at all."""
    unknown: tuple[str, ...] = ()
    """What of it is not known yet."""

    @property
    def step(self) -> str:
        """The name of its step."""
        return self.planned.step

    @property
    def task(self) -> str:
        """The type of its step."""
        return self.planned.task

    @property
    def verdict(self) -> Literal["allowed", "refused", "unknown"]:
        """What the gates say; nothing yet where a part of it is not known."""
        if self.planned.verdict == "refused":
            return "refused"
        return "unknown" if self.unknown else "allowed"

    @property
    def why(self) -> str:
        """Why it is refused."""
        return self.planned.why

    @property
    def bounds(self) -> tuple[Finding, ...]:
        """Its bounds, each with what can be said of it."""
        return self.planned.bounds

    def as_json(self) -> dict[str, Json]:
        """Return the form that `run --dry-run --json` prints."""
        told = self.planned.as_json()
        return {
            **told,
            "method": told["method"] or self.deed.method,
            "verdict": self.verdict,
            "item": self.item,
            "playbook": self.playbook,
            "perhaps": self.perhaps,
            "unknown": list(self.unknown),
            "request": None if self.deed.request is None else dict(self.deed.request),
        }


def deed_of(node: Node, rendered: Rendered, mask: Mask) -> Deed:
    """Say what a write would do; what is not known is shown as its template."""
    settings = {
        key: MASK if key in _CONNECTING and value is not None else _covered(value, mask)
        for key, value in rendered.settings.items()
    }
    given = _covered(rendered.input, mask)
    if rendered.saves:
        return _save(node.type.removeprefix("save."), settings, rendered, mask)
    if node.type == "http":
        return _http(settings, given)
    if node.type in ("postgres", "duckdb"):
        return _sql(settings, rendered, mask)
    if node.type == "file":
        return _file(settings, given)
    return _other(settings, given)


def _covered(value: Any, mask: Mask) -> Any:
    """Return a value as anybody may see it; what is not known is what stands for it."""
    if isinstance(value, Unknown):
        return mask.text(value.shown)
    if isinstance(value, Mapping):
        return {key: _covered(one, mask) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_covered(one, mask) for one in value]
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, str):
        return mask.text(value)
    return MASK if str(value) in mask.secrets else value


def _http(settings: Mapping[str, Any], given: Any, verb: str = "GET") -> Deed:
    method = _text(settings.get("method") or verb).upper()
    url = _text(settings.get("url"))
    request = {"method": method, "url": settings.get("url")}
    sent = next((key for key in _BODIES if settings.get(key) is not None), None)
    body = settings[sent] if sent is not None else None
    query = settings.get("params")
    if sent is None and settings.get("files") is None and given not in ({}, None):
        if method in _INPUT_IS_BODY:
            body = given
        elif query is None:
            query = given
    rest = {"params": query, "headers": settings.get("headers"), "files": settings.get("files")}
    request |= {key: value for key, value in rest.items() if value}
    if body is not None:
        request["body"] = body
    query_told = f" with query {_text(query)}" if query else ""
    told = _text(body) if body is not None else ""
    if settings.get("files"):
        told = f"files {', '.join(settings['files'])} {told}".rstrip()
    return Deed(f"{method} {url}{query_told}", told, request, method)


def _sql(settings: Mapping[str, Any], rendered: Rendered, mask: Mask) -> Deed:
    statements = [
        {"sql": mask.text(one.text), "values": _covered(one.values, mask)} for one in rendered.sql
    ]
    if not statements:
        statements = [{"sql": text, "values": []} for text in _decoded(settings.get("sql_b64"))]
    request: dict[str, Any] = {"statements": statements}
    where = ("host", "port", "database", "params", "transaction")
    request |= {key: settings[key] for key in where if settings.get(key) is not None}
    told = [
        " ".join(str(one["sql"]).split())
        + (f" with {_text(one['values'])}" if one["values"] else "")
        for one in statements
    ]
    params = settings.get("params")
    return Deed("; ".join(told), f"with {_text(params)}" if params else "", request)


def _decoded(written: Any) -> list[str]:
    texts = written if isinstance(written, list) else [written]
    try:
        return [base64.b64decode(one).decode() for one in texts if isinstance(one, str)]
    except (binascii.Error, ValueError):
        return [str(one) for one in texts]


def _file(settings: Mapping[str, Any], given: Any) -> Deed:
    action = _text(settings.get("action", "read"))
    head = f"{action} {_text(settings.get('path'))}"
    if settings.get("to") is not None:
        head += f" to {_text(settings['to'])}"
    request = {key: value for key, value in settings.items() if value is not None}
    if action not in ("write", "append"):
        return Deed(head, "", request)
    content = settings.get("content")
    content = given if content is None else content
    return Deed(head, _text(content), {**request, "content": content})


def _save(kind: str, settings: Mapping[str, Any], rendered: Rendered, mask: Mask) -> Deed:
    """Say where data would be kept, and how much of it there is."""
    kept = rendered.data if isinstance(rendered.data, Mapping) else {}
    given, mode, key = kept.get("data"), kept.get("mode") or "append", kept.get("key")
    data = _covered(given, mask)
    if kind == "http":
        return _http(settings, data, "POST")
    rows: int | None = len(given) if isinstance(given, list) else 1
    if isinstance(given, Unknown):
        rows = None
    request = {"target": kind, **settings, "mode": mode, "key": key, "rows": rows, "data": data}
    request = {name: value for name, value in request.items() if value is not None}
    if rendered.sql:
        told = _sql(settings, rendered, mask)
        return Deed(told.head, told.body, {**request, **(told.request or {})})
    names = key if isinstance(key, list) else [key]
    how = f"{mode} by {', '.join(map(str, names))}" if key else mode
    counted = "rows not known yet" if rows is None else f"{rows} row{'s' * (rows != 1)}"
    what = "table" if settings.get("table") else "file"
    place = _text(settings.get("table") or settings.get("path"))
    body = "" if rows is None else _text(data)
    return Deed(f"{counted} into {what} {place} ({how})", body, request)


def _other(settings: Mapping[str, Any], given: Any) -> Deed:
    """Say of any other type what it is given."""
    called = next((key for key in ("method", "tool", "path") if settings.get(key)), None)
    rest = {
        key: value
        for key, value in settings.items()
        if key != called and value not in (None, {}, [])
    }
    if given not in (None, {}):
        rest["input"] = given
    head = _text(settings[called]) if called is not None else ""
    request = {**settings, "input": given} if given is not None else dict(settings)
    return Deed(head, _text(rest) if rest else "", request)


def _text(value: Any) -> str:
    """Return a value for people: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


__all__ = ["Deed", "Write", "deed_of"]
