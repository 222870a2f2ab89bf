"""What work a filter is, said before it begins, and what it refuses to make.

Calls no filter.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from noetl_mcp.playbook.rendering.guards import (
    HEAVY_LIMIT,
    ITEM_LIMIT,
    WIDTH_LIMIT,
    fits,
    searching,
    weight,
    within,
)
from noetl_mcp.playbook.rendering.texts import breaks_in, replaced_length, stripping

_AT_ONCE = frozenset({"attr", "count", "d", "default", "first", "last", "length", "random", "safe"})
_BY_ITEM = frozenset(
    {
        *("batch", "dictsort", "groupby", "items", "join", "list", "map", "max", "min", "reject"),
        *("rejectattr", "reverse", "select", "selectattr", "slice", "sort", "sum", "unique"),
    }
)
_SHIFTS: Mapping[str, int] = {  # how many characters a step is good for, as a power of two
    "float": 4,
    "fromjson": 5,
    "int": 4,
    "title": 3,
    "wordcount": 3,
    "striptags": 2,
    "urlize": 0,
    "wordwrap": 1,
}
_USUAL_SHIFT = 7
_LONGEST_PATH = 200
_RUNS = re.compile(r"\s+|\S+")


def effort_of(name: str, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    """Count the steps that a filter may take, beside those that it pays for on its way."""
    if name in _AT_ONCE:
        return 0
    if name in _BY_ITEM:
        return _by_item(name, value, given, named)
    if not isinstance(value, str):
        return weight(value)
    steps = len(value) >> _SHIFTS.get(name, _USUAL_SHIFT)
    if name == "replace" and given:
        return steps + searching(value, given[0])
    if name == "fromjson":
        return steps + (sum(map(value.count, "[{,")) >> 2)
    if name == "wordwrap":
        return steps + _wrapping(value, *given, **named)
    if name == "trim":
        return steps + stripping(value, next(iter((*given, *named.values())), None))
    return steps


def _wrapping(value: str, width: Any = 79, *given: Any, **named: Any) -> int:
    """Count the steps of wrapping lines: long words, and long gaps, are cut again and again."""
    if len(value) > HEAVY_LIMIT or not isinstance(width, int) or width < 1:
        return 0
    longest = max((run.end() - run.start() for run in _RUNS.finditer(value)), default=0)
    return 12 * (breaks_in(value) + value.count("-")) + (longest * longest // width >> 13)


def _by_item(name: str, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> int:
    items = len(value) if isinstance(value, (str, list, tuple, dict, range)) else 0
    paths = [named.get("attribute"), *given] if items else []
    deep = 0
    for path in paths:
        if isinstance(path, str) and name != "join":
            deep += path.count(".") + path.count(",")
    made = [*given[:1], *named.values()] if name in ("batch", "slice") else []
    return items * (1 + deep) + sum(one for one in made if isinstance(one, int) and one > 0)


def refuse_large(name: str, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Refuse what would make too large a result, or reach too deep."""
    path = named.get("attribute")
    for one in (path, *given) if name in _BY_ITEM and name != "join" else (path,):
        within(len(one) if isinstance(one, str) else 0, _LONGEST_PATH, "an argument is too long")
    if name in _BOUNDS:
        _BOUNDS[name](value, *given, **named)


def _refuse_padding(value: str, width: Any = 0, *given: Any, **named: Any) -> None:
    if isinstance(width, int):
        within(width, WIDTH_LIMIT, "the padding is too wide")
        width = " " * width
    if isinstance(width, str):
        fits(len(value) + (breaks_in(value) + 1) * (len(width) + 1))


def _refuse_replacing(value: str, old: Any = "", new: Any = "", *given: Any, **named: Any) -> None:
    fits(replaced_length(value, str(old), str(new)))


def _refuse_parts(value: Any, *given: Any, **named: Any) -> None:
    for count in (*given[:1], named.get("linecount", 0), named.get("slices", 0)):
        within(count, ITEM_LIMIT // 10, "too many parts")


def _refuse_digits(value: Any, precision: int = 0, *given: Any, **named: Any) -> None:
    within(abs(precision), 300, "too many digits")


def _refuse_heavy(value: str, *given: Any, **named: Any) -> None:
    within(len(value), HEAVY_LIMIT, "the text is too long for this filter")
    for part in (*given, *named.values()):
        within(len(part) if isinstance(part, str) else 0, 100, "an argument is too long")


_BOUNDS: Mapping[str, Callable[..., None]] = {
    "batch": _refuse_parts,
    "center": _refuse_padding,
    "indent": _refuse_padding,
    "replace": _refuse_replacing,
    "round": _refuse_digits,
    "slice": _refuse_parts,
    "striptags": _refuse_heavy,
    "urlize": _refuse_heavy,
    "wordwrap": _refuse_heavy,
}

LIMITED = _BY_ITEM | _BOUNDS.keys() | {"attr"}
"""Filters that may make too large a result, or reach too deep."""

__all__ = ["LIMITED", "effort_of", "refuse_large"]
