"""Say in plain words what the model refused. Knows the validator's words, so nobody else must."""

import re

from pydantic_core import ErrorDetails

from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.dialects.reading import shown
from noetl_mcp.playbook.known_keys import known_keys
from noetl_mcp.playbook.node import Node, Path
from noetl_mcp.rules import shape

_WANTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a map of keys",
    "model_type": "a map of keys",
    "model_attributes_type": "a map of keys",
}


def meant_keys(details: list[ErrorDetails], report: Report) -> dict[Path, Path]:
    """Return for each key that is not known the one that was probably meant."""
    found: dict[Path, Path] = {}
    for detail in details:
        path = detail["loc"]
        if detail["type"] == "extra_forbidden" and path:
            near = report.near(str(path[-1]), known_keys(path[:-1]))
            if near is not None:
                found[path] = (*path[:-1], near)
    return found


def said(detail: ErrorDetails, path: Path, node: Node, meant: Path | None, report: Report) -> None:
    """Report one refusal of the model at its place."""
    kind, key = detail["type"], str(path[-1]) if path else "playbook"
    if kind == "missing":
        report.say(shape.MISSING_KEY, path[:-1], at_key=True, where=where(path[:-1]), key=key)
        return
    if kind == "extra_forbidden":
        report.say(
            shape.UNKNOWN_KEY,
            path,
            at_key=True,
            suggestion=str(meant[-1]) if meant is not None else None,
            where=where(path[:-1]),
            key=key,
            known=", ".join(known_keys(path[:-1])),
        )
        return
    name = str(path[-2]) if isinstance(path[-1], int) and len(path) > 1 else key
    if node.key is not None and isinstance(node.key.value, str):
        name = node.key.value
    near = nearest_of(detail, report)
    want, found = wanted(detail), shown(node)
    report.say(shape.WRONG_VALUE, path, suggestion=near, key=name, wanted=want, found=found)


def nearest_of(detail: ErrorDetails, report: Report) -> str | None:
    """Return the word of an enumeration that a value is nearest to."""
    value = detail["input"]
    if not isinstance(value, str):
        return None
    if detail["type"] == "bool_type":
        return report.near(value, ("true", "false"))
    expected = str((detail.get("ctx") or {}).get("expected", ""))
    words = re.findall(r"'([^']*)'", expected)
    return report.near(value, words) if words else None


def wanted(detail: ErrorDetails) -> str:
    """Say what a value should have been."""
    kind, limits = detail["type"], detail.get("ctx") or {}
    if kind in _WANTED:
        return _WANTED[kind]
    if kind == "shape":
        return detail["msg"]
    if kind == "literal_error":
        return str(limits["expected"]).replace("'", "")
    if kind == "greater_than_equal":
        return f"{limits['ge']} or more"
    if kind == "less_than_equal":
        return f"{limits['le']} or less"
    if kind in ("string_too_short", "too_short"):
        return "not empty"
    if kind == "string_too_long":
        return f"at most {limits['max_length']} characters long"
    if kind == "string_pattern_mismatch":
        return "a plain name"
    return detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")


def where(path: Path) -> str:
    """Name the part of a playbook that a path leads to."""
    words = [str(part) for part in path if isinstance(part, str)]
    if not words:
        return "the playbook"
    singular = {"workflow": "a step", "workbook": "a workbook action", "finally": "a step"}
    if len(path) == 2 and isinstance(path[-1], int):
        return singular.get(words[0], f"an item of '{words[0]}'")
    if isinstance(path[-1], int):
        return f"an item of '{words[-1]}'"
    return f"'{words[-1]}'"
