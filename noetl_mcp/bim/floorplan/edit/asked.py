"""Read operations as they came, and say in sentences what is wrong with those that nobody knows.

It refuses all of them when one is wrong: whoever misspells one may mean another thing by the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from noetl_mcp.bim.floorplan.edit.operations import OPERATION, AnyOperation

_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Asking:
    """Operations, or what is wrong with them: message and number of the operation."""

    operations: tuple[AnyOperation, ...]
    wrong: tuple[Mapping[str, Any], ...] = ()


def asked_of(operations: Sequence[AnyOperation | Mapping[str, Any]]) -> Asking:
    """Return operations as their models."""
    read: list[AnyOperation] = []
    wrong: list[Mapping[str, Any]] = []
    for index, given in enumerate(operations):
        if isinstance(given, BaseModel):
            read.append(given)
            continue
        try:
            read.append(OPERATION.validate_python(given))
        except ValidationError as refused:
            wrong += [
                {"message": f"operations[{index}]{said}", "operation": index}
                for said in sentences(refused, given)
            ]
    return Asking((), tuple(wrong[:_MOST_TOLD])) if wrong else Asking(tuple(read))


def sentences(refused: ValidationError, given: Any) -> list[str]:
    """Return what is wrong, each with its path; of values that may be several things, once."""
    found: dict[tuple[str | int, ...], dict[str, None]] = {}
    for one in refused.errors(include_url=False, include_context=False, include_input=False):
        path = _path(given, one["loc"], is_missing=one["type"] == "missing")
        message = one["msg"]
        if one["type"] == "missing":
            message = "this is missing"
        if one["type"] == "union_tag_not_found":
            path, message = (*path, "action"), "this is missing"
        found.setdefault(path, {})[message] = None
    deepest = [path for path in found if not any(_is_above(path, other) for other in found)]
    return [f"{_shown(path)}: {_either(found[path])}" for path in deepest]


def _either(messages: Iterable[str]) -> str:
    """Put the messages about one value together; that it is no map or list says least."""
    every = list(messages)
    telling = [one for one in every if "valid dictionary" not in one and "valid list" not in one]
    return ", or: ".join(telling or every)


def _path(given: Any, place: Sequence[str | int], *, is_missing: bool) -> tuple[str | int, ...]:
    """Return the part of a place that stands in what was given; the rest names types."""
    path: list[str | int] = []
    here = given
    for index, part in enumerate(place):
        is_last = index == len(place) - 1
        if _has(here, part):
            here = here[part]
        elif not (is_missing and is_last):
            continue
        path.append(part)
    return tuple(path)


def _has(here: Any, part: str | int) -> bool:
    if isinstance(here, list):
        return isinstance(part, int) and part < len(here)
    return isinstance(here, Mapping) and part in here


def _is_above(path: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    return len(path) < len(other) and other[: len(path)] == path


def _shown(path: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
