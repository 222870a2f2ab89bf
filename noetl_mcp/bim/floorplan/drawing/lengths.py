"""Lengths and areas as drawings write them. It refuses to measure anything."""

from functools import lru_cache

from noetl_mcp.bim.floorplan.units import METRES, SQUARE_METRES

FEET, INCHES = "\u2032", "\u2033"
_BY = "\u00d7"
_NAMES = {"sqm": "m²", "sqft": "sq ft"}


def length(value: float, unit: str, shown: str | None) -> str:
    """Write a length for a dimension chain: 3.60, 360, 12'-6"; marks are primes."""
    if shown is None and unit == "in":
        shown = "ft"
    to = shown or unit
    number = value * METRES[unit] / METRES[to]
    if to == "ft":
        return feet(number)
    if to == "in":
        return f"{_trimmed(number, 1)}{INCHES}"
    return f"{number:.2f}" if to == "m" else f"{number:.0f}"


@lru_cache(maxsize=4096)
def size(width: float, height: float, unit: str, shown: str | None) -> str:
    """Write the two sides of a room, with the unit where no mark tells it."""
    both = f"{length(width, unit, shown)} {_BY} {length(height, unit, shown)}".replace(
        f"-0{INCHES}", ""
    )
    to = shown or unit
    return both if to in ("ft", "in") else f"{both} {to}"


def area(value: float, unit: str, shown: str) -> str:
    """Write an area: 12.5 m², 134 sq ft."""
    number = value * METRES[unit] ** 2 / SQUARE_METRES[shown]
    return f"{_trimmed(number, 1) if number < 1000 else f'{number:,.0f}'} {_NAMES[shown]}"


def feet(number: float) -> str:
    """Write feet and inches, to the nearest inch."""
    inches = round(number * 12)
    return f"{inches // 12}{FEET}-{inches % 12}{INCHES}"


def _trimmed(number: float, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
