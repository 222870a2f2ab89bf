"""Make the messages of a conversation: what is said first, and what each round adds. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from noetl_mcp.tasks.models.said import Message

MOST_CHARS = 100_000
"""A tool's answer that is longer is cut, visibly."""
_ROWS = frozenset(("postgres", "duckdb"))


def told(kind: str, result: Any) -> Any:
    """Return of a task's result what a model is told: the rows, the body, or all of it."""
    if not isinstance(result, dict):
        return result
    if kind in _ROWS and "rows" in result:
        return result["rows"]
    return result.get("data", result) if kind == "http" else result


def written(value: Any, most: int | None = None) -> str:
    """Return a value as a model reads it: a text as it is, else JSON; cut visibly."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}… (cut: {len(text) - most} of {len(text)} characters are missing)"


def headed(name: str, value: Any, most: int | None = None, role: str = "user") -> Message:
    """Return the message in which something is shown under its name."""
    return {"role": role, "content": f"# {name}\n\n{written(value, most)}"}


def prompt(value: Any, role: str = "user") -> list[Message]:
    """Return the messages of a rendered prompt: a text, or a list of messages."""
    if not isinstance(value, list):
        return [{"role": role, "content": written(value)}]
    return [
        {
            "role": str(one.get("role", role)),
            "content": written(one.get("content", one.get("text", ""))),
        }
        if isinstance(one, Mapping)
        else {"role": role, "content": written(one)}
        for one in value
    ]


def answers(calls: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return what tools gave, as messages."""
    return [
        {
            "role": "tool",
            "name": one["name"],
            "tool_call_id": one["id"],
            "content": written(
                {"error": one["error"]} if "error" in one else one.get("told", one.get("result")),
                MOST_CHARS,
            ),
        }
        for one in calls
    ]


__all__ = ["MOST_CHARS", "answers", "headed", "prompt", "told", "written"]
