"""Say whether a value is plain JSON, and where it is not. Converts nothing."""

import math

from noetl_mcp.cuts import beginning

MOST_INTEGER = 2**63
MOST_DEPTH = 200


def not_plain(value: object, path: str = "$", depth: int = 0) -> str | None:
    """Return which part of a value is no plain JSON, and why; None when all of it is."""
    if depth > MOST_DEPTH:
        return f"{path} lies deeper than {MOST_DEPTH} levels"
    kind = type(value)
    if value is None or kind is bool:
        return None
    if kind is str:
        return _text(str(value), path)
    if isinstance(value, int) and kind is int:
        fits = -MOST_INTEGER <= value < MOST_INTEGER
        return None if fits else f"{path} is a whole number of more than 64 bits"
    if isinstance(value, float) and kind is float:
        return None if math.isfinite(value) else f"{path} is {value}, which JSON has no number for"
    if isinstance(value, list) and kind is list:
        found = (not_plain(one, f"{path}[{n}]", depth + 1) for n, one in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, dict) and kind is dict:
        return next(filter(None, (_entry(k, one, path, depth) for k, one in value.items())), None)
    return f"{path} is of type {kind.__name__}"


def _entry(key: object, value: object, path: str, depth: int) -> str | None:
    if type(key) is not str:
        return f"{path} has the key {beginning(str(key), 60)}, which is no text"
    return _text(key, path) or not_plain(value, f"{path}.{beginning(key, 60)}", depth + 1)


def _text(text: str, path: str) -> str | None:
    if "\0" in text:
        return f"{path} holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{path} holds half a character"
    return None


__all__ = ["MOST_DEPTH", "MOST_INTEGER", "not_plain"]
