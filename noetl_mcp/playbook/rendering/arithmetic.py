"""The operators of templates that could run away, and how they treat secrets.

Refuses results that are too large before making them.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from noetl_mcp.playbook.rendering.formats import filled
from noetl_mcp.playbook.rendering.guards import BIT_LIMIT, ITEM_LIMIT, Budget, fits, within
from noetl_mcp.playbook.rendering.secret import Secret, changed, shown

Operator = Callable[[Any, Any, Budget], Any]


def added(left: Any, right: Any, budget: Budget | None = None) -> Any:
    """Return `left + right`."""
    if isinstance(left, (str, Secret)) and isinstance(right, (str, Secret)):
        fits(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        within(len(left) + len(right), ITEM_LIMIT, "the list gets too long")
    return bounded(left + right)


def subtracted(left: Any, right: Any, budget: Budget | None = None) -> Any:
    """Return `left - right`."""
    return bounded(left - right)


def multiplied(left: Any, right: Any, budget: Budget | None = None) -> Any:
    """Return `left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        within(left.bit_length() + right.bit_length(), BIT_LIMIT, "the number gets too large")
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int) and isinstance(left, (str, Secret)):
        fits(len(left) * right)
        text = shown(left) * right
        return changed(text, left.atoms) if isinstance(left, Secret) else text
    if isinstance(right, int) and isinstance(left, (list, tuple)):
        within(len(left) * right, ITEM_LIMIT, "the list gets too long")
    return operator.mul(left, right)


def raised(left: Any, right: Any, budget: Budget | None = None) -> Any:
    """Return `left ** right`."""
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        within(left.bit_length() * right, BIT_LIMIT, "the number gets too large")
    return operator.pow(left, right)


def remainder(left: Any, right: Any, budget: Budget | None = None) -> Any:
    """Return `left % right`: a remainder of numbers, or a text with its fields filled."""
    if isinstance(left, (str, Secret)):
        return filled(left, right, budget)
    return operator.mod(left, right)


def bounded(value: Any) -> Any:
    """Return a value, refusing a whole number that is too large."""
    if value.__class__ is int:
        within(value.bit_length(), BIT_LIMIT, "the number gets too large")
    return value


OPERATORS: Mapping[str, Operator] = {
    "+": added,
    "-": subtracted,
    "*": multiplied,
    "**": raised,
    "%": remainder,
}

__all__ = ["OPERATORS", "added", "bounded", "multiplied", "raised", "remainder", "subtracted"]
