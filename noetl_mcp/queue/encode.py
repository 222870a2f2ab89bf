"""The one encoder of results: JSON text that every reader can read. Cuts and converts nothing.

Refuses what Postgres, DuckDB or a browser could not read back: NaN, NUL, lone surrogates, whole
numbers beyond 64 bits, and depth without end.
"""

import hashlib
import math
from typing import Any

import orjson

LARGE = 65_536
"""Longer texts are stored once, by digest, and named in their place."""


class NotJson(Exception):
    """A value cannot be kept; the text says which part and why."""


def encode(value: Any) -> str:
    """Return the JSON text of a value."""
    try:
        raw = orjson.dumps(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise NotJson(f"{_where(value)} {problem}") from None
    if b"null" in raw and (path := _not_a_number(value, "$", 0)):
        raise NotJson(f"{path} is not a finite number")
    if b"\\u0000" in raw and (path := _nul(value, "$")):
        raise NotJson(f"{path} holds a NUL character")
    return raw.decode()


def decode(text: str) -> Any:
    """Return the value of a JSON text."""
    return orjson.loads(text)


def digest(text: str) -> str:
    """Return the name under which a large text is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def _where(value: Any) -> str:
    """Return the place of the first part that has no JSON form."""
    pending: list[tuple[str, Any, int]] = [("$", value, 0)]
    while pending:
        path, one, depth = pending.pop()
        if isinstance(one, dict) and depth < 250:
            for key, child in one.items():
                if not isinstance(key, str):
                    return f"{path} has a key that is no text:"
                pending.append((f"{path}.{key}", child, depth + 1))
        elif isinstance(one, (list, tuple)) and depth < 250:
            pending += [(f"{path}[{n}]", child, depth + 1) for n, child in enumerate(one)]
        elif not isinstance(one, (str, int, float, bool, type(None))):
            return f"{path} is of type {type(one).__name__}:"
        elif isinstance(one, int) and not -(2**63) <= one < 2**64:
            return f"{path} is too large a whole number:"
    return "the value cannot be written as JSON:"


def _not_a_number(value: Any, path: str, depth: int) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else path
    if isinstance(value, dict):
        for key, child in value.items():
            if found := _not_a_number(child, f"{path}.{key}", depth + 1):
                return found
    elif isinstance(value, (list, tuple)):
        for number, child in enumerate(value):
            if found := _not_a_number(child, f"{path}[{number}]", depth + 1):
                return found
    return None


def _nul(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if "\0" in value else None
    if isinstance(value, dict):
        for key, child in value.items():
            if "\0" in key or (found := _nul(child, f"{path}.{key}")):
                return path if "\0" in key else found
    elif isinstance(value, (list, tuple)):
        for number, child in enumerate(value):
            if found := _nul(child, f"{path}[{number}]"):
                return found
    return None


__all__ = ["LARGE", "NotJson", "decode", "digest", "encode"]
