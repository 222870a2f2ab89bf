"""The filters that are ours, or that Jinja has and that do something else here."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, pass_context
from jinja2.filters import FILTERS
from jinja2.runtime import Context

from noetl_mcp.playbook.rendering.arithmetic import added
from noetl_mcp.playbook.rendering.formats import filled
from noetl_mcp.playbook.rendering.guards import ITEM_LIMIT, Budget, fits, within
from noetl_mcp.playbook.rendering.ordering import groupby
from noetl_mcp.playbook.rendering.wording import (
    Words,
    joined,
    json_text,
    read_json,
    settled,
    word,
)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
_LONGEST_NAME = 1_000


def budget_of(context: Context) -> Budget:
    """Return what is left of the work of a render."""
    budget: Budget = context.budget  # type: ignore[attr-defined] # ours always has one
    return budget


@pass_context
def tojson(context: Context, value: object, indent: int | None = None) -> Words:
    """Return a value as JSON, compact unless an indent is given."""
    if indent is not None:
        within(indent, 16, "the indent is too wide")
    budget = budget_of(context)
    return json_text(settled(value, budget), indent, budget)


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
    within(len(value), _LONGEST_NAME, "the name is too long for SQL")
    parts = value.split(".")
    if not all(_IDENTIFIER.fullmatch(part) for part in parts):
        raise TemplateRuntimeError(
            f"{value!r} is not an SQL name: letters, digits, _ and $, at most 63, dots between"
        )
    return ".".join(f'"{part}"' for part in parts)


@pass_context
def string(context: Context, value: object) -> Words:
    """Return the text of a value."""
    return word(value, budget_of(context))


@pass_context
def join(context: Context, value: Any, d: Any = "", attribute: Any = None) -> Words:
    """Return the items as texts, with a separator between."""
    if attribute is not None:
        value = FILTERS["map"](context, value, attribute=attribute)
    budget = budget_of(context)
    between = word(d, budget)
    words: list[Words] = []
    for item in value:
        words += (between, word(item, budget)) if words else (word(item, budget),)
    return joined(words)


@pass_context
def attr(context: Context, value: Any, name: str) -> Any:
    """Return what stands under a name."""
    return context.environment.getattr(value, name)


@pass_context
def fill(context: Context, value: object, *given: Any, **named: Any) -> Words:
    """Return a text with its `%` fields filled."""
    budget = budget_of(context)
    return filled(word(value, budget), named or given, budget)


@pass_context
def total(context: Context, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Return the sum of numbers, or the lists put together."""
    if attribute is not None:
        value = FILTERS["map"](context, value, attribute=attribute)
    if isinstance(start, list):
        return _put_together(start, value)
    budget = budget_of(context)
    for item in value:
        start = added(start, item)
        budget.spend(len(start) >> 10 if isinstance(start, str) else 0)
    return start


def _put_together(start: list[Any], lists: Any) -> list[Any]:
    found = list(start)
    for one in lists:
        if not isinstance(one, list):
            raise TypeError("only lists can be put together with a list")
        within(len(found) + len(one), ITEM_LIMIT, "the list gets too long")
        found += one
    return found


@pass_context
def urlencode(context: Context, value: Any) -> str:
    """Return a text, or the names and values of a map, quoted for a URL."""
    quote = FILTERS["urlencode"]
    budget = budget_of(context)
    if isinstance(value, Mapping):
        value = value.items()
    elif not isinstance(value, (list, tuple)):
        return str(quote(_quotable(value, budget)))
    return str(quote([(_quotable(name, budget), _quotable(item, budget)) for name, item in value]))


def _quotable(value: object, budget: Budget) -> Words:
    text = word(value, budget)
    budget.spend(len(text) >> 2)
    return text


@pass_context
def xmlattr(context: Context, value: Mapping[str, Any], autospace: bool = True) -> str:
    """Return the names and values of a map as attributes of XML."""
    budget = budget_of(context)
    texts = {key: None if one is None else word(one, budget) for key, one in value.items()}
    length = sum(len(key) + len(one or "") for key, one in texts.items())
    fits(5 * length)
    budget.spend(length >> 5)
    return str(FILTERS["xmlattr"](context.eval_ctx, texts, autospace))


@pass_context
def listed(context: Context, value: Any) -> list[object]:
    """Return the items as a list."""
    budget = budget_of(context)
    return [settled(item, budget) for item in value]


def same(value: object) -> object:
    """Return the value itself."""
    return value


OURS: Mapping[str, Callable[..., Any]] = {
    "attr": attr,
    "b64decode": b64decode,
    "b64encode": b64encode,
    "format": fill,
    "fromjson": read_json,
    "groupby": groupby,
    "ident": ident,
    "join": join,
    "list": listed,
    "safe": same,
    "string": string,
    "sum": total,
    "tojson": tojson,
    "urlencode": urlencode,
    "xmlattr": xmlattr,
}

__all__ = ["OURS", "budget_of"]
