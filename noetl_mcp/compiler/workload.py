"""Pass: the workload's declarations hold together, and there is something to do.

Before and after: the same draft; declared types, defaults and bounds are only checked here. What
a declaration is stands in `declared`, which the submit of a payload uses too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noetl_mcp.compiler.draft import Draft
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path, kind_of
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import shape, templates
from noetl_mcp.tasks.patterns import compiled

KEYS = frozenset(
    [
        "type",
        "required",
        "default",
        "enum",
        "description",
        "format",
        "secret",
        "items",
        "properties",
        "minimum",
        "maximum",
        "pattern",
    ]
)
_MOST_PATTERN = 1_000
_REPEATED_GROUP = re.compile(r"\)[*+{]|\\\d|\(\?P=")
_MANY = 20
_MOST_TRIES = 10_000_000
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a workload: declared with a type, or known by its default."""

    name: str
    type: str | None
    required: bool
    has_default: bool
    default: Any
    schema: Mapping[str, Any]
    is_declared: bool


def is_declaration(value: object) -> bool:
    """Whether a workload entry declares a variable instead of being its default."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return value["type"] in TYPES and set(value) <= KEYS


def declared(workload: Mapping[str, Any]) -> tuple[Variable, ...]:
    """Return the variables of a workload."""
    return tuple(_variable(name, value) for name, value in workload.items())


def _variable(name: str, value: Any) -> Variable:
    if is_declaration(value):
        schema = {key: part for key, part in value.items() if key not in ("required", "default")}
        return Variable(
            name,
            value["type"],
            value.get("required") is True,
            "default" in value,
            value.get("default"),
            schema,
            True,
        )
    return Variable(
        name, None if is_template(value) else json_type(value), False, True, value, {}, False
    )


def json_type(value: object) -> str | None:
    """Return the JSON type of a value; nothing has none."""
    if isinstance(value, bool):
        return "boolean"
    return next((name for name, kinds in TYPES.items() if isinstance(value, kinds)), None)


def check_workload(draft: Draft, report: Report) -> Draft:
    """Check every declaration, and that the playbook does something."""
    book = draft.playbook
    has_turns = book.mcp is not None and book.mcp.turns
    if not book.workflow and not has_turns and not report.has():
        report.say(shape.NO_STEPS, ("workflow",), at_key=True)
    for variable in declared(book.workload or {}):
        if variable.is_declared:
            _check(variable, ("workload", variable.name), report)
        elif isinstance(variable.default, dict):
            _say_almost(variable.name, variable.default, report)
    return draft


def _say_almost(name: str, value: dict[str, Any], report: Report) -> None:
    """Report what was surely meant to be a declaration: one letter off, and it declares nothing."""
    kind = value.get("type")
    strange = sorted(set(value) - KEYS)
    if not isinstance(kind, str):
        _say_typeless(name, value, report)
        return
    at: Path = ("workload", name)
    known = ", ".join(sorted(KEYS))
    if kind in TYPES and strange:
        near = report.near(strange[0], KEYS)
        if near is not None:
            problem = f"it has no key '{strange[0]}'"
            report.say(
                templates.ALMOST_DECLARED,
                (*at, strange[0]),
                at_key=True,
                suggestion=near,
                name=name,
                problem=problem,
                known=known,
            )
    elif not strange and report.near(kind, TYPES) is not None:
        near = report.near(kind, TYPES)
        problem = f"'{kind}' is no JSON type"
        report.say(
            templates.ALMOST_DECLARED,
            (*at, "type"),
            suggestion=near,
            name=name,
            problem=problem,
            known=known,
        )


def _say_typeless(name: str, value: dict[str, Any], report: Report) -> None:
    """A default or a description beside something like `type` was meant to declare."""
    if "type" in value or not {"default", "description", "required", "enum"} & set(value):
        return
    for key in value:
        if key not in KEYS and report.near(key.partition(" ")[0], ("type",)) == "type":
            report.say(
                templates.ALMOST_DECLARED,
                ("workload", name, key),
                at_key=True,
                suggestion="type",
                name=name,
                problem=f"it has no key '{key}'",
                known=", ".join(sorted(KEYS)),
            )


def _check(variable: Variable, at: Path, report: Report) -> None:
    problem = problem_of_schema(variable.schema)
    if problem is not None:
        report.say(templates.BAD_DECLARATION, at, at_key=True, name=variable.name, problem=problem)
        return
    if variable.has_default and not is_template(variable.default):
        wrong = problem_of_value(variable.default, _checkable(variable))
        if wrong is not None:
            place = (*at, "default")
            report.say(templates.WRONG_DEFAULT, place, name=variable.name, problem=wrong)


def _checkable(variable: Variable) -> Mapping[str, Any]:
    """Return the schema, without a pattern that might search the default for a very long time."""
    pattern, default = str(variable.schema.get("pattern", "")), variable.default
    choices = sum(map(pattern.count, "*+?{|"))
    is_nested = _REPEATED_GROUP.search(pattern) is not None
    tries = len(default) ** (choices + 1) if isinstance(default, str) and choices < _MANY else 0
    if not is_nested and choices < _MANY and tries <= _MOST_TRIES:
        return variable.schema
    return {key: value for key, value in variable.schema.items() if key != "pattern"}


def problem_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a declaration itself."""
    enum = schema.get("enum")
    if enum is not None and (not isinstance(enum, list) or not enum):
        return "'enum' must be a list with at least one value"
    for value in enum or ():
        if problem_of_value(value, {"type": schema["type"]}) is not None:
            return f"'enum' holds {kind_of(value)}"
    for key in ("minimum", "maximum"):
        limit = schema.get(key)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float))):
            return f"'{key}' must be a number"
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None and least > most:
        return "'minimum' is above 'maximum'"
    pattern = str(schema.get("pattern", ""))
    if len(pattern) > _MOST_PATTERN:
        return f"'pattern' has more than {_MOST_PATTERN:,} characters"
    try:
        compiled(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"'pattern' does not parse: {error}"
    return None


def problem_of_value(value: object, schema: Mapping[str, Any]) -> str | None:
    """Say why a value does not fit a declaration; None when it does."""
    kind = schema.get("type")
    if kind is not None and not _is(value, str(kind)):
        article = "an" if str(kind)[0] in "aio" else "a"
        return f"it should be {article} {kind}, not {kind_of(value)}"
    enum = schema.get("enum")
    if enum is not None and value not in enum:
        return "it should be one of " + ", ".join(map(str, enum))
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(value, (int, float)) and least is not None and value < least:
        return f"it should be at least {least}"
    if isinstance(value, (int, float)) and most is not None and value > most:
        return f"it should be at most {most}"
    pattern = schema.get("pattern")
    if isinstance(value, str) and pattern is not None and not compiled(pattern).search(value):
        return f"it should match {pattern}"
    return None


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind]) if kind in TYPES else True
