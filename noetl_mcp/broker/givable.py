"""Bounds of what an execution is given with its start, for the faces to refuse early. Pure."""

from noetl_mcp.compiler.fitting import MOST_DEPTH

MOST_KEY = 500


def wrong_key(key: str) -> str | None:
    """Return what is wrong with the key of an execution; None when it will do."""
    if not key.strip():
        return "must not be empty"
    if len(key) > MOST_KEY:
        return f"may have {MOST_KEY} characters, and this one has {len(key):,}"
    return None


def wrong_set(text: str) -> str | None:
    """Return what is wrong with a value to lay over a payload, as far as its name goes."""
    name = text.partition("=")[0]
    if name.count(".") > MOST_DEPTH:
        return f"leads {name.count('.'):,} levels deep, and {MOST_DEPTH} are the most"
    return None


__all__ = ["MOST_KEY", "wrong_key", "wrong_set"]
