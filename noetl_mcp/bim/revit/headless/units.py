"""What a file counts in. Follows a unit to the metre, and refuses what leads nowhere."""

from typing import Any

from noetl_mcp.bim.revit.headless.frames import Entity

_LONGEST = 8
"""From one unit to the next until the metre; more are no units but a circle."""
_LEAST, _MOST = 1e-12, 1e12


def scale(file: Any, kind: str) -> float:
    """Return what a unit is in metres, or in square or cubic ones, or radians; raise ValueError."""
    from ifcopenshell.util import unit

    _demand_one(_assigned(file, kind))
    found = unit.calculate_unit_scale(file, kind)
    if not isinstance(found, int | float) or not _LEAST < found < _MOST:
        raise ValueError(f"it counts in units that cannot be: {found}")
    return float(found)


def _assigned(file: Any, kind: str) -> list[Entity]:
    held = file.by_type("IfcProject")[0].UnitsInContext
    units = () if held is None else held.Units
    return [one for one in units if getattr(one, "UnitType", None) == kind]


def _demand_one(units: list[Entity]) -> None:
    if len(units) > 1:
        raise ValueError(f"it counts in several units at once, #{units[0].id()} and others")
    for one in units:
        at, steps = one, 0
        while at.is_a("IfcConversionBasedUnit"):
            at, steps = at.ConversionFactor.UnitComponent, steps + 1
            if steps > _LONGEST:
                raise ValueError(f"unit #{one.id()} is told by itself")
        if not at.is_a("IfcSIUnit"):
            raise ValueError(f"unit #{one.id()} leads to {at.is_a()}, which is no unit of its own")


__all__ = ["scale"]
