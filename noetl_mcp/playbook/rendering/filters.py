"""The filters and tests of templates: Jinja's own made safe, and ours.

Each one refuses names that are not there, takes secrets in the open and gives a secret back, and
is stopped before its result gets too large. None of them guesses a type.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, pass_context
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.tests import TESTS
from jinja2.utils import _PassArg

from noetl_mcp.playbook.rendering.arithmetic import added, filled
from noetl_mcp.playbook.rendering.guards import (
    HEAVY_LIMIT,
    ITEM_LIMIT,
    WIDTH_LIMIT,
    Budget,
    fits,
    weight,
    within,
)
from noetl_mcp.playbook.rendering.methods import FAULTS, replaced_length
from noetl_mcp.playbook.rendering.secret import Secret, covered, shown, uncovered
from noetl_mcp.playbook.rendering.wording import (
    Words,
    argument,
    holds_secret,
    joined,
    json_text,
    read_json,
    settled,
    word,
)

Function = Callable[..., Any]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPEN = frozenset({"default", "d", "defined", "undefined"})  # these may look at absent names
_LAZY = _OPEN | {"map", "select", "reject", "selectattr", "rejectattr", "first"}
_AWARE = _OPEN | _names("attr format join render string tojson")  # these know secrets themselves
_CARRYING = _names(  # these hand on the items they get, secret or not
    "batch count dictsort first groupby items last length list map max min random reject"
    " rejectattr select selectattr slice sort sum unique"
)
_COUNTING = frozenset({"count", "length", "wordcount"})
_OF_TEXT = _names(  # these read and write text
    "b64decode b64encode capitalize center e escape forceescape fromjson ident indent lower"
    " replace safe striptags title trim truncate upper urlize wordcount wordwrap"
)
_OF_NUMBERS = frozenset({"odd", "even", "divisibleby"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")


def guarded_filter(name: str, function: Function) -> Function:
    """Return a filter that keeps the rules of this module."""

    @pass_context
    def guarded(context: Context, value: Any, /, *given: Any, **named: Any) -> Any:
        _budget(context).spend(1 + weight(value))
        value = value if name in _LAZY else argument(value)
        if name not in _OPEN:
            given = tuple(argument(item) for item in given)
            named = {key: argument(item) for key, item in named.items()}
        call = _called_with(function, context)
        if isinstance(value, Secret) and name in _CARRYING:
            value = list(value)
        if name in _AWARE or name in _CARRYING:
            return _bounded(name, call, value, given, named)
        if name in _OF_TEXT:
            value = word(value)
        if not any(map(holds_secret, (value, *given, *named.values()))):
            return _bounded(name, call, value, given, named)
        return _covered(name, call, value, given, named)

    return guarded


def guarded_test(name: str, function: Function) -> Function:
    """Return a test that refuses absent names and sees through secrets."""

    @pass_context
    def guarded(context: Context, value: Any, /, *items: Any) -> Any:
        given = list(items)
        if name not in _OPEN:
            value, *given = (argument(item) for item in (value, *given))
            _budget(context).spend(1 + sum(weight(item) for item in given))
        seen = [shown(item) for item in given]
        value = shown(value)
        if name in _OF_NUMBERS and not isinstance(value, (int, float)):
            raise TypeError(f"'{name}' asks about numbers")
        return bool(_called_with(function, context)(value, *seen))

    return guarded


def _budget(context: Context) -> Budget:
    budget: Budget = context.budget  # type: ignore[attr-defined] # ours always has one
    return budget


def _called_with(function: Function, context: Context) -> Function:
    wants = _PassArg.from_obj(function)
    if wants is None:
        return function
    first: Any = context
    if wants is not _PassArg.context:
        first = context.eval_ctx if wants is _PassArg.eval_context else context.environment
    return lambda *given, **named: function(first, *given, **named)


def _bounded(
    name: str, call: Function, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    if name in _BOUNDS:
        _BOUNDS[name](value, *given, **named)
    done = call(value, *given, **named)
    if isinstance(done, str):
        fits(len(done))
        return str.__str__(done)
    return done


def _covered(
    name: str, call: Function, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    plain = tuple(uncovered(item) for item in given)
    plain_named = {key: uncovered(item) for key, item in named.items()}
    try:
        done = _bounded(name, call, uncovered(value), plain, plain_named)
        if isinstance(done, Iterator):
            done = settled(done)
        failed = False
    except FAULTS:
        failed = True
    if failed:
        raise TemplateRuntimeError(f"the filter '{name}' failed on a secret")
    if isinstance(done, (int, float)) and name not in _COUNTING and not isinstance(done, bool):
        raise TemplateRuntimeError(f"the filter '{name}' would show a secret as a number")
    return covered(done)


def _refuse_padding(value: Any, width: Any = 0, *given: Any, **named: Any) -> None:
    if isinstance(width, int):
        within(width, WIDTH_LIMIT, "the padding is too wide")
        width = " " * width
    fits(len(value) + value.count("\n") * len(width))


def _refuse_replacing(value: Any, old: Any = "", new: Any = "", *given: Any, **named: Any) -> None:
    fits(replaced_length(value, str(old), str(new)))


def _refuse_parts(value: Any, *given: Any, **named: Any) -> None:
    for count in (*given[:1], named.get("linecount", 0), named.get("slices", 0)):
        within(count, ITEM_LIMIT // 10, "too many parts")


def _refuse_digits(value: Any, precision: int = 0, *given: Any, **named: Any) -> None:
    within(abs(precision), 300, "too many digits")


def _refuse_heavy(value: Any, *given: Any, **named: Any) -> None:
    within(len(value), HEAVY_LIMIT, "the text is too long for this filter")
    for part in (*given, *named.values()):
        within(len(part) if isinstance(part, str) else 0, 100, "an argument is too long")


_BOUNDS: Mapping[str, Function] = {
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


def tojson(value: object, indent: int | None = None) -> Words:
    """Return a value as JSON, compact unless an indent is given."""
    if indent is not None:
        within(indent, 16, "the indent is too wide")
    return json_text(settled(value), indent)


def b64encode(value: str) -> str:
    """Return the Base64 text of a text in UTF-8."""
    return base64.b64encode(value.encode()).decode()


def b64decode(value: str) -> str:
    """Return the text that a Base64 text stands for."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:
        raise TemplateRuntimeError("this is not the Base64 form of a text") from None


def ident(value: str) -> str:
    """Return a name, or names joined by dots, quoted for SQL."""
    parts = value.split(".")
    if not all(_IDENTIFIER.fullmatch(part) for part in parts):
        raise TemplateRuntimeError(
            f"{value!r} is not an SQL name: letters, digits, _ and $, at most 63, dots between"
        )
    return ".".join(f'"{part}"' for part in parts)


@pass_context
def join(context: Context, value: Any, d: Any = "", attribute: Any = None) -> Words:
    """Return the items as texts, with a separator between."""
    if attribute is not None:
        value = FILTERS["map"](context, value, attribute=attribute)
    words: list[Words] = []
    for item in value:
        words += (word(d), word(item)) if words else (word(item),)
    return joined(words)


@pass_context
def attr(context: Context, value: Any, name: str) -> Any:
    """Return what stands under a name."""
    return context.environment.getattr(value, name)


@pass_context
def groupby(context: Context, value: Any, *given: Any, **named: Any) -> Any:
    """Return the items in groups; a group of absent names is refused."""
    groups = FILTERS["groupby"](context.environment, value, *given, **named)
    for group in groups:
        settled(group[0])
    return groups


def fill(value: object, *given: Any, **named: Any) -> Words:
    """Return a text with its `%` fields filled."""
    return filled(word(value), named or given)


@pass_context
def total(context: Context, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Return the sum of numbers, or the lists put together."""
    if attribute is not None:
        value = FILTERS["map"](context, value, attribute=attribute)
    for item in value:
        start = added(start, item)
    return start


def urlencode(value: Any) -> str:
    """Return a text, or the names and values of a map, quoted for a URL."""
    quote = FILTERS["urlencode"]
    if isinstance(value, Mapping):
        value = value.items()
    elif not isinstance(value, (list, tuple)):
        return str(quote(word(value)))
    return str(quote([(word(name), word(item)) for name, item in value]))


def _listed(value: Any) -> list[object]:
    return [settled(item) for item in value]


def _same(value: object) -> object:
    return value


OURS: Mapping[str, Function] = {
    "attr": attr,
    "b64decode": b64decode,
    "b64encode": b64encode,
    "format": fill,
    "fromjson": read_json,
    "groupby": groupby,
    "ident": ident,
    "join": join,
    "list": _listed,
    "safe": _same,
    "string": word,
    "sum": total,
    "tojson": tojson,
    "urlencode": urlencode,
}
_NOT_OURS = frozenset({"pprint"})  # writes values as Python does


def all_filters() -> dict[str, Function]:
    """Return every filter by name."""
    return {
        name: guarded_filter(name, function)
        for name, function in {**FILTERS, **OURS}.items()
        if name not in _NOT_OURS
    }


def all_tests() -> dict[str, Function]:
    """Return every test by name."""
    stock: Mapping[str, Any] = TESTS
    return {name: guarded_test(name, function) for name, function in stock.items()}


__all__ = [
    "OURS",
    "all_filters",
    "all_tests",
    "attr",
    "b64decode",
    "b64encode",
    "fill",
    "groupby",
    "guarded_filter",
    "guarded_test",
    "ident",
    "join",
    "tojson",
    "total",
    "urlencode",
]
