"""Say whether a plan is valid: all errors and warnings with their places. Draws nothing.

A text that cannot be read has its syntax errors only; what it means is not asked then.
"""

from collections.abc import Iterable
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Building
from noetl_mcp.bim.floorplan.checks.registry import findings
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding, Lines
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.rules import ERROR


def validate(text: str, raw: bool = False) -> dict[str, Any]:
    """Return what the tool answers: `valid`, `errors`, and `warnings` where there are any.

    `raw` reads numbers without their units.
    """
    reading = read(text)
    if reading.errors:
        return verdict(reading.errors, reading.lines)
    return verdict(judged(reading.plan, understood(reading.plan, raw)), reading.lines)


def judged(plan: tree.Plan, building: Building) -> tuple[Finding, ...]:
    """Return everything that is found in a plan that could be read."""
    return tuple(findings(Subject(plan, building, building.raw)))


def verdict(found: Iterable[Finding], lines: Lines) -> dict[str, Any]:
    """Return findings as the tool answers them."""
    errors: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    for one in found:
        (errors if one.severity == ERROR else warnings).append(one.as_json(lines))
    answer: dict[str, Any] = {"valid": not errors, "errors": errors}
    if warnings:
        answer["warnings"] = warnings
    return answer
