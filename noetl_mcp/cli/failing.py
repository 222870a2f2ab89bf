"""Say of a failure what a person needs: where in the program, what the server said, what to do.

Reads nothing and decides nothing.
"""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.columns import shortened

_MOST_BODY = 200
_MOST_TRACED = 30
IN_VAIN = frozenset(
    {
        *("unconfirmed", "impossible-bounds", "missing-values", "no-such-task", "not-json"),
        *("template", "secret", "not-allowed", "no-main", "syntax-error", "indentation-error"),
        *("sql-refused", "script-refused", "no-such-step", "no-goal", "wrong-pattern"),
        *("wrong-format", "wrong-payload", "too-many-items", "collection"),
    }
)
"""Codes of what the plan or its values bring about: the same would fail again."""
_WRITTEN_WRONG = ("duckdb-binder", "duckdb-catalog", "duckdb-parser", "postgres-42", "no-column")
_OF_SERVERS = frozenset({"bad-auth", "bad-answer", "bad-json"})
TO_GIVE = frozenset({"not-given", "credential", "no-model", "shell-not-allowed"})
"""Codes of what the playbook needs and its surroundings lack."""
JUDGED = frozenset({"assert", "expectation-failed", "expectation-unverifiable"})
"""Codes of what came after an answer: a retry only judges that answer again."""


def is_in_vain(code: str) -> bool:
    """Whether the same would fail again."""
    return code in IN_VAIN or (code.startswith("bad-") and code not in _OF_SERVERS)


def details_of(error: Mapping[str, Any]) -> list[str]:
    """Return lines on where a program failed, or on what a server or a model answered."""
    details = error.get("details")
    if not isinstance(details, dict):
        return []
    traced = details.get("traceback")
    if isinstance(traced, str):
        lines = traced.splitlines()[:-1]  # the last one is the message itself
        return lines if len(lines) <= _MOST_TRACED else [*lines[: _MOST_TRACED - 1], "…"]
    content = details.get("content")
    if error.get("code") == "wrong-output" and isinstance(content, str):
        return [f"the model said: {shortened(content, _MOST_BODY)}"]
    body = details.get("body")
    if body in (None, ""):
        return []
    return [f"the server answered: {shortened(_text(body), _MOST_BODY)}"]


def first_item(error: Mapping[str, Any]) -> int | None:
    """Return the number of the first item that failed, of an iterator's error."""
    details = error.get("details")
    errors = details.get("errors") if isinstance(details, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    index = first.get("index") if isinstance(first, dict) else None
    return index if isinstance(index, int) else None


def next_of(number: int, error: Mapping[str, Any]) -> list[str]:
    """Return what to do about a failed execution."""
    code, step = str(error.get("code") or ""), error.get("step")
    if is_in_vain(code):
        return [
            "it would fail the same way again; correct the playbook, then: noetl-mcp run FILE",
            f"or give other values: {typed('rerun', number, '--wait')} --set NAME=VALUE",
        ]
    if code == "read-only":
        return [
            "an execution that was started read-only stays so, in a retry and a rerun, too;"
            " where writes are allowed, start it anew with: noetl-mcp run FILE"
        ]
    if code in TO_GIVE:
        return [f"when that is provided for, go on with: {typed('retry', number, '--wait')}"]
    if code in JUDGED and step:
        return [
            "the step was done; a retry only judges the same answer again; to do the step again: "
            f"{typed('retry', number, '--wait', '--from', step)}"
        ]
    if code == "not-recorded":
        return ["a play back gives what was recorded; record it anew with --record-to"]
    lines = [f"try again from there with: {typed('retry', number, '--wait')}"]
    if _may_be_the_playbook(error):
        lines.append("or correct the playbook, then: noetl-mcp run FILE")
    return lines


def _may_be_the_playbook(error: Mapping[str, Any]) -> bool:
    """Whether a program or SQL of the playbook broke; a retry takes them as they were."""
    details = error.get("details")
    if isinstance(details, dict) and details.get("traceback"):
        return True
    items = details.get("errors") if isinstance(details, dict) else None
    first = items[0] if isinstance(items, list) and items else None
    code = first.get("code") if isinstance(first, dict) else error.get("code")
    return str(code or "").endswith("-error") or str(code or "").startswith(_WRITTEN_WRONG)


def next_of_cancelled(number: int) -> list[str]:
    """Return what can be done with a cancelled execution."""
    return [
        f"it was cancelled; go on from there with: {typed('retry', number, '--wait')}",
        f"or start it anew with: {typed('rerun', number, '--wait')}",
    ]


def _text(body: Any) -> str:
    if isinstance(body, str):
        return body
    import orjson  # only here: every other use of the command does without it

    return orjson.dumps(body).decode()


__all__ = [
    "IN_VAIN",
    "JUDGED",
    "TO_GIVE",
    "details_of",
    "first_item",
    "is_in_vain",
    "next_of",
    "next_of_cancelled",
]
