"""Reads rooms and connections that are written the plain way, each with one expression.

Most rooms say `NAME at (0, 0) size (10 x 12) walls [top: solid, ...]`, perhaps a relation, a label
and a style, in this order and with no comment between; connections are much alike, too. The scanner
cuts these out as one sign, behind `room ` or `connect `. They mean what the parser would
make of them sign by sign; it reads whatever is written otherwise.
"""

from collections.abc import Sequence

from noetl_mcp.bim.floorplan.reading.cursor import Cursor
from noetl_mcp.bim.floorplan.scanner import unquoted
from noetl_mcp.bim.floorplan.tree import (
    Connection,
    Name,
    Number,
    Point,
    Relation,
    Room,
    Size,
    StyleName,
    Text,
    Wall,
    WallOf,
)

Spans = tuple[tuple[int, int], ...]


def plain_room(c: Cursor, start: int, sub: bool) -> Room:
    """Read a room whose clauses are one sign; the numbers are those of the expression's groups."""
    found = c.scanner.room.match(c.text, c.start)
    assert found is not None
    texts, spans = ("", *found.groups()), found.regs
    at = relation = label = style = None
    if texts[2] is not None:
        at = Point(_length(texts, spans, 3), _length(texts, spans, 5), *spans[2])
    size = Size(_length(texts, spans, 8), _length(texts, spans, 10), *spans[7])
    if texts[16] is not None:
        gap = None if texts[19] is None else _length(texts, spans, 19)
        relation = Relation(texts[17], Name(texts[18], *spans[18]), gap, texts[21], *spans[16])
    if texts[22] is not None:
        label = Text(unquoted(texts[23]), *spans[22], *spans[23])
    if texts[24] is not None:
        style = StyleName(Name(texts[25], *spans[25]), *spans[24])
    c.i += 1
    return Room(
        Name(texts[1], *spans[1]),
        sub,
        at,
        size,
        None if texts[12] is None else _length(texts, spans, 12),
        None,
        plain_walls(c, texts[15], spans[15][0]),
        *spans[14],
        relation,
        label,
        (),
        style,
        start,
        spans[0][1],
    )


def _length(texts: Sequence[str], spans: Spans, group: int) -> Number:
    """Return the number of a group with the unit of the next."""
    start, end = spans[group]
    unit = texts[group + 1]
    return Number(float(texts[group]), unit, start, end if unit is None else spans[group + 1][1])


def plain_walls(c: Cursor, sign: str, begin: int) -> tuple[Wall, ...]:
    """Look into a list that is one sign; most rooms of a plan have one of few lists."""
    entries = c.plain.get(sign)
    if entries is None:
        entries = c.plain[sign] = tuple(
            (entry[1], entry[2], entry.start(1), entry.end(2), entry.start(2))
            for entry in c.scanner.entry.finditer(sign)
        )
    return tuple(
        [
            Wall(
                side, kind, None, False, None, None, begin + at, begin + to, begin + on, begin + to
            )
            for side, kind, at, to, on in entries
        ]
    )


def plain_connection(c: Cursor, start: int) -> Connection:
    """Read a connection that is one sign."""
    found = c.scanner.connection.match(c.text, c.start)
    assert found is not None
    texts, spans = ("", *found.groups()), found.regs
    size = into = None
    if texts[9] is not None:
        size = Size(_length(texts, spans, 10), _length(texts, spans, 12), *spans[9])
    if texts[14] is not None:
        into = Name(texts[14], *spans[14])
    c.i += 1
    return Connection(
        WallOf(Name(texts[2], *spans[2]), texts[3], *spans[1]),
        WallOf(Name(texts[5], *spans[5]), texts[6], *spans[4]),
        texts[7],
        None if texts[8] is None else float(texts[8]),
        size,
        into,
        texts[15],
        start,
        spans[0][1],
    )
