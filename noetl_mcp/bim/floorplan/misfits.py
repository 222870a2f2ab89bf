"""Say in sentences what about given arguments does not fit a model, each at its place.

Of a value that may be several things all are told in one sentence; places are those in what was
given, and not the names of models. It refuses to judge.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from noetl_mcp.diagnostics import closest

Path = tuple[str | int, ...]

_TYPES = {
    "string": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "dict": "a map",
    "model": "a map",
    "model_attributes": "a map",
    "list": "a list",
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong at a place of what was given."""

    path: Path
    says: str

    @property
    def place(self) -> str:
        """Return the place as a path, such as `operations[0].params.width`."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(parts)


def misfits(refused: ValidationError, given: Any) -> list[Misfit]:
    """Return what is wrong; where something in a value is, nothing is said of the value."""
    found: dict[Path, list[ErrorDetails]] = {}
    for one in refused.errors(include_url=False):
        path = _path(given, one["loc"], is_missing=one["type"] in ("missing", "extra_forbidden"))
        if one["type"].startswith("union_tag"):
            path = (*path, "action")
        found.setdefault(path, []).append(one)
    deepest = [path for path in found if not any(_is_above(path, other) for other in found)]
    return [Misfit(path, _said(found[path])) for path in deepest]


def _said(problems: Sequence[ErrorDetails]) -> str:
    """Say what one value should be; that it is of no fitting type says least."""
    telling = [one for one in problems if _type(one) is None]
    if not telling:
        return f"this must be {_or(dict.fromkeys(str(_type(one)) for one in problems))}"
    if len(telling) == 1 and telling[0]["type"] in _SAYS:
        return _SAYS[telling[0]["type"]](telling[0])
    wanted = [_wanted(one) for one in telling]
    if None in wanted:
        return _plain(telling[0])
    types = [_type(one) for one in problems if one not in telling]
    others = [one for one in types if one in ("a number", "a whole number")]
    return f"this must be {_or(dict.fromkeys(str(one) for one in (*others, *wanted)))}"


def _type(one: ErrorDetails) -> str | None:
    """Return the type that a value should have, when that is what is wrong."""
    name = re.sub(r"_(type|parsing|from_float)$", "", one["type"])
    return None if name == one["type"] else _TYPES.get(name)


def _wanted(one: ErrorDetails) -> str | None:
    """Return what a value should be, as a part of a sentence."""
    context = one.get("ctx", {})
    match one["type"]:
        case "literal_error":
            return f"{context['expected']}{_near(one)}"
        case "string_pattern_mismatch":
            return _like(str(context["pattern"]))
        case "greater_than_equal":
            return f"at least {context['ge']:g}"
        case "less_than_equal":
            return f"at most {context['le']:g}"
        case "greater_than":
            return f"more than {context['gt']:g}"
        case "finite_number":
            return "a finite number"
    return None


def _near(one: ErrorDetails) -> str:
    words = re.findall("'([^']+)'", str(one.get("ctx", {}).get("expected", "")))
    given = one["input"]
    near = closest(given, words) if isinstance(given, str) else None
    return f"; did you mean '{near}'?" if near else ""


def _like(pattern: str) -> str:
    if pattern.startswith("^#"):
        return 'a colour, such as "#E8F4FD"'
    if "ft" in pattern:
        return 'a length with its unit, such as "9.5ft"'
    if pattern.endswith("%$"):
        return 'a share, such as "50%"'
    if "bottom" in pattern:
        return "a room's wall, such as Kitchen.top"
    if r"\." in pattern:
        return "a thing on a floor, such as ground.MainStair"
    return "a name: letters, digits and _, with no digit first"


def _missing(one: ErrorDetails) -> str:
    return "this is missing"


def _tag(one: ErrorDetails) -> str:
    return "this is missing" if one["type"] == "union_tag_not_found" else "this must be a text"


def _long(one: ErrorDetails) -> str:
    context = one.get("ctx", {})
    count = "signs" if one["type"].startswith("string") else "entries"
    return f"this may have at most {context['max_length']} {count}"


def _short(one: ErrorDetails) -> str:
    return f"this must have at least {one.get('ctx', {})['min_length']} entries"


_SAYS = {
    "missing": _missing,
    "union_tag_not_found": _tag,
    "union_tag_invalid": _tag,
    "too_long": _long,
    "string_too_long": _long,
    "too_short": _short,
}


def _plain(one: ErrorDetails) -> str:
    said = one["msg"].removeprefix("Value error, ")
    return f"{said[:1].lower()}{said[1:]}"


def _or(parts: Mapping[str, None]) -> str:
    *first, last = parts
    return f"{', '.join(first)} or {last}" if first else last


def _path(given: Any, place: Path, *, is_missing: bool) -> Path:
    """Return the part of a place that stands in what was given; the rest names types."""
    path: list[str | int] = []
    here = given
    for index, part in enumerate(place):
        if _has(here, part):
            here = here[part]
        elif not (is_missing and index == len(place) - 1):
            continue
        path.append(part)
    return tuple(path)


def _has(here: Any, part: str | int) -> bool:
    if isinstance(here, list):
        return isinstance(part, int) and part < len(here)
    return isinstance(here, Mapping) and part in here


def _is_above(path: Path, other: Path) -> bool:
    return len(path) < len(other) and other[: len(path)] == path


__all__ = ["Misfit", "misfits"]
