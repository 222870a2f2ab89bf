"""Tell keys of a result that are nearly, but not quite, those it has. Part of the pass `names`."""

from noetl_mcp.compiler.draft import Node
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.template import Use
from noetl_mcp.rules import names

_ENVELOPE = ("status", "error", "meta", "data", "result")
_KEYS = {
    "iterator": ("items", "results", "count", "errors"),
    "turn": (
        "content",
        "output",
        "tool_calls",
        "messages",
        "usage",
        "finish_reason",
        "rounds",
    ),
    "postgres": ("rows", "row_count", "columns"),
    "duckdb": ("rows", "row_count", "columns"),
}
_LOOP = ("index", "current_index", "item", "count")


def say_result_key(used: Node, use: Use, at: Path, report: Report) -> None:
    """Report a key that a result of this kind does not have, when it is nearly one it has."""
    kind = "turn" if used.type == "turn.result" else used.type
    known = _KEYS.get(kind, ())
    if kind == "set" and "values" in used.settings:
        values = used.settings["values"].value
        known = tuple(values) if isinstance(values, dict) else ()
    if known:
        _say(f"'{used.name}'", (*known, *_ENVELOPE), use, at, report)


def say_loop_key(use: Use, at: Path, report: Report) -> None:
    """Report a key that `_loop` does not have."""
    if use.root == "_loop":
        _say("'_loop'", _LOOP, use, at, report)


def _say(where: str, known: tuple[str, ...], use: Use, at: Path, report: Report) -> None:
    key = use.path[1] if len(use.path) > 1 else None
    if not isinstance(key, str) or key in known or (use.called and len(use.path) == 2):
        return
    near = report.near(key, known)
    if near is not None:
        shown = ", ".join(known)
        report.say(
            names.UNKNOWN_RESULT_KEY,
            at,
            word=key,
            suggestion=near,
            where=where,
            key=key,
            known=shown,
        )
