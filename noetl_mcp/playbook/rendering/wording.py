"""Give values their text inside a template, and settle what leaves it.

Refuses to guess: a text is never read as anything else, and what JSON cannot hold has no text.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from jinja2 import TemplateRuntimeError, Undefined
from jinja2.runtime import LoopContext

from noetl_mcp.playbook.rendering.guards import DEPTH_LIMIT, TEXT_LIMIT, TooMuch, fits, within
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.rendering.views import Items

Words = str | Secret

PLAIN = frozenset({str, int, float, bool, type(None), Secret, list, dict})
_SCALARS = frozenset({str, int, float, bool, type(None)})
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def word(value: object) -> Words:
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
    return json_text(settled(value))


def joined(values: Iterable[object]) -> Words:
    """Put texts together; one secret among them makes all of it a secret."""
    parts: list[str] = []
    length = 0
    covers = False
    for value in values:
        part = word(value)
        if isinstance(part, Secret):
            covers = True
            part = part.reveal()
        parts.append(part)
        length += len(part)
        if length > TEXT_LIMIT:
            fits(length)
    text = "".join(parts)
    return Secret(text) if covers else text


def settled(value: object) -> object:
    """Return the value that leaves an expression: no open ends, no machinery, never absent."""
    if value.__class__ in PLAIN:
        return value
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    if isinstance(value, Items):
        return value.plain
    if isinstance(value, (Iterator, range, tuple)) and not isinstance(value, LoopContext):
        return [settled(item) for item in value]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float, list)):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    raise TemplateRuntimeError(f"{_called(value)} is not a value")


def argument(value: Any) -> Any:
    """Return what may be handed to a function: never absent, nothing that runs out."""
    if isinstance(value, (Iterator, Undefined)) and not isinstance(value, LoopContext):
        return settled(value)
    return value


def handed(value: Any) -> Any:
    """Return what may be kept by a function: an argument that is nothing but its value."""
    return value.plain if isinstance(value, Items) else argument(value)


def checked(value: object) -> object:
    """Return a settled value that the template built, if it is not too large or too deep."""
    value = settled(value)
    holds_secret(value)
    return value


def holds_secret(value: object) -> bool:
    """Say whether a secret is inside; refuse what is too deep or too large to be looked at."""
    if value.__class__ in _SCALARS:
        return False
    if isinstance(value, (list, tuple, Mapping)):
        survey = _Survey()
        survey.visit(value, 0)
        return survey.secret
    return isinstance(value, Secret)


class _Survey:
    """A walk through a value that counts what its text would take."""

    __slots__ = ("length", "secret")

    def __init__(self) -> None:
        self.length = 0
        self.secret = False

    def visit(self, value: object, depth: int) -> None:
        self.length += 4
        if isinstance(value, (str, Secret)):
            self.length += len(value)
            self.secret = self.secret or isinstance(value, Secret)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.visit(key, depth + 1)
                self.visit(item, depth + 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.visit(item, depth + 1)
        elif value.__class__ not in _SCALARS:
            settled(value)
        if self.length > TEXT_LIMIT or depth > DEPTH_LIMIT:
            within(depth, DEPTH_LIMIT, "the value is nested too deeply")
            fits(self.length)


def json_text(value: object, indent: int | None = None) -> Words:
    """Return a value as JSON: compact, or indented by some columns."""
    secret = holds_secret(value)
    try:
        packed = orjson.dumps(value, default=_plain, option=_OPTIONS)
        text = packed.decode()
    except (orjson.JSONEncodeError, RecursionError) as error:
        reason = str(error.__cause__ or error)
        raise TemplateRuntimeError(f"JSON cannot hold this value: {reason}") from None
    if b"null" in packed:
        _only_finite(value)
    if indent is not None:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
        fits(len(text))
    return Secret(text) if secret else text


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
    raise TypeError(f"{_called(value)} is not a value")


def _only_finite(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise TemplateRuntimeError(f"JSON cannot hold this value: {value}")
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for item in value:
        _only_finite(item)


def read_json(text: str) -> object:
    """Return the value that a JSON text stands for; what is not strictly JSON is refused."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise TooMuch("the JSON is nested too deeply") from None
    except ValueError as error:
        raise TemplateRuntimeError(f"this is not JSON: {error}") from None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _called(value: object) -> str:
    if callable(value):
        return f"a function ({getattr(value, 'name', None) or type(value).__name__})"
    return f"a {type(value).__name__}"


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
