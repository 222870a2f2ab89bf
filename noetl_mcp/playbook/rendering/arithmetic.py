"""The operators of templates that could run away, and how they treat secrets.

Refuses results that are too large before making them.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, Undefined

from noetl_mcp.playbook.rendering.guards import (
    BIT_LIMIT,
    ITEM_LIMIT,
    TEXT_LIMIT,
    WIDTH_LIMIT,
    TooMuch,
    fits,
    within,
)
from noetl_mcp.playbook.rendering.secret import Secret, shown, uncovered
from noetl_mcp.playbook.rendering.wording import Words, holds_secret, word

_FIELD = re.compile(r"%(?:\([^)]*\))?[#0\-+ ]*(\*|\d+)?(?:\.(\*|\d+)?)?")


def added(left: Any, right: Any) -> Any:
    """Return `left + right`."""
    if isinstance(left, (str, Secret)) and isinstance(right, (str, Secret)):
        fits(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        within(len(left) + len(right), ITEM_LIMIT, "the list gets too long")
    return operator.add(left, right)


def multiplied(left: Any, right: Any) -> Any:
    """Return `left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        within(left.bit_length() + right.bit_length(), BIT_LIMIT, "the number gets too large")
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int) and isinstance(left, (str, Secret)):
        fits(len(left) * right)
        text = shown(left) * right
        return Secret(text) if isinstance(left, Secret) else text
    if isinstance(right, int) and isinstance(left, (list, tuple)):
        within(len(left) * right, ITEM_LIMIT, "the list gets too long")
    return operator.mul(left, right)


def raised(left: Any, right: Any) -> Any:
    """Return `left ** right`."""
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        within(left.bit_length() * right, BIT_LIMIT, "the number gets too large")
    return operator.pow(left, right)


def remainder(left: Any, right: Any) -> Any:
    """Return `left % right`: a remainder of numbers, or a text with its fields filled."""
    if isinstance(left, (str, Secret)):
        return filled(left, right)
    return operator.mod(left, right)


def filled(pattern: Words, values: Any) -> Words:
    """Return a text with its `%` fields filled; values are written as in any template."""
    if isinstance(values, (Undefined, Iterator)):
        raise TemplateRuntimeError("a text cannot be filled with this value")
    covers = isinstance(pattern, Secret) or holds_secret(values)
    text = shown(pattern)
    fields = text.count("%")
    _refuse_wide(text)
    given = _worded(values, named="%(" in text)
    fits(len(text) + fields * (WIDTH_LIMIT if fields < 100 else 0) + _length(given, fields))
    try:
        done = text % given
    except (TypeError, ValueError, LookupError) as error:
        reason = type(error).__name__ if covers else str(error)
        raise TemplateRuntimeError(f"the text cannot be filled: {reason}") from None
    return Secret(done) if covers else done


def _refuse_wide(text: str) -> None:
    for field in _FIELD.finditer(text):
        for width in field.groups(default=""):
            if width == "*" or len(width) > 5 or int(width or 0) > WIDTH_LIMIT:
                raise TooMuch("a field of the text is too wide")


def _worded(values: Any, named: bool) -> Any:
    if named and isinstance(values, Mapping):
        return {key: _field(item) for key, item in values.items()}
    if isinstance(values, tuple):
        return tuple(_field(item) for item in values)
    return _field(values)


def _field(value: object) -> object:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    return uncovered(word(value))


def _length(given: Any, fields: int) -> int:
    if isinstance(given, dict):
        longest = max((len(item) for item in given.values() if isinstance(item, str)), default=0)
        return min(longest * fields, TEXT_LIMIT + 1)
    if not isinstance(given, tuple):
        given = (given,)
    return sum(len(item) for item in given if isinstance(item, str))


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": added,
    "*": multiplied,
    "**": raised,
    "%": remainder,
}

__all__ = ["OPERATORS", "added", "filled", "multiplied", "raised", "remainder"]
