"""Read a plan and find out what it means, or say why no tool can go on with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.building import Building
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.validate import judged, verdict


@dataclass(frozen=True, slots=True)
class Considered:
    """A plan without errors, what it means, and the warnings about it."""

    building: Building
    warnings: Mapping[str, Any]


def considered(text: str, *, raw: bool = False) -> Considered | Answer:
    """Return the building of a plan, or the answer with its errors where it has some."""
    reading = read(text)
    if reading.errors:
        return failure(verdict(reading.errors, reading.lines))
    building = understood(reading.plan, raw)
    found = verdict(judged(reading.plan, building), reading.lines)
    if found["errors"]:
        return failure(found)
    return Considered(building, {"warnings": found["warnings"]} if "warnings" in found else {})


def failure(found: Mapping[str, Any]) -> Answer:
    """Return the answer of a tool that cannot go on."""
    facts = {key: found[key] for key in ("errors", "warnings") if key in found}
    return Answer({"success": False, **facts})
