"""The attributes that a template may use of values that are no maps.

Refuses everything else: only the names listed here exist, whatever Python offers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from jinja2 import TemplateError, TemplateRuntimeError
from jinja2.runtime import LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace

from noetl_mcp.playbook.rendering.guards import Budget
from noetl_mcp.playbook.rendering.secret import Secret, atoms_of, covered, refuse, shown, uncovered
from noetl_mcp.playbook.rendering.survey import comparing, hashing, looking
from noetl_mcp.playbook.rendering.texts import called_on
from noetl_mcp.playbook.rendering.wording import holds_secret

FAULTS = (  # what a template may run into; anything else is ours to mend
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RuntimeError,
    AssertionError,  # some filters of Jinja assert what they are given
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_TEXT = _names(
    "capitalize casefold center count endswith find index isalnum isalpha isdecimal isdigit"
    " islower isnumeric isspace istitle isupper join ljust lower lstrip partition removeprefix"
    " removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith"
    " strip swapcase title upper zfill"
)
_OF_LISTS = frozenset({"count", "index"})
_OF_NUMBERS = frozenset({"is_integer"})
_OF_MAPS: Mapping[str, Callable[..., object]] = {
    "items": lambda values: list(values.items()),
    "keys": lambda values: list(values.keys()),
    "values": lambda values: list(values.values()),
    "get": lambda values, key, default=None: values.get(key, default),
}
_ENGINE = (LoopContext, Macro, Cycler, Namespace)


class Bound(ABC):
    """A method together with its value: it works on the budget of a render."""

    __slots__ = ("name",)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.on_budget(Budget(), given, named)

    @abstractmethod
    def on_budget(self, budget: Budget, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call it."""


class Method(Bound):
    """A method of a text, bounded, that gives a secret when a secret goes in."""

    __slots__ = ("text",)

    def __init__(self, text: str | Secret, name: str) -> None:
        self.text = text
        self.name = name

    def on_budget(self, budget: Budget, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call it."""
        secrets = [self.text, *given, *named.values()]
        if not any(holds_secret(value, budget) for value in secrets):
            return called_on(shown(self.text), self.name, given, named, budget)
        return self._secretly(budget, given, named, atoms_of(*secrets))

    def _secretly(
        self,
        budget: Budget,
        given: tuple[Any, ...],
        named: dict[str, Any],
        atoms: frozenset[str],
    ) -> object:
        plain = tuple(uncovered(value) for value in given)
        plain_named = {key: uncovered(value) for key, value in named.items()}
        try:
            done = called_on(shown(self.text), self.name, plain, plain_named, budget)
        except FAULTS as error:
            if isinstance(error, TemplateRuntimeError):
                raise
            done = error
        if isinstance(done, Exception):
            raise TemplateRuntimeError(f"'{self.name}' failed on a secret")
        if isinstance(done, (int, float)):
            refuse(f"'{self.name}' would tell a part of a secret")
        return covered(done, atoms)


class OfList(Bound):
    """`index` or `count` of a list, bounded."""

    __slots__ = ("values",)

    def __init__(self, values: list[Any] | tuple[Any, ...], name: str) -> None:
        self.values = values
        self.name = name

    def on_budget(self, budget: Budget, given: tuple[Any, ...], named: dict[str, Any]) -> int:
        """Call it."""
        if named or not 1 <= len(given) <= (3 if self.name == "index" else 1):
            raise TypeError(f"'{self.name}' of a list takes the item to look for")
        item, *bounds = given
        if holds_secret(item, budget):
            refuse("a secret cannot be looked for in a list")
        looking(item, self.values, budget)
        first, last, _ = slice(*(bounds if len(bounds) > 1 else (*bounds, None))).indices(
            len(self.values)
        )
        found = (
            place
            for place in range(first, last)
            if self.values[place] is item or self.values[place] == item
        )
        if self.name == "count":
            return sum(1 for _ in found)
        for place in found:
            return place
        raise TemplateRuntimeError("the list does not hold the item that 'index' looks for")


class OfMap(Bound):
    """`items`, `keys`, `values` or `get` of a map that has no such key."""

    __slots__ = ("values",)

    def __init__(self, values: Mapping[Any, Any], name: str) -> None:
        self.values = values
        self.name = name

    def on_budget(self, budget: Budget, given: tuple[Any, ...], named: dict[str, Any]) -> object:
        """Call it."""
        if self.name != "get":
            budget.spend(len(self.values) if isinstance(self.values, dict) else 0)
        for key in given[:1]:
            refuse_as_key(key)
            hashing(key, budget)
        return _OF_MAPS[self.name](self.values, *given, **named)


def refuse_as_key(key: object) -> None:
    """Refuse to look up what a secret stands for."""
    if isinstance(key, Secret):
        refuse("a secret cannot be looked up: what is found would tell it")


def attribute_of(value: object, name: str) -> object:
    """Return the attribute of a value that is no map; raise LookupError when it has none."""
    if isinstance(value, (str, Secret)) and name in _OF_TEXT:
        return Method(value, name)
    if isinstance(value, (list, tuple)) and name in _OF_LISTS:
        return OfList(value, name)
    if isinstance(value, _ENGINE):
        allowed = not name.startswith("_")
    elif isinstance(value, tuple):
        allowed = name in getattr(value, "_fields", ())
    else:
        allowed = isinstance(value, (int, float)) and name in _OF_NUMBERS
    if not allowed or not hasattr(value, name):
        raise LookupError(name)
    return getattr(value, name)


def method_of_map(values: object, name: object) -> OfMap | None:
    """Return what `values.name()` calls on a map that has no such key."""
    if not isinstance(values, Mapping) or not isinstance(name, str) or name not in _OF_MAPS:
        return None
    return OfMap(values, name)


def calling(function: object, given: tuple[Any, ...], budget: Budget) -> None:
    """Pay for what a function of the engine does with what it is given."""
    if isinstance(function, MethodType) and function.__name__ == "changed":
        comparing(given, getattr(function.__self__, "_last_changed_value", ()), budget)
    for value in given:
        if isinstance(value, tuple):
            hashing(value, budget)


def may_be_called(value: object, known: Mapping[str, object]) -> bool:
    """Say whether a template may call this: only what templates define or are given for it."""
    if isinstance(value, MethodType):
        return isinstance(value.__self__, (LoopContext, Cycler))
    if isinstance(value, (Bound, Macro, LoopContext, Joiner)):
        return True
    if isinstance(getattr(value, "__self__", None), (int, float)):
        return getattr(value, "__name__", "") in _OF_NUMBERS
    return any(value is function for function in known.values())


__all__ = [
    "FAULTS",
    "Bound",
    "Method",
    "OfList",
    "OfMap",
    "attribute_of",
    "calling",
    "may_be_called",
    "method_of_map",
    "refuse_as_key",
]
