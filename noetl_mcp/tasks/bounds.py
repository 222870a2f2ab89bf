"""Hold the numbers and values of an answer against the bounds of a step. Raises nothing.

A bounded number that is absent does not hold, zero is a number like any other, and a bound that
cannot be read is a problem to tell before anything is sent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from noetl_mcp.bim.counters import Counters
from noetl_mcp.diagnostics import shorten
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.json_values import NoSuchValue, at_pointer, problem_of_pointer, same

Bounds: TypeAlias = Mapping[str, Json]
Side = Literal["min", "max", "exact"]
Held = bool | Literal["predicted", "unchecked"]

_SIDES: Mapping[str, tuple[Side, str]] = MappingProxyType(
    {
        "minUpdated": ("min", "updated"),
        "maxUpdated": ("max", "updated"),
        "minCreated": ("min", "created"),
        "maxCreated": ("max", "created"),
        "minDeleted": ("min", "deleted"),
        "maxDeleted": ("max", "deleted"),
        "minCandidates": ("min", "candidates"),
        "maxCandidates": ("max", "candidates"),
        "exactTargets": ("exact", "targets"),
    }
)
_WORDS: Mapping[Side, str] = {"min": "at least", "max": "at most", "exact": "exactly"}
_COUNTED: Mapping[str, str] = {
    "candidates": "how many candidates there were",
    "targets": "how many targets there were",
}
KEYS = frozenset((*_SIDES, "equals", "requireConfirm"))


@dataclass(frozen=True, slots=True)
class Bound:
    """One number that a step has promised to keep."""

    key: str
    side: Side
    counter: str
    number: int

    def allows(self, number: int) -> bool:
        """Whether a count keeps the promise."""
        if self.side == "exact":
            return number == self.number
        return number >= self.number if self.side == "min" else number <= self.number

    @property
    def words(self) -> str:
        """The promise as a part of a sentence."""
        return f"{_WORDS[self.side]} {self.number} {'was' if self.number == 1 else 'were'} expected"


@dataclass(frozen=True, slots=True)
class Finding:
    """One bound, what it was held against, and whether it held.

    It is `predicted` before there is an answer, and `unchecked` in one that says it failed.
    """

    bound: str
    expected: Json
    value: Json = None
    source: str | None = None
    held: Held = True
    code: str | None = None
    message: str = ""

    def as_json(self) -> dict[str, Json]:
        """Return the form that stands in events and in `--json`."""
        keys = ("bound", "expected", "value", "source", "held")
        told = ("code", "message") if self.code else ()
        return {key: getattr(self, key) for key in (*keys, *told)}


def problems_of(bounds: Bounds) -> Iterator[str]:
    """Say what is wrong with bounds that no answer could keep, or that say nothing."""
    for key, value in bounds.items():
        if key in _SIDES and _whole(value) is None:
            yield f"'{key}' must be a whole number from 0 on, not {shown(value)}"
        elif key not in KEYS:
            yield f"'{shorten(key)}' is not a bound"
    if not isinstance(bounds.get("requireConfirm", False), bool):
        yield f"'requireConfirm' must be true or false, not {shown(bounds['requireConfirm'])}"
    equals = bounds.get("equals", {})
    if not isinstance(equals, dict):
        yield f"'equals' must be a map from pointers to values, not {shown(equals)}"
    for pointer in equals_of(bounds):
        wrong = problem_of_pointer(pointer)
        if wrong is not None:
            yield f"'{shorten(pointer)}' in 'equals' is no JSON pointer: {wrong}"
    yield from _contradictions({bound.key: bound.number for bound in bounds_of(bounds)})


def _contradictions(given: Mapping[str, int]) -> Iterator[str]:
    for counter in ("Updated", "Created", "Deleted", "Candidates"):
        least, most = given.get(f"min{counter}", 0), given.get(f"max{counter}")
        if most is not None and least > most:
            yield f"no count can keep both min{counter} {least} and max{counter} {most}"
    exact, most = given.get("exactTargets"), given.get("maxCandidates")
    if exact is not None and most is not None and exact > most:
        yield f"no count can keep both exactTargets {exact} and maxCandidates {most}"


def bounds_of(bounds: Bounds) -> Iterator[Bound]:
    """Return the bounds on numbers, in the order of the docs."""
    for key, (side, counter) in _SIDES.items():
        number = _whole(bounds.get(key))
        if number is not None:
            yield Bound(key, side, counter, number)


def equals_of(bounds: Bounds) -> Mapping[str, Json]:
    """Return the values that must stand in the answer, by JSON pointer."""
    equals = bounds.get("equals")
    return equals if isinstance(equals, dict) else {}


def held(bound: Bound, counters: Counters) -> Finding:
    """Hold a bound against the counters of an answer."""
    key, expected = bound.key, bound.number
    counted = counters.get(bound.counter)
    if counted is None:
        what = _COUNTED.get(bound.counter, f"how many were {bound.counter}")
        message = f"the answer does not say {what}, so '{key}: {expected}' cannot be checked"
        return Finding(key, expected, None, None, False, "expectation-unverifiable", message)
    number, source = counted
    if bound.allows(number):
        return Finding(key, expected, number, source)
    message = f"{bound.counter} is {number}, {bound.words} (from {source})"
    return Finding(key, expected, number, source, False, "expectation-failed", message)


def held_value(pointer: str, expected: Json, answer: Json) -> Finding:
    """Hold a value of the answer against the expected one; of http the body counts as well."""
    name = f"equals {pointer}"
    is_http = isinstance(answer, dict) and {"status_code", "headers", "data"} <= answer.keys()
    missing = ""
    for source in (pointer, f"/data{pointer}") if is_http else (pointer,):
        try:
            value = at_pointer(answer, source)
        except NoSuchValue as nowhere:
            missing = missing or str(nowhere)
            continue
        if same(value, expected):
            return Finding(name, expected, value, source)
        message = f"'{source}' is {shown(value)}, but {shown(expected)} was expected"
        return Finding(name, expected, value, source, False, "expectation-failed", message)
    message = f"{shown(expected)} was expected at '{pointer}', but {missing}"
    return Finding(name, expected, None, None, False, "expectation-failed", message)


def shown(value: Json) -> str:
    """Return a value for a sentence: short, on one line, and a text told from a number."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return f"the text '{shorten(value)}'" if isinstance(value, str) else shorten(str(value))


def _whole(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        return None
    return int(value) if value == int(value) else None


__all__ = [
    "KEYS",
    "Bound",
    "Bounds",
    "Finding",
    "Held",
    "Side",
    "bounds_of",
    "equals_of",
    "held",
    "held_value",
    "problems_of",
    "shown",
]
