"""Reads what clauses are made of: lengths, sizes, points, names after a word, relations."""

from noetl_mcp.bim.floorplan.reading.cursor import Cursor, Lost
from noetl_mcp.bim.floorplan.scanner import unquoted
from noetl_mcp.bim.floorplan.tree import (
    Name,
    Number,
    Point,
    Relation,
    Size,
    SizeName,
    StyleName,
    Text,
    WallOf,
)
from noetl_mcp.bim.floorplan.words import OUTSIDE


def length(c: Cursor) -> Number:
    """Read `10`, `9.5ft`."""
    i = c.i
    value = c.number()
    end = c.ends[i]
    start = end - len(c.texts[i])
    unit = c.texts[i + 1]
    if unit not in c.words.units:
        return Number(value, None, start, end)
    c.i = i + 2
    return Number(value, unit, start, c.ends[i + 1])


def pair(c: Cursor, between: str) -> tuple[Number, Number]:
    """Read two lengths in parentheses; those without units are one sign."""
    i = c.i
    sign = c.texts[i]
    if len(sign) > 1 and sign[0] == "(":
        return _plain_pair(c, sign, c.ends[i] - len(sign), between)
    c.take("(")
    one = length(c)
    c.take(between)
    other = length(c)
    c.take(")")
    return one, other


def _plain_pair(c: Cursor, sign: str, start: int, between: str) -> tuple[Number, Number]:
    parts = c.scanner.pair.match(sign)
    assert parts is not None
    one, separator, other = parts.groups()
    a, a_end, b, b_end = *parts.span(1), *parts.span(3)
    if separator != between:
        place = start + parts.start(2)
        c.found(
            "unexpected", f"Expected '{between}', but found '{separator}'.", place, place + 1, ()
        )
        raise Lost
    c.i += 1
    return (
        Number(float(one), None, start + a, start + a_end),
        Number(float(other), None, start + b, start + b_end),
    )


def sized(c: Cursor, start: int | None = None) -> Size:
    """Read `(10 x 12ft)`; a word before it may have begun the size already."""
    start = c.start if start is None else start
    width, height = pair(c, "x")
    return Size(width, height, start, c.ends[c.i - 1])


def opening_size(c: Cursor) -> Size:
    """Read `size (3 x 7)` or `size (3 x full)`."""
    start = c.start
    c.i += 1
    if c.texts[c.i] != "(":
        return sized(c, start)
    c.i += 1
    width = length(c)
    c.take("x")
    height = None if c.passes("full") else length(c)
    c.take(")")
    return Size(width, height, start, c.end)


def size(c: Cursor) -> Size:
    """Read `size (10 x 12)`."""
    start = c.start
    c.i += 1
    return sized(c, start)


def size_or_name(c: Cursor) -> Size | SizeName:
    """Read `size (10 x 12)` or `size small`."""
    start = c.start
    c.i += 1
    if c.texts[c.i][:1] == "(":
        return sized(c, start)
    name = c.name("a size such as (10 x 12), or the name of one")
    return SizeName(name, start, name.end)


def at(c: Cursor) -> Point:
    """Read `at (1, 2)`."""
    start = c.start
    c.i += 1
    x, y = pair(c, ",")
    return Point(x, y, start, c.ends[c.i - 1])


def measure(c: Cursor) -> Number:
    """Read a word and a length, such as `height 9ft`."""
    c.i += 1
    return length(c)


def elevation(c: Cursor) -> Number:
    """Read `elevation -1.5m`: the one length that may be negative."""
    c.i += 1
    start = c.start
    if not c.passes("-"):
        return length(c)
    depth = length(c)
    return depth._replace(value=-depth.value, start=start)


def relation(c: Cursor) -> Relation:
    """Read `right-of A gap 2 align top`, with gap and align in any order."""
    start = c.start
    direction = c.texts[c.i]
    c.i += 1
    reference = c.name("the name of a room")
    gap: Number | None = None
    align: str | None = None
    while True:
        sign = c.texts[c.i]
        if sign == "gap" and gap is None:
            gap = measure(c)
        elif sign == "align" and align is None:
            c.i += 1
            align = c.one_of("an alignment", c.words.alignments)
        else:
            return Relation(direction, reference, gap, align, start, c.end)


def label(c: Cursor) -> Text:
    """Read `label "Hall"`."""
    start = c.start
    c.i += 1
    sign = c.string("a label in quotes")
    end = c.end
    return Text(unquoted(sign), start, end, end - len(sign), end)


def style(c: Cursor) -> StyleName:
    """Read `style wood`."""
    start = c.start
    c.i += 1
    name = c.name("the name of a style")
    return StyleName(name, start, name.end)


def room_name(c: Cursor) -> Name:
    """Read the name of a room, or the world around."""
    if c.texts[c.i] != OUTSIDE:
        return c.name("the name of a room or 'outside'")
    start = c.start
    c.i += 1
    return Name(OUTSIDE, start, c.end)


def wall_of(c: Cursor) -> WallOf:
    """Read `Kitchen.top`, `Kitchen` or `outside`."""
    room = room_name(c)
    side = c.one_of("a side", c.words.sides) if c.passes(".") else None
    return WallOf(room, side, room.start, c.end)
