"""Walk through values: what is in them, and what work it is to look at all of it or compare it.

Counts visits and not values, for a value that stands in two places is looked at twice. Refuses what
is too deep or too large, and stops there.
"""

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from jinja2 import TemplateRuntimeError, Undefined

from noetl_mcp.playbook.rendering.guards import (
    DEPTH_LIMIT,
    TEXT_LIMIT,
    Budget,
    fits,
    within,
)
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.rendering.views import Items

SCALARS = frozenset({str, int, float, bool, type(None)})
_EACH = 4  # characters that a value takes at least among others


class Survey:
    """What stands in a value: its secrets, and what its text would take."""

    __slots__ = ("budget", "endless", "indents", "length", "secrets")

    def __init__(self, value: object, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.secrets: list[Secret] = []
        self.endless: float | None = None
        """A number that JSON has not, if there is one."""
        self.length = 0
        self.indents = 0
        """How many levels all values are indented together."""
        self._walk(value)

    def _walk(self, value: object) -> None:
        level, depth = [value], 0
        while level:
            within(depth, DEPTH_LIMIT, "the value is nested too deeply")
            below = self._look(level)
            self.length += _EACH * len(level)
            self.indents += depth * len(level)
            self.budget.spend((len(level) >> 3) + (depth > 8))
            fits(self.length)
            level, depth = below, depth + 1
        self.budget.spend(self.length >> 12)

    def _look(self, level: list[Any]) -> list[Any]:
        """Look at values that stand side by side; return what stands in them."""
        below: list[Any] = []
        length = 0
        for value in level:
            kind = value.__class__
            if kind is str:
                length += len(value)
            elif kind is dict:
                below += value.values()
                for key in value:
                    if key.__class__ is str:
                        length += len(key) + _EACH
                    else:
                        below.append(key)
            elif kind is list:
                below += value
            elif kind is float:
                if not math.isfinite(value):
                    self.endless = value
                continue
            elif kind in SCALARS:
                continue
            else:
                length += self._other(value, below)
            if length + self.length + len(below) * _EACH > TEXT_LIMIT:
                fits(length + self.length + len(below) * _EACH)
        self.length += length
        return below

    def _other(self, value: Any, below: list[Any]) -> int:
        if isinstance(value, Secret):
            self.secrets.append(value)
        elif isinstance(value, Items):
            below.append(value.plain)
        elif isinstance(value, Mapping):
            for pair in value.items():
                below += pair
        elif isinstance(value, (list, tuple, range)):
            below += value
        elif not isinstance(value, (str, int, float)):
            refuse_machinery(value)
        return len(value) if isinstance(value, (str, Secret)) else 0


def refuse_machinery(value: object) -> NoReturn:
    """Refuse what is no value: names that are not there, functions, and parts of the engine."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    raise TemplateRuntimeError(f"{called(value)} is not a value")


def called(value: object) -> str:
    """Return what something that is no value is called in a message."""
    if callable(value):
        return f"a function ({getattr(value, 'name', None) or type(value).__name__})"
    return f"a {type(value).__name__}"


def effort(value: object, limit: int) -> int:
    """Count what a look at all of a value takes, in quarters of a step, up to about a limit."""
    total = 0
    level = [value]
    while level and total <= limit:
        total += len(level)
        below: list[Any] = []
        for one in level:
            kind = one.__class__
            if kind is str:
                total += len(one) >> 8  # type: ignore[arg-type] # its class is str
            elif isinstance(one, (list, tuple)):
                below += one
            elif kind not in SCALARS and isinstance(one, Mapping):
                below += one
                below += one.values()
            if len(below) > limit:
                return total + len(below)
        level = below
    return total


def comparing(left: object, right: object, budget: Budget) -> None:
    """Pay for a comparison of two values, which looks at as much as the smaller one has."""
    if left.__class__ in SCALARS or right.__class__ in SCALARS:
        if isinstance(left, str) and isinstance(right, str):
            budget.spend(min(len(left), len(right)) >> 9)
        return
    most, limit = 4 * budget.left, 64
    while True:
        least = min(effort(left, limit), effort(right, limit))
        if least <= limit or limit >= most:
            budget.spend(1 + (least >> 2))
            return
        limit = min(limit * 16, most)


def hashing(value: object, budget: Budget) -> None:
    """Pay for looking a value up."""
    if value.__class__ not in SCALARS:
        budget.spend(1 + (effort(value, 4 * budget.left) >> 2))
    elif isinstance(value, str):
        budget.spend(len(value) >> 9)


def looking(item: object, values: Any, budget: Budget) -> None:
    """Pay for looking for an item among others."""
    count = len(values)
    if isinstance(item, str):
        budget.spend(count * (1 + (len(item) >> 9)))
    elif isinstance(item, (list, tuple, Mapping)):
        most = 4 * budget.left
        every = min(effort(values, most), count * effort(item, most))
        budget.spend(count + (every >> 2))
    else:
        budget.spend(count)


__all__ = [
    "SCALARS",
    "Survey",
    "called",
    "comparing",
    "effort",
    "hashing",
    "looking",
    "refuse_machinery",
]
