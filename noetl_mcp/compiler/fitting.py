"""Hold submitted values against declarations. Says all that is wrong, and never shows a secret."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import orjson

from noetl_mcp.compiler.workload import TYPES, problem_of_value
from noetl_mcp.diagnostics import closest, shorten
from noetl_mcp.playbook.node import Json, Path, kind_of
from noetl_mcp.tasks.bounds import shown
from noetl_mcp.tasks.json_values import same
from noetl_mcp.tasks.patterns import Patterns

MOST_BYTES = 16 * 1024 * 1024
MOST_DEPTH = 200
MOST_PROBLEMS = 100
_MOST_CHOICES = 20
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1
NEEDED: Mapping[str, str] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps an execution from beginning, and the value it is about."""

    code: str
    path: Path
    says: str
    suggestion: str | None = None

    @property
    def text(self) -> str:
        """The whole sentence for a person."""
        near = f"; did you mean '{self.suggestion}'?" if self.suggestion else ""
        return f"{place_of(self.path)}: {self.says}{near}"

    def as_json(self) -> dict[str, Json]:
        """Return the form that `--json` prints among the diagnostics."""
        return {
            "name": self.code,
            "severity": "error",
            "path": list(self.path),
            "message": self.text,
            "suggestion": self.suggestion,
        }


def place_of(path: Path) -> str:
    """Write the path of a value as people do: `walls[2].height`."""
    written = ""
    for part in path:
        dot = "." if written else ""
        written += f"[{part}]" if isinstance(part, int) else f"{dot}{shorten(part, 80)}"
    return written or "the payload"


class Fitting:
    """Checks values one after another and collects what does not fit, up to a bound."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._patterns = Patterns()

    def say(self, code: str, path: Path, says: str, suggestion: str | None = None) -> None:
        """Add a problem."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(code, path, says, suggestion))

    def value(
        self, value: Json, schema: Mapping[str, Any], path: Path, *, secret: bool = False
    ) -> Json:
        """Return a value as it is to be used, after checking it and all that it holds."""
        secret = secret or schema.get("secret") is True
        kind = str(schema.get("type"))
        if kind in TYPES and problem_of_value(value, {"type": kind}) is not None:
            self.say("wrong-type", path, f"{NEEDED[kind]} is needed, not {_told(value, secret)}")
            return value
        if kind == "integer" and isinstance(value, float) and abs(value) < _MOST_WHOLE / 2:
            value = int(value)
        self._choice(value, schema, path, secret)
        if isinstance(value, str):
            self._pattern(value, schema, path, secret)
        elif isinstance(value, list):
            return self._items(value, schema, path, secret)
        elif isinstance(value, dict):
            return self._properties(value, schema, path, secret)
        elif value is not None and not isinstance(value, bool):
            self._range(value, schema, path, secret)
        return value

    def _choice(self, value: Json, schema: Mapping[str, Any], path: Path, secret: bool) -> None:
        choices = schema.get("enum")
        if not isinstance(choices, list) or any(same(value, one) for one in choices):
            return
        words = [one for one in choices if isinstance(one, str)]
        near = closest(value, words) if isinstance(value, str) and not secret else None
        listed = ", ".join(shorten(str(one), 40) for one in choices[:_MOST_CHOICES])
        more = ", …" if len(choices) > _MOST_CHOICES else ""
        self.say(
            "not-a-choice",
            path,
            f"one of {listed}{more} is needed, not {_told(value, secret)}",
            near,
        )

    def _range(
        self, value: int | float, schema: Mapping[str, Any], path: Path, secret: bool
    ) -> None:
        least, most = schema.get("minimum"), schema.get("maximum")
        if least is not None and value < least:
            self.say("too-small", path, f"at least {least} is needed, not {_told(value, secret)}")
        if most is not None and value > most:
            self.say("too-great", path, f"at most {most} is needed, not {_told(value, secret)}")

    def _pattern(self, value: str, schema: Mapping[str, Any], path: Path, secret: bool) -> None:
        pattern = schema.get("pattern")
        if pattern is None:
            return
        matches = self._patterns.matches(str(pattern), value)
        if matches is None:
            says = f"checking it against the pattern {pattern} would take too long"
            self.say("not-checkable", path, says)
        elif not matches:
            says = f"it must match {pattern}, and {_told(value, secret)} does not"
            self.say("no-match", path, says)

    def _items(
        self, value: list[Json], schema: Mapping[str, Any], path: Path, secret: bool
    ) -> list[Json]:
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        return [
            self.value(one, items, (*path, number), secret=secret)
            for number, one in enumerate(value)
        ]

    def _properties(
        self, value: dict[str, Json], schema: Mapping[str, Any], path: Path, secret: bool
    ) -> dict[str, Json]:
        properties = schema.get("properties")
        made = dict(value)
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if not isinstance(inner, dict):
                continue
            if value.get(name) is not None:
                made[name] = self.value(value[name], inner, (*path, name), secret=secret)
            elif inner.get("required") is True:
                self.say(
                    "missing", (*path, name), f"{wanted(inner)} is needed, and nothing was given"
                )
        return made


def wanted(schema: Mapping[str, Any]) -> str:
    """Say what a variable is to be, in the words of its declaration."""
    kind = NEEDED.get(str(schema.get("type")), "a value")
    said = schema.get("description")
    return f"{kind} ({shorten(said)})" if isinstance(said, str) and said.strip() else kind


def unfit(payload: object) -> Iterator[Problem]:
    """Say why a payload cannot be kept at all: no map, too large, too deep, no JSON."""
    if not isinstance(payload, Mapping):
        says = f"a map of names and values is needed, not {kind_of(payload)}"
        yield Problem("not-a-map", (), says)
        return
    wrong = list(islice(_unkept(payload), MOST_PROBLEMS))
    yield from wrong
    if not wrong and (size := len(orjson.dumps(payload))) > MOST_BYTES:
        says = f"it has {size:,} bytes, and at most {MOST_BYTES:,} are taken"
        yield Problem("too-large", (), says)


def _unkept(payload: Mapping[str, object]) -> Iterator[Problem]:
    """Look at every value, however deep it lies; what is too deep is not looked into."""
    stack: list[tuple[Mapping[str, object] | list[object], _Way | None, int]] = [(payload, None, 1)]
    while stack:
        held, way, depth = stack.pop()
        if depth > MOST_DEPTH:
            yield Problem("too-deep", _path(way)[:1], f"it is more than {MOST_DEPTH} levels deep")
            continue
        says = _unkeepable_key(held) if isinstance(held, Mapping) else None
        if says is not None:
            yield Problem("not-json", _path(way), says)
            continue
        for key, value in held.items() if isinstance(held, Mapping) else enumerate(held):
            if isinstance(value, dict | list):
                stack.append((value, _Way(way, key), depth + 1))
            elif (says := _unkeepable(value)) is not None:
                yield Problem("not-json", _path(_Way(way, key)), says)


class _Way(NamedTuple):
    """The way to a value, shared with its neighbours."""

    before: "_Way | None"
    key: str | int


def _path(way: _Way | None) -> Path:
    parts: list[str | int] = []
    while way is not None:
        parts.append(way.key)
        way = way.before
    return tuple(reversed(parts))


def _unkeepable_key(held: Mapping[str, object]) -> str | None:
    for key in held:
        if not isinstance(key, str):
            return f"its keys must be text, and {shorten(str(key), 40)} is not"
        if (says := _unkeepable_text(key)) is not None:
            return says
    return None


def _unkeepable(value: object) -> str | None:
    """Say why a value that holds no others cannot be kept."""
    if isinstance(value, str):
        return _unkeepable_text(value)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        fits = _LEAST_WHOLE <= value <= _MOST_WHOLE
        return None if fits else "the number is too long; write it as text, in quotes"
    if isinstance(value, float):
        return None if math.isfinite(value) else "NaN and Infinity are no numbers here"
    return f"a value of type {type(value).__name__} is no JSON"


def _unkeepable_text(text: str) -> str | None:
    if "\0" in text:
        return "it holds a character that cannot be kept: NUL"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "it holds a character that cannot be kept: half of a pair"
    return None


def _told(value: Json, secret: bool) -> str:
    return kind_of(value) if secret or isinstance(value, list | dict) else shown(value)


__all__ = [
    "MOST_BYTES",
    "MOST_DEPTH",
    "MOST_PROBLEMS",
    "NEEDED",
    "Fitting",
    "Problem",
    "place_of",
    "unfit",
    "wanted",
]
