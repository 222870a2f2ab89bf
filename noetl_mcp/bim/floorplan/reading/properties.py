"""Reads defines, styles and the config: names, keys and their values."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from noetl_mcp.bim.floorplan.reading import values
from noetl_mcp.bim.floorplan.reading.cursor import Cursor, Lost
from noetl_mcp.bim.floorplan.scanner import is_number, is_string, unquoted
from noetl_mcp.bim.floorplan.tree import Config, Define, Name, Number, Property, Size, Style


class Value(NamedTuple):
    """What stands behind a key, and what kind of thing it is."""

    value: float | bool | str | Number | Size
    kind: str


def define(c: Cursor) -> Define:
    """Read `define small (8 x 8)`."""
    start = c.start
    c.i += 1
    name = c.name("a name for the size")
    return Define(name, values.sized(c), start, c.end)


def style(c: Cursor) -> Style:
    """Read `style wood { floor_color: "#aabbcc" }`."""
    start = c.start
    c.i += 1
    name: Name = c.name("a name for the style")
    keys = tuple(key.name for key in c.words.style_keys)
    found = _properties(c, "a key of a style", keys, _style_value)
    return Style(name, found, start, c.end)


def config(c: Cursor) -> Config:
    """Read `config { wall_thickness: 0.5 }`."""
    start = c.start
    c.i += 1
    keys = c.words.tables["config_keys"]
    found = _properties(c, "a key of the config", keys, config_value)
    return Config(found, start, c.end)


def _properties(
    c: Cursor, what: str, keys: Collection[str], read: Callable[[Cursor], Value]
) -> tuple[Property, ...]:
    c.take("{")
    found: list[Property] = []
    while True:
        try:
            found.append(_property(c, what, keys, read))
            if c.passes(","):
                continue
            c.take("}")
            break
        except Lost:
            c.skip((",", "style"))
            if not c.passes(","):
                c.passes("}")
                break
    return tuple(found)


def _property(
    c: Cursor, what: str, keys: Collection[str], read: Callable[[Cursor], Value]
) -> Property:
    start = c.start
    key = c.one_of(what, keys)
    c.take(":")
    value_start = c.start
    value, kind = read(c)
    return Property(key, value, kind, start, c.end, value_start, c.end)


def _style_value(c: Cursor) -> Value:
    if is_number(c.texts[c.i]):
        return Value(c.number(), "number")
    return Value(unquoted(c.string("a text in quotes or a number")), "string")


def config_value(c: Cursor) -> Value:
    """Read a value of any kind; which kind a key means is not asked here."""
    sign = c.texts[c.i]
    if is_number(sign):
        number = values.length(c)
        return Value(number.value if number.unit is None else number, "number")
    if is_string(sign):
        c.i += 1
        return Value(unquoted(sign), "string")
    if sign[:1] == "(":
        return Value(values.sized(c), "size")
    if sign in c.words.flags:
        c.i += 1
        return Value(sign == c.words.flags[0], "flag")
    if sign in c.words.units:
        c.i += 1
        return Value(sign, "unit")
    if sign in c.words.config_words:
        c.i += 1
        return Value(sign, "name")
    return Value(c.name("a value").text, "name")
