"""Give values their text inside a template, and settle what leaves it.

Refuses to guess: a text is never read as anything else, and what JSON cannot hold has no text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from jinja2 import TemplateRuntimeError, Undefined
from jinja2.runtime import LoopContext

from noetl_mcp.playbook.rendering.guards import TEXT_LIMIT, Budget, TooMuch, fits
from noetl_mcp.playbook.rendering.secret import Secret, composed
from noetl_mcp.playbook.rendering.survey import SCALARS, Survey, called, refuse_machinery
from noetl_mcp.playbook.rendering.views import Items
from noetl_mcp.playbook.strict_json import strict_json

Words = str | Secret

PLAIN = frozenset({str, int, float, bool, type(None), Secret, list, dict})
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def word(value: object, budget: Budget | None = None) -> Words:
    """Return the text of a value among other text."""
    if value.__class__ is str or isinstance(value, Secret):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, str):
        return str.__str__(value)
    budget = budget or Budget()
    return json_text(settled(value, budget), None, budget)


def joined(values: Iterable[object], budget: Budget | None = None) -> Words:
    """Put texts together; one secret among them makes all of it a secret."""
    parts: list[str] = []
    length = 0
    secrets: list[Secret] = []
    for value in values:
        part: Any = value if value.__class__ is str else word(value, budget)
        if part.__class__ is Secret:
            secrets.append(part)
            part = part.reveal()
        parts.append(part)
        length += len(part)
        if length > TEXT_LIMIT:
            fits(length)
    text = "".join(parts)
    return composed(text, secrets) if secrets else text


def settled(value: object, budget: Budget | None = None) -> object:
    """Return the value that leaves an expression: no open ends, no machinery, never absent."""
    if value.__class__ in PLAIN:
        return value
    if isinstance(value, Items):
        return value.plain
    if isinstance(value, (Iterator, range, tuple)) and not isinstance(value, LoopContext):
        return _listed(value, budget or Budget())
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float, list)):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    return refuse_machinery(value)


def _listed(values: Iterable[object], budget: Budget) -> list[object]:
    budget.spend(1 + (len(values) if isinstance(values, (tuple, range)) else 0))
    found = [item if item.__class__ in PLAIN else settled(item, budget) for item in values]
    budget.spend(len(found) >> 3)
    return found


def argument(value: Any, budget: Budget | None = None) -> Any:
    """Return what may be handed to a function: never absent, nothing that runs out."""
    if isinstance(value, (Iterator, Undefined)) and not isinstance(value, LoopContext):
        return settled(value, budget)
    return value


def handed(value: Any, budget: Budget | None = None) -> Any:
    """Return what may be kept by a function: an argument that is nothing but its value."""
    return value.plain if isinstance(value, Items) else argument(value, budget)


def checked(value: object, budget: Budget | None = None) -> object:
    """Return a settled value that the template built, if it is not too large or too deep."""
    budget = budget or Budget()
    value = settled(value, budget)
    holds_secret(value, budget)
    return value


def holds_secret(value: object, budget: Budget | None = None) -> bool:
    """Say whether a secret is inside; refuse what is too deep or too large to be looked at."""
    if value.__class__ in SCALARS:
        return False
    if isinstance(value, (list, tuple, Mapping)):
        return bool(Survey(value, budget).secrets)
    return isinstance(value, Secret)


def json_text(value: object, indent: int | None = None, budget: Budget | None = None) -> Words:
    """Return a value as JSON: compact, or indented by some columns."""
    survey = Survey(value, budget)
    if survey.endless is not None:
        raise TemplateRuntimeError(f"JSON cannot hold this value: {survey.endless}")
    try:
        packed = orjson.dumps(value, default=_plain, option=_OPTIONS)
    except (orjson.JSONEncodeError, RecursionError) as error:
        reason = str(error.__cause__ or error)
        raise TemplateRuntimeError(f"JSON cannot hold this value: {reason}") from None
    text = packed.decode()
    survey.budget.spend(len(text) >> 10)
    if indent is not None:
        fits(len(text) + survey.indents * indent)
        survey.budget.spend(survey.length >> 2)
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
    fits(len(text))
    return composed(text, survey.secrets) if survey.secrets else text


def _plain(value: object) -> object:
    match value:
        case Secret():
            return value.reveal()
        case Mapping():
            return dict(value)
        case tuple() | range():
            return list(value)
    if isinstance(value, (Iterator, Undefined)):
        return settled(value)
    raise TypeError(f"{called(value)} is not a value")


def read_json(text: str) -> object:
    """Return the value that a JSON text stands for; what is not strictly JSON is refused."""
    try:
        return strict_json(text)
    except RecursionError:
        raise TooMuch("the JSON is nested too deeply") from None
    except ValueError as error:
        raise TemplateRuntimeError(f"this is not JSON: {error}") from None


__all__ = [
    "PLAIN",
    "Words",
    "argument",
    "checked",
    "handed",
    "holds_secret",
    "joined",
    "json_text",
    "read_json",
    "settled",
    "word",
]
