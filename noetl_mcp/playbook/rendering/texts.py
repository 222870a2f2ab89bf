"""The methods of texts, and what work they are. Refuses results that are too large, unmade."""

from collections.abc import Iterable
from typing import Any

from noetl_mcp.playbook.rendering.guards import (
    ITEM_LIMIT,
    WIDTH_LIMIT,
    Budget,
    fits,
    searching,
    within,
)

_PADS = frozenset({"center", "ljust", "rjust", "zfill"})
_SEARCHES = frozenset({"count", "find", "index", "partition", "replace", "split"})
_BACKWARDS = frozenset({"rfind", "rindex", "rpartition", "rsplit"})
_STRIPS = frozenset({"lstrip", "rstrip", "strip"})
_AT_AN_END = frozenset({"endswith", "removeprefix", "removesuffix", "startswith"})
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def called_on(
    text: str, name: str, given: tuple[Any, ...], named: dict[str, Any], budget: Budget
) -> Any:
    """Call a method of a text."""
    if name == "join" and given:
        given = (_joinable(text, given[0], budget), *given[1:])
    budget.spend(1 + _work(text, name, given or tuple(named.values())[:1]))
    _refuse_long(text, name, given)
    if name in ("split", "rsplit"):
        return _split(text, name, given, named, budget)
    done = getattr(text, name)(*given, **named)
    if isinstance(done, str):
        fits(len(done))
        budget.spend(len(done) >> 10)
    elif isinstance(done, list):
        budget.spend(len(done) >> 3)
    return done


def _work(text: str, name: str, given: tuple[Any, ...]) -> int:
    part = given[0] if given else None
    if name in _SEARCHES:
        return searching(text, part)
    if name in _BACKWARDS:
        return searching(text, part, backwards=True)
    if name in _STRIPS:
        return stripping(text, part)
    if name in _AT_AN_END:
        parts = part if isinstance(part, tuple) else (part,)
        return sum(1 + (len(one) >> 10) for one in parts if isinstance(one, str))
    return 0 if name == "join" else len(text) >> 7


def stripping(text: str, signs: object) -> int:
    """Count the steps that it may take to take some signs off the ends of a text."""
    size = len(text)
    return (size >> 7) + (size * len(signs) >> 9 if isinstance(signs, str) else 0)


def _joinable(text: str, values: Any, budget: Budget) -> list[Any]:
    """Return what is joined as a list, if the text of it is not too long."""
    if not isinstance(values, Iterable):
        raise TypeError("'join' of a text takes a list of texts")
    length = 0
    parts: list[Any] = []
    for part in values:
        if not isinstance(part, str):
            raise TypeError("'join' of a text takes a list of texts; the filter 'join' takes any")
        length += len(part) + (len(text) if parts else 0)
        fits(length)
        parts.append(part)
    budget.spend((len(parts) >> 2) + (length >> 10))
    return parts


def _refuse_long(text: str, name: str, given: tuple[Any, ...]) -> None:
    if name in _PADS and given:
        within(int(given[0]), WIDTH_LIMIT, "the padding is too wide")
    if name == "replace" and len(given) > 1:
        fits(replaced_length(text, given[0], given[1]))
    if name == "splitlines":
        within(breaks_in(text), ITEM_LIMIT, "the list gets too long")


def _split(
    text: str, name: str, given: tuple[Any, ...], named: dict[str, Any], budget: Budget
) -> list[str]:
    """Split a text into no more parts than a list may have."""
    most = given[1] if len(given) > 1 else named.get("maxsplit", -1)
    if isinstance(most, int) and not 0 <= most <= ITEM_LIMIT:
        given = (given[0] if given else named.get("sep"), ITEM_LIMIT)
        named = {key: value for key, value in named.items() if key not in ("sep", "maxsplit")}
    done: list[str] = getattr(text, name)(*given, **named)
    within(len(done), ITEM_LIMIT, "the list gets too long")
    budget.spend(len(done) >> 3)
    return done


def breaks_in(text: str) -> int:
    """Count what `splitlines` takes for the end of a line."""
    return sum(map(text.count, _BREAKS))


def replaced_length(text: str, old: str, new: str) -> int:
    """Say how long a text would get by a replacement."""
    return len(text) + text.count(old) * max(0, len(new) - len(old))


__all__ = ["breaks_in", "called_on", "replaced_length", "stripping"]
