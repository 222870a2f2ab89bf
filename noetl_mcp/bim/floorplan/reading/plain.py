"""Reads rooms and connections that are written the plain way, each with one expression.

Most rooms say `NAME at (0, 0) size (10 x 12) walls [top: solid, ...]`, perhaps a relation and a
label, in this order and without comments or units; most connections say no more than `at 50%`. The
scanner cuts these out as one sign, behind `room ` or `connect `. They mean what the parser would
make of them sign by sign; it reads whatever is written otherwise.
"""

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
    Text,
    Wall,
    WallOf,
)


def plain_room(c: Cursor, start: int, sub: bool) -> Room:
    """Read a room whose clauses are one sign."""
    found = c.scanner.room.match(c.text, c.start)
    assert found is not None
    name, _, x, y, _, w, h, _, entries, *_ = texts = found.groups()
    spans = found.regs
    own = Name(name, *spans[1])
    at = None
    if x is not None:
        first, second = Number(float(x), None, *spans[3]), Number(float(y), None, *spans[4])
        at = Point(first, second, *spans[2])
    size = Size(Number(float(w), None, *spans[6]), Number(float(h), None, *spans[7]), *spans[5])
    relation = _relation(texts, spans) if texts[10] is not None else None
    label = None
    if texts[15] is not None:
        label = Text(unquoted(texts[15]), *spans[15], *spans[16])
    walls = plain_walls(c, entries, spans[9][0])
    c.i += 1
    return Room(
        own,
        sub,
        at,
        size,
        None,
        None,
        walls,
        *spans[8],
        relation,
        label,
        (),
        None,
        start,
        spans[0][1],
    )


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
    _, name, side, _, other, far, kind, percent = found.groups()
    spans = found.regs
    first = WallOf(Name(name, *spans[2]), side, *spans[1])
    second = WallOf(Name(other, *spans[5]), far, *spans[4])
    c.i += 1
    at = None if percent is None else float(percent)
    return Connection(first, second, kind, at, None, None, None, start, spans[0][1])


def _relation(texts: tuple[str | None, ...], spans: tuple[tuple[int, int], ...]) -> Relation:
    direction, reference, gap, align = texts[10:14]
    assert direction is not None
    assert reference is not None
    name = Name(reference, *spans[12])
    distance = None if gap is None else Number(float(gap), None, *spans[13])
    return Relation(direction, name, distance, align, *spans[10])
