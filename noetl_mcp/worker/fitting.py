"""Hold what was rendered to the rules for what is written down: the same types, the same words.

Renders nothing and re-types nothing. What does not fit fails the step, with the name of each
setting, what it is, and what it should be.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from jinja2 import TemplateRuntimeError
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from noetl_mcp.diagnostics import shorten
from noetl_mcp.playbook.rendering.secret import MASK, atoms_of
from noetl_mcp.playbook.values import RENDERED, Model
from noetl_mcp.playbook.wrong_values import wanted
from noetl_mcp.queue.encode import NotJson, encode
from noetl_mcp.tasks.calls import Failed

Made = TypeVar("Made", bound=Model)


def fitted(
    model: type[Made], given: Mapping[str, Any], step: str, covered: Any = None, under: str = ""
) -> Made:
    """Return rendered settings as their model; `covered` is what may be shown of them.

    `under` is the key that they stand under.
    """
    try:
        return model.model_validate(given, context=RENDERED)
    except ValidationError as refused:
        seen = given if covered is None else covered
        raise _misfit(refused, seen, step, under) from None
    except TemplateRuntimeError as problem:  # it holds what a dry run does not know
        raise Failed("bad-settings", str(problem), retriable=False) from None


def fitted_value(kind: Any, value: Any, key: str, step: str) -> Any:
    """Return one rendered setting as its type has it."""
    try:
        return _adapter(kind).validate_python(value, context=RENDERED)
    except ValidationError as refused:
        raise _misfit(refused, value, step, key) from None
    except TemplateRuntimeError as problem:
        raise Failed("bad-settings", str(problem), retriable=False) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _misfit(refused: ValidationError, seen: Any, step: str, under: str) -> Failed:
    details = refused.errors(include_url=False)
    told = "; ".join(dict.fromkeys(_told(one, seen, under) for one in details))
    return Failed("bad-settings", f"step '{step}': {told}", retriable=False)


def _told(detail: ErrorDetails, seen: Any, under: str) -> str:
    """Say what is wrong about one setting, without its secrets."""
    path, value = [under] if under else [], seen
    for key in detail["loc"]:
        is_there = key in value if isinstance(value, Mapping) else _has(value, key)
        if is_there:
            value = value[key]
        else:
            if detail["type"] == "missing":
                return f"'{'.'.join(map(str, [*path, key]))}' is missing"
            break
        path.append(str(key))
    name = ".".join(path)
    if detail["type"] == "extra_forbidden":
        return f"'{name}' is not known"
    return f"'{name}' should be {wanted(detail)}, not {_shown(value)}"


def _has(value: Any, place: int | str) -> bool:
    return isinstance(value, list) and isinstance(place, int) and place < len(value)


def _shown(value: Any) -> str:
    try:
        return MASK if atoms_of(value) else shorten(encode(value))
    except (NotJson, TemplateRuntimeError):
        return "what it is"


__all__ = ["fitted", "fitted_value"]
