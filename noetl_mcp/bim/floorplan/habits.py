"""What holds where a plan says nothing: its `config`, completed by defaults. Judges no value.

A value that cannot be meant (`theme: neon`, `wall_thickness: true`) is passed over here; the checks
tell of it.
"""

import re
from collections.abc import Mapping
from functools import cache

from noetl_mcp.bim.floorplan import tree, units, words
from noetl_mcp.bim.floorplan.building import Habits

Value = float | bool | str | tree.Number | tree.Size
_HUMP = re.compile(r"(?<=[a-z])([A-Z])")
_RAW: Mapping[str, float] = {
    "wall_thickness": 0.2,
    "floor_thickness": 0.3,
    "default_height": 3.35,
    "door_width": 1.0,
    "door_height": 2.1,
    "window_width": 1.5,
    "window_height": 1.5,
    "window_sill": 0.9,
}
_METRIC: Mapping[str, float] = {
    "wall_thickness": 0.2,
    "floor_thickness": 0.3,
    "default_height": 2.7,
    "door_width": 0.9,
    "door_height": 2.1,
    "window_width": 1.5,
    "window_height": 1.2,
    "window_sill": 0.9,
}
_IMPERIAL: Mapping[str, float] = {
    "wall_thickness": 0.5,
    "floor_thickness": 1.0,
    "default_height": 9.0,
    "door_width": 3.0,
    "door_height": 6.75,
    "window_width": 4.0,
    "window_height": 4.0,
    "window_sill": 3.0,
}


@cache
def key_of(written: str) -> str:
    """Return a key in its first spelling: `wallThickness` is `wall_thickness`."""
    return _HUMP.sub(r"_\1", written).lower()


def settings(plan: tree.Plan) -> dict[str, tree.Property]:
    """Return the config by key; of keys that stand twice the last counts."""
    if plan.config is None:
        return {}
    return {key_of(found.key): found for found in plan.config.properties}


def default_unit(given: Mapping[str, tree.Property]) -> str | None:
    """Return the unit that the config names, if it is one."""
    return _one_of(given, "default_unit", words.UNITS)


def habits(plan: tree.Plan, *, raw: bool = False) -> Habits:
    """Return what holds in a plan; `raw` reads numbers without their units."""
    given = settings(plan)
    named = default_unit(given)
    unit = named or ("ft" if raw else units.unit_of(plan, None))
    scale = units.scale_to(unit, raw=raw)
    lengths = _lengths(given, _defaults(unit, raw=raw), scale)
    areas = _one_of(given, "area_unit", words.AREA_UNITS)
    theme = _one_of(given, "theme", words.THEMES)
    return Habits(
        unit=unit,
        area_unit=areas or ("sqm" if unit in units.METRIC else "sqft"),
        theme=theme or ("dark" if _flag(given, "dark_mode") else "default"),
        show_labels=_flag(given, "show_labels", default=True),
        show_dimensions=_flag(given, "show_dimensions"),
        font_family=_text(given, "font_family"),
        font_size=_length(given, "font_size", scale),
        default_style=_text(given, "default_style"),
        stair_code=_one_of(given, "stair_code", words.CODES) or "none",
        **lengths,
    )


def _defaults(unit: str, *, raw: bool) -> Mapping[str, float]:
    if raw:
        return _RAW
    family, own = (_METRIC, "m") if unit in units.METRIC else (_IMPERIAL, "ft")
    worth = units.factor(own, unit)
    return {key: value * worth for key, value in family.items()}


def _lengths(
    given: Mapping[str, tree.Property], defaults: Mapping[str, float], scale: units.Scale
) -> dict[str, float]:
    lengths = {}
    for key, default in defaults.items():
        found = _length(given, key, scale)
        lengths[key] = default if found is None or found < 0 else found
    for kind in ("door", "window"):
        size = given.get(f"{kind}_size")
        if size is None or not isinstance(size.value, tree.Size):
            continue
        lengths[f"{kind}_width"] = scaled(size.value.width, scale)
        if size.value.height is not None:
            lengths[f"{kind}_height"] = scaled(size.value.height, scale)
    return lengths


def scaled(number: tree.Number, scale: units.Scale) -> float:
    """Return a number in the unit of a scale."""
    return number.value * scale[number.unit]


def _length(given: Mapping[str, tree.Property], key: str, scale: units.Scale) -> float | None:
    found = given.get(key)
    if found is None or isinstance(found.value, bool | str | tree.Size):
        return None
    if isinstance(found.value, tree.Number):
        return scaled(found.value, scale)
    return float(found.value)


def _one_of(given: Mapping[str, tree.Property], key: str, allowed: tuple[str, ...]) -> str | None:
    value = _text(given, key)
    return value if value in allowed else None


def _text(given: Mapping[str, tree.Property], key: str) -> str | None:
    found = given.get(key)
    return found.value if found is not None and isinstance(found.value, str) else None


def _flag(given: Mapping[str, tree.Property], key: str, *, default: bool = False) -> bool:
    found = given.get(key)
    return found.value if found is not None and isinstance(found.value, bool) else default
