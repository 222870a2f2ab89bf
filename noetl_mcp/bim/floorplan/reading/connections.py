"""Reads what ties rooms and floors together: connections and verticals."""

from noetl_mcp.bim.floorplan.reading import values
from noetl_mcp.bim.floorplan.reading.cursor import BEGINNINGS, Clauses, Cursor, clauses
from noetl_mcp.bim.floorplan.reading.plain import plain_connection
from noetl_mcp.bim.floorplan.scanner import is_whole
from noetl_mcp.bim.floorplan.tree import Connection, Element, Name, Vertical
from noetl_mcp.bim.floorplan.words import Words

FOLLOWS = BEGINNINGS | {"style", ""}


def _at(c: Cursor) -> float:
    c.i += 1
    place = c.number("the place of the opening in percent")
    c.take("%")
    return place


def _opens(c: Cursor) -> Name:
    """Read `opens into A` or `door opens into A`."""
    if c.passes("door"):
        c.take("opens")
    else:
        c.i += 1
    c.take("into")
    return values.room_name(c)


def _swing(c: Cursor) -> str:
    c.i += 1
    c.take(":")
    return c.one_of("a hand", c.words.hands)


def connection_clauses(words: Words) -> Clauses:
    """Return what a connection can have."""
    return {
        "at": ("at", _at),
        "size": ("size", values.opening_size),
        "opens": ("opens", _opens),
        "door": ("opens", _opens),
        "swing": ("swing", _swing),
    }


def connection(c: Cursor) -> Connection:
    """Read `connect A.right to B.left door at 50% opens into A swing: left`."""
    start = c.start
    c.i += 1
    if is_whole(c.texts[c.i]):
        return plain_connection(c, start)
    first = values.wall_of(c)
    c.take("to")
    second = values.wall_of(c)
    kind = c.one_of("a kind of connection", c.words.connection_kinds)
    got = clauses(c, c.grammar["connection"], FOLLOWS, "a connection")
    return Connection(
        first,
        second,
        kind,
        got.get("at"),
        got.get("size"),
        got.get("opens"),
        got.get("swing"),
        start,
        c.end,
    )


def _element(c: Cursor) -> Element:
    floor = c.name("the name of a floor")
    c.take(".")
    element = c.name("the name of a stair or a lift")
    return Element(floor, element, floor.start, element.end)


def vertical(c: Cursor) -> Vertical:
    """Read `vertical ground.Stair to first.Stair to second.Stair`."""
    start = c.start
    c.i += 1
    elements = [_element(c)]
    c.take("to")
    elements.append(_element(c))
    while c.passes("to"):
        elements.append(_element(c))
    return Vertical(tuple(elements), start, c.end)
