"""Checks of the values in styles and in the config."""

import re
from collections.abc import Iterator

from noetl_mcp.bim.floorplan import tree, words
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.habits import key_of
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING, Rule, hint, of_language
from noetl_mcp.bim.floorplan.units import shown

_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_STYLE_KINDS = {key.name: key.kind for key in words.STYLE_KEYS}
_CONFIG_KINDS = {key.name: key.kind for key in words.CONFIG_KEYS}
_CHOICES = {
    "unit": words.UNITS,
    "area_unit": words.AREA_UNITS,
    "theme": words.THEMES,
    "code": words.CODES,
}
_KINDS = {
    "number": "a number",
    "size": "a size such as (3 x 7)",
    "style": "the name of a style",
    "flag": "true or false",
    "string": "a text in quotes",
} | {kind: f"one of {', '.join(choices)}" for kind, choices in _CHOICES.items()}

COLOR_FORMAT = of_language(
    "color-format",
    ERROR,
    "Invalid color format '{value}' for {key}. Use hex format like \"#RRGGBB\".",
    "a colour is a text that is not # and six hexadecimal digits",
)
COLOR_NUMBER = of_language(
    "color-number",
    ERROR,
    '{key} must be a hex color string (e.g., "#RRGGBB"), not a number.',
    "a colour is a number",
)
SHARE_RANGE = of_language(
    "share-range",
    ERROR,
    "{key} must be between 0 and 1, got {value}.",
    "roughness or metalness is over 1",
)
SHARE_TEXT = of_language(
    "share-text",
    ERROR,
    "{key} must be a number between 0 and 1, not a string.",
    "roughness or metalness is a text",
)
TEXTURE_NUMBER = of_language(
    "texture-number",
    ERROR,
    '{key} must be a texture path string (e.g., "textures/wood.jpg"), not a number.',
    "a texture is a number",
)
UNIT_NUMBER = of_language(
    "unit-number",
    ERROR,
    "default_unit must be a unit symbol (m, ft, cm, in, mm), not a number.",
    "`default_unit` is a number",
)
UNIT_NAME = of_language(
    "unit-name",
    ERROR,
    "default_unit must be a unit symbol (m, ft, cm, in, mm), not an identifier. Valid units: m, "
    "ft, cm, in, mm",
    "`default_unit` is a name that is no unit",
)
FONT_SIZE = of_language(
    "font-size",
    ERROR,
    "fontSize must be a positive number, got {value}.",
    "the font size is 0",
)
REDUNDANT_SIZE = of_language(
    "redundant-size",
    WARNING,
    "Config specifies both '{size}' and {others}. The '{size}' property takes precedence, making "
    "{others} redundant.",
    "the config has `door_size` or `window_size` and a width or height of the same",
)
REDUNDANT_DARK = of_language(
    "redundant-dark-mode",
    WARNING,
    "Both 'theme' and 'darkMode' are specified. The 'theme' property takes precedence, making "
    "'darkMode' redundant.",
    "the config has a theme and a dark mode",
)
UNKNOWN_VALUE = hint(
    "config-value",
    "'{key}' does not take '{value}' and is ignored: it must be {kind}.",
    "a value of the config is of another kind than its key, or a word that the key does not know",
)
REPEATED_KEY = hint(
    "repeated-key",
    "'{key}' stands here for a second time; the last one counts.",
    "a config or a style has one key twice",
)
RULES = (
    REDUNDANT_SIZE,
    REDUNDANT_DARK,
    COLOR_FORMAT,
    COLOR_NUMBER,
    SHARE_RANGE,
    SHARE_TEXT,
    TEXTURE_NUMBER,
    UNIT_NUMBER,
    UNIT_NAME,
    FONT_SIZE,
    UNKNOWN_VALUE,
    REPEATED_KEY,
)


def redundant(subject: Subject) -> Iterator[Finding]:
    """Look for keys of the config that others make useless."""
    given = subject.settings
    for kind in ("door", "window"):
        size = given.get(f"{kind}_size")
        names = [f"{kind}_width", f"{kind}_height"]
        there = [given[name].key for name in names if name in given]
        if size is not None and there:
            others = " and ".join(f"'{name}'" for name in there)
            yield REDUNDANT_SIZE.found(size.start, size.end, size=f"{kind}_size", others=others)
    if "theme" in given and "dark_mode" in given:
        dark = given["dark_mode"]
        yield REDUNDANT_DARK.found(dark.start, dark.end)


def style_values(subject: Subject) -> Iterator[Finding]:
    """Look at the values of all styles."""
    for style in subject.plan.styles:
        for found in style.properties:
            rule = _wrong_style_value(found)
            if rule is not None:
                yield rule.found(
                    found.value_start, found.value_end, key=found.key, value=_text(found.value)
                )
        yield from _repeated(style.properties)


def _wrong_style_value(found: tree.Property) -> Rule | None:
    """Return the rule that a value of a style breaks."""
    kind, value = _STYLE_KINDS.get(found.key), found.value
    is_text = isinstance(value, str)
    if kind == "color":
        if not is_text:
            return COLOR_NUMBER
        return None if _COLOR.fullmatch(str(value)) else COLOR_FORMAT
    if kind == "string":
        return None if is_text else TEXTURE_NUMBER
    if kind != "number":
        return None
    if is_text:
        return SHARE_TEXT
    number = value.value if isinstance(value, tree.Number) else value
    is_share = isinstance(number, float | int) and 0 <= number <= 1
    return None if is_share else SHARE_RANGE


def config_values(subject: Subject) -> Iterator[Finding]:
    """Look at the values of the config."""
    if subject.plan.config is None:
        return
    for found in subject.plan.config.properties:
        place = (found.value_start, found.value_end)
        rule = _wrong_config_value(found)
        if rule is not None:
            yield rule.found(*place, value=_text(found.value))
            continue
        kind = _CONFIG_KINDS.get(key_of(found.key))
        if kind is not None and not _is_of(found, kind):
            yield UNKNOWN_VALUE.found(
                *place, key=found.key, value=_text(found.value), kind=_KINDS[kind]
            )
    yield from _repeated(subject.plan.config.properties)


def _wrong_config_value(found: tree.Property) -> Rule | None:
    """Return the rule of the language that a value breaks; only `default_unit` is looked at so."""
    value, is_flag = found.value, isinstance(found.value, bool)
    if found.key == "default_unit" and not is_flag:
        if isinstance(value, float | int | tree.Number):
            return UNIT_NUMBER
        if found.kind == "name" and value not in words.UNITS:
            return UNIT_NAME
    is_number = isinstance(value, float | int) and not is_flag
    if key_of(found.key) == "font_size" and is_number and value == 0:
        return FONT_SIZE
    return None


def _is_of(found: tree.Property, kind: str) -> bool:
    """Tell whether a value is of the kind that its key wants."""
    value, is_flag = found.value, isinstance(found.value, bool)
    if kind == "flag":
        return is_flag
    if kind == "number":
        return isinstance(value, float | int | tree.Number) and not is_flag
    if kind == "size":
        return isinstance(value, tree.Size)
    return isinstance(value, str) and (kind not in _CHOICES or value in _CHOICES[kind])


def _repeated(properties: tuple[tree.Property, ...]) -> Iterator[Finding]:
    seen: set[str] = set()
    for found in properties:
        key = key_of(found.key)
        if key in seen:
            yield REPEATED_KEY.found(found.start, found.end, key=found.key)
        seen.add(key)


def _text(value: float | bool | str | tree.Number | tree.Size) -> str:
    """Write a value as the plan has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | int):
        return shown(value)
    if isinstance(value, tree.Number):
        return f"{shown(value.value)}{value.unit or ''}"
    if isinstance(value, tree.Size):
        height = "full" if value.height is None else _text(value.height)
        return f"({_text(value.width)} x {height})"
    return value
