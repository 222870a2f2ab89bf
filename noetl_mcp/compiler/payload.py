"""Lay a submitted payload over a plan's inputs, and tell everything that does not fit at once.

Renders nothing: a default that holds a template stays as it stands in the plan. Values from outside
are never templates, whatever braces they hold.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from noetl_mcp.compiler.fitting import (
    MOST_BYTES,
    MOST_DEPTH,
    NEEDED,
    Fitting,
    Problem,
    place_of,
    unfit,
    wanted,
)
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK
from noetl_mcp.compiler.workload import json_type
from noetl_mcp.diagnostics import Report, closest, shorten
from noetl_mcp.playbook.node import Json, Path, kind_of, plain
from noetl_mcp.playbook.scalars import read_scalar
from noetl_mcp.playbook.source import Source
from noetl_mcp.playbook.source import read as read_yaml

Inputs: TypeAlias = Sequence[Mapping[str, Any]]
_MOST_NAMES = 20
MOST_PARTS = 200
"""So many names may stand behind each other in the name of a value."""
_MOST_TOLD = 60
_WORDS: Mapping[str, bool] = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_AS_DEFAULT = {
    **NEEDED,
    "integer": "a number",
    "boolean": "true or false",
    "array": "a list in JSON",
    "object": "a map in JSON",
}


class WrongPayload(Exception):
    """What was given cannot even be read; it brings the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = problems


def check_payload(
    inputs: Inputs, payload: Mapping[str, Json]
) -> tuple[dict[str, Json], list[Problem]]:
    """Return the workload of an execution, and everything that is wrong with the payload.

    For a declared variable null says that nothing is given. A whole number may be written with a
    point, such as 2.0, and is kept without it.
    """
    problems = list(unfit(payload))
    if problems:
        return {}, problems
    workload, fitting = dict(payload), Fitting()
    _tell_strangers(inputs, payload, fitting)
    for one in inputs:
        name = str(one["name"])
        if _is_given(one, payload):
            workload[name] = fitting.value(payload[name], one.get("schema") or {}, (name,))
            continue
        workload[name] = _default(one)
        if one.get("required") and workload[name] is None:
            says = f"{wanted(one.get('schema') or one)} is needed, and nothing was given"
            fitting.say("missing", (name,), says)
    return workload, fitting.problems


def templated(inputs: Inputs, payload: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the variables in which `check_payload` leaves templates of the plan to be rendered."""
    left = (one for one in inputs if not _is_given(one, payload))
    return tuple(str(one["name"]) for one in left if _holds_template(one.get("default")))


def set_value(text: str, inputs: Inputs) -> tuple[Path, Json]:
    """Read what `--set` was given: `k=v`, `k.inside=v`, or `k:=JSON`.

    A text takes on the declared type or that of the default; JSON is taken as it is.
    """
    name, sign, written = text.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":").strip()
    path = _parts(name, inputs)
    if not sign or not all(path):
        _refuse("not-a-setting", (), f"'{shorten(text)}' is not of the form NAME=VALUE")
    if is_json:
        return path, _read_json(written, path)
    return path, _converted(written, path, _wanted_at(path, inputs))


def with_values(
    payload: Mapping[str, Json], values: Iterable[tuple[Path, Json]], inputs: Inputs
) -> dict[str, Json]:
    """Return a payload with values set inside, in their order.

    What is set inside a map keeps the rest of that map: of the payload, or else of the default.
    """
    made = dict(payload)
    for path, value in values:
        name, inside = str(path[0]), path[1:]
        if inside and name not in made:
            declared = next((one for one in inputs if one["name"] == name), {})
            if _holds_template(declared.get("default")):
                says = "its default holds a template; set it as a whole"
                _refuse("not-a-map", (name,), says)
            made[name] = _default(declared)
        made[name] = _put(made.get(name), inside, value, (name,))
    return made


def with_sets(payload: Mapping[str, Json], sets: Iterable[str], inputs: Inputs) -> dict[str, Json]:
    """Return a payload with settings such as `k=v` laid over it.

    When one cannot be read, all else that is wrong is told with it.
    """
    made, problems = dict(payload), list[Problem]()
    for text in sets:
        try:
            made = with_values(made, [set_value(text, inputs)], inputs)
        except WrongPayload as wrong:
            problems += wrong.problems
    if problems:
        known = {one.path[:1] for one in problems}
        others = check_payload(inputs, made)[1]
        raise WrongPayload(*problems, *(one for one in others if one.path[:1] not in known))
    return made


def read_payload(text: str) -> dict[str, Json]:
    """Read a payload from JSON or from YAML, whose scalars follow the rules of playbooks."""
    text = text.removeprefix("\ufeff")
    if len(text) > MOST_BYTES:
        _refuse("too-large", (), f"it is too large; at most {MOST_BYTES:,} bytes are taken")
    value: Json
    try:
        value = _read_json(text, ()) if text.lstrip()[:1] in ("{", "[") else _read_yaml(text)
    except _NotJson:
        value = _read_yaml(text)
    if not isinstance(value, dict):
        says = f"a map of names and values is needed, not {kind_of(value)}"
        _refuse("not-a-map", (), says)
    return value


def _is_given(one: Mapping[str, Any], payload: Mapping[str, Json]) -> bool:
    name = one["name"]
    return name in payload and (payload[name] is not None or not one.get("declared"))


def _default(one: Mapping[str, Any]) -> Json:
    """Return the default of a variable: plain, or as in the plan where it holds templates."""
    default = one.get("default")
    return default if _holds_template(default) else _thawed(default)


def _thawed(value: Any) -> Json:
    if isinstance(value, dict):
        inner = value.get(LITERAL_MARK, value)
        return {key: _thawed(child) for key, child in inner.items()}
    return [_thawed(child) for child in value] if isinstance(value, list) else value


def _holds_template(value: Any) -> bool:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack.extend(one)
        elif isinstance(one, dict) and LITERAL_MARK in one:
            stack.extend(one[LITERAL_MARK].values())
        elif isinstance(one, dict) and TEMPLATE_MARK in one:
            return True
        elif isinstance(one, dict):
            stack.extend(one.values())
    return False


def _tell_strangers(inputs: Inputs, payload: Mapping[str, Json], fitting: Fitting) -> None:
    """Tell names that the playbook does not have; one without a workload takes them all."""
    names = [str(one["name"]) for one in inputs]
    for name in payload if names else ():
        if name in names:
            continue
        near = closest(name, names)
        more = ", …" if len(names) > _MOST_NAMES else ""
        listed = f"; it has {', '.join(names[:_MOST_NAMES])}{more}" if near is None else ""
        fitting.say("unknown-name", (name,), f"the playbook has no such variable{listed}", near)


def _parts(name: str, inputs: Inputs) -> Path:
    """Split a dotted name; a variable whose own name has dots is one part."""
    known = {str(one["name"]) for one in inputs}
    parts = name.split(".")
    if len(parts) > MOST_PARTS:
        words = f"{name[:40]}…: a value stands at most {MOST_PARTS} levels deep"
        raise WrongPayload(Problem("too-deep", (), words))
    for length in range(len(parts), 1, -1):
        if ".".join(parts[:length]) in known:
            return (".".join(parts[:length]), *parts[length:])
    return tuple(parts)


class _Wanted(NamedTuple):
    """What is known of the place that a value is set at."""

    kind: str | None
    is_declared: bool
    """Whether `check_payload` will hold the value against it."""
    is_secret: bool


def _wanted_at(path: Path, inputs: Inputs) -> _Wanted:
    """Return the declared type of what a path leads to, or that of its default."""
    one: Mapping[str, Any] = next((one for one in inputs if one["name"] == path[0]), {})
    schema: Any = one.get("schema") if one.get("declared") else None
    default, secret = one.get("default"), _is_secret(schema)
    for part in path[1:]:
        schema, default = _schema_inside(schema, str(part)), _default_inside(default, str(part))
        secret = secret or _is_secret(schema)
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind is not None:
        return _Wanted(str(kind), True, secret)
    is_known = not (isinstance(default, dict) and TEMPLATE_MARK in default)
    return _Wanted(json_type(default) if is_known else None, False, secret)


def _is_secret(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("secret") is True


def _schema_inside(schema: Any, part: str) -> Any:
    if not isinstance(schema, dict):
        return None
    if part.isdecimal() and schema.get("type") == "array":
        return schema.get("items")
    inner = schema.get("properties")
    return inner.get(part) if isinstance(inner, dict) else None


def _default_inside(default: Any, part: str) -> Any:
    """Return a part of a default as it stands in the plan."""
    if isinstance(default, dict):
        return default.get(LITERAL_MARK, default).get(part)
    if isinstance(default, list) and part.isdecimal() and int(part[:9]) < len(default):
        return default[int(part[:9])]
    return None


def _converted(text: str, path: Path, wanted_here: _Wanted) -> Json:
    """Return a text as a value of the type that is wanted where it is set.

    What does not read as a declared type stays text, for `check_payload` to refuse. Nothing checks
    a plain default, so what does not read as its type is refused here.
    """
    kind = wanted_here.kind
    if kind is None or kind not in NEEDED or kind == "string":
        return text
    value = _read_as(kind, text)
    if wanted_here.is_declared:
        return value
    if value is None or isinstance(value, str):
        _refuse("wrong-type", path, _unlike_default(kind, text, path, wanted_here.is_secret))
    return value


def _read_as(kind: str, text: str) -> Json:
    """Return a text as a value of a type, or as it is; nothing written is null."""
    if kind in ("array", "object"):
        try:
            listed = _read_yaml(text)
        except WrongPayload:
            return text
        return listed if listed is None or json_type(listed) == kind else text
    if kind == "boolean" and text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    value = read_scalar(text.strip())
    return text if isinstance(value, bool) or (kind == "boolean" and value is not None) else value


def _unlike_default(kind: str, text: str, path: Path, is_secret: bool) -> str:
    """Say that a text is not what the default is, and how to set it all the same."""
    name = ".".join(map(str, path))
    is_told = not is_secret and len(text) <= _MOST_TOLD
    given = f"the text '{text}'" if is_told else "this text"
    instead = json.dumps(text, ensure_ascii=False) if is_told else '"…"'
    if not text.strip() or text.strip() in ("null", "~"):
        return f"{_AS_DEFAULT[kind]} is needed, as its default is; write {name}:=null for nothing"
    return (
        f"{_AS_DEFAULT[kind]} is needed, as its default is, not {given};"
        f" write {name}:={instead} when text is meant"
    )


def _put(into: Json, inside: Path, value: Json, at: Path) -> Json:
    if not inside:
        return value
    part, rest = inside[0], inside[1:]
    if into is None or isinstance(into, dict):
        made = dict(into or {})
        made[str(part)] = _put(made.get(str(part)), rest, value, (*at, part))
        return made
    index = str(part)
    if isinstance(into, list) and index.isdecimal() and int(index[:9]) < len(into):
        number = int(index[:9])
        return [
            _put(one, rest, value, (*at, number)) if n == number else one
            for n, one in enumerate(into)
        ]
    says = f"there is no '{shorten(index)}' in {kind_of(into)}"
    _refuse("not-a-map", at, says)


class _NotJson(Exception):
    """A text is not JSON; it may be something else."""


def _read_json(text: str, path: Path) -> Json:
    """Read JSON; of a payload as a whole another form is tried when it is none."""
    try:
        value: Json = json.loads(text, object_pairs_hook=_map, parse_constant=_no_number)
    except RecursionError:
        _refuse("too-deep", path, f"it is more than {MOST_DEPTH} levels deep")
    except ValueError as error:
        if not path:
            raise _NotJson from None
        _refuse("not-json", path, f"what follows ':=' is not JSON: {shorten(str(error))}")
    return value


def _map(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        double = keys.most_common(1)[0][0]
        _refuse("double-key", (), f"'{shorten(double)}' stands more than once in one map")
    return made


def _no_number(word: str) -> NoReturn:
    _refuse("not-json", (), f"{word} is no number here")


def _read_yaml(text: str) -> Json:
    source = Source("", text)
    report = Report(source)
    read_yaml(source, report)
    wrong = [one for one in report if one.severity == "error"]
    if wrong:
        said = ((one.place.line, one.place.column, one.message) for one in wrong)
        raise WrongPayload(
            *(
                Problem("not-readable", (), f"line {line}, column {column}: {message}")
                for line, column, message in said
            )
        )
    return None if source.root is None else plain(source.root)


def _refuse(code: str, path: Path, says: str) -> NoReturn:
    raise WrongPayload(Problem(code, path, says))


__all__ = [
    "Inputs",
    "Problem",
    "WrongPayload",
    "check_payload",
    "place_of",
    "read_payload",
    "set_value",
    "templated",
    "with_sets",
    "with_values",
]
