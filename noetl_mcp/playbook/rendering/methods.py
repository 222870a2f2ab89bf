"""The attributes that a template may use of values that are no maps.

Refuses everything else: only the names listed here exist, whatever Python offers.
"""

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from jinja2 import TemplateError, TemplateRuntimeError
from jinja2.runtime import LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace

from noetl_mcp.playbook.rendering.guards import WIDTH_LIMIT, fits, within
from noetl_mcp.playbook.rendering.secret import Secret, covered, shown, uncovered
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
_PADS = frozenset({"center", "ljust", "rjust", "zfill"})
_OF_MAPS: Mapping[str, Callable[..., object]] = {
    "items": lambda values: list(values.items()),
    "keys": lambda values: list(values.keys()),
    "values": lambda values: list(values.values()),
    "get": lambda values, key, default=None: values.get(key, default),
}
_ENGINE = (LoopContext, Macro, Cycler, Namespace)


class Method:
    """A method of a text, bounded, that gives a secret when a secret goes in."""

    __slots__ = ("name", "text")

    def __init__(self, text: str | Secret, name: str) -> None:
        self.text = text
        self.name = name

    def __call__(self, *given: Any, **named: Any) -> Any:
        text, name = self.text, self.name
        covers = isinstance(text, Secret) or holds_secret([*given, *named.values()])
        if covers:
            text = shown(text)
            given = tuple(uncovered(value) for value in given)
            named = {key: uncovered(value) for key, value in named.items()}
        try:
            _refuse_long(shown(text), name, given)
            done = getattr(text, name)(*given, **named)
        except FAULTS as error:
            if not covers or isinstance(error, TemplateRuntimeError):
                raise
            done = error
        if isinstance(done, Exception):
            raise TemplateRuntimeError(f"'{name}' failed on a secret")
        return covered(done) if covers else done


def _refuse_long(text: str, name: str, given: tuple[Any, ...]) -> None:
    if name in _PADS and given:
        within(int(given[0]), WIDTH_LIMIT, "the padding is too wide")
    if name == "replace" and len(given) > 1:
        fits(replaced_length(text, given[0], given[1]))
    if name == "join" and given and isinstance(given[0], (list, tuple)):
        fits(len(text) * len(given[0]) + sum(len(part) for part in given[0]))


def replaced_length(text: str, old: str, new: str) -> int:
    """Say how long a text would get by a replacement."""
    return len(text) + text.count(old) * max(0, len(new) - len(old))


def attribute_of(value: object, name: str) -> object:
    """Return the attribute of a value that is no map; raise LookupError when it has none."""
    if isinstance(value, (str, Secret)) and name in _OF_TEXT:
        return Method(value, name)
    if isinstance(value, _ENGINE):
        allowed = not name.startswith("_")
    elif isinstance(value, (list, tuple)):
        allowed = name in _OF_LISTS or name in getattr(value, "_fields", ())
    else:
        allowed = isinstance(value, (int, float)) and name in _OF_NUMBERS
    if not allowed or not hasattr(value, name):
        raise LookupError(name)
    return getattr(value, name)


def method_of_map(values: object, name: object) -> Callable[..., object] | None:
    """Return what `values.name()` calls on a map that has no such key."""
    if not isinstance(values, Mapping) or not isinstance(name, str) or name not in _OF_MAPS:
        return None
    method = _OF_MAPS[name]
    return lambda *given, **named: method(values, *given, **named)


def may_be_called(value: object, known: Mapping[str, object]) -> bool:
    """Say whether a template may call this: only what templates define or are given for it."""
    if isinstance(value, MethodType):
        return isinstance(value.__self__, (LoopContext, Cycler))
    if isinstance(value, (Method, Macro, LoopContext, Joiner)):
        return True
    owner = getattr(value, "__self__", None)
    if isinstance(owner, (list, tuple, int, float)):
        return getattr(value, "__name__", "") in _OF_LISTS | _OF_NUMBERS
    return any(value is function for function in known.values())


__all__ = [
    "FAULTS",
    "Method",
    "attribute_of",
    "may_be_called",
    "method_of_map",
    "replaced_length",
]
