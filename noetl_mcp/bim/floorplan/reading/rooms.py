"""Reads floors, rooms with their walls, and lifts."""

from collections.abc import Callable
from typing import Any

from noetl_mcp.bim.floorplan.reading import values
from noetl_mcp.bim.floorplan.reading.cursor import (
    BEGINNINGS,
    DEEPEST,
    Clauses,
    Cursor,
    Lost,
    clauses,
    require,
)
from noetl_mcp.bim.floorplan.reading.plain import plain_room, plain_walls
from noetl_mcp.bim.floorplan.reading.stairs import stair
from noetl_mcp.bim.floorplan.scanner import is_whole
from noetl_mcp.bim.floorplan.tree import Floor, Lift, Room, Stair, Wall
from noetl_mcp.bim.floorplan.words import Words

FOLLOWS = BEGINNINGS | {"}", "]", ""}
_DOCUMENT = frozenset(("floor", "connect", "vertical", "define", "config", ""))
_COMPOSED_ENDS = _DOCUMENT | {"]", "}"}


def walls(c: Cursor) -> tuple[tuple[Wall, ...], int, int]:
    """Read `walls [top: solid, right: door at 20%]` and where it stands."""
    start = c.start
    c.i += 1
    sign = c.texts[c.i]
    if len(sign) > 1 and sign[0] == "[":
        found_walls = plain_walls(c, sign, c.start)
        c.i += 1
        return found_walls, start, c.end
    c.take("[")
    found: list[Wall] = []
    while True:
        try:
            found.append(_wall(c))
            if c.passes(","):
                continue
            c.take("]")
            break
        except Lost:
            c.skip((",", *(word for word in c.grammar["room"] if word not in _WALL_CLAUSES)))
            if not c.passes(","):
                c.passes("]")
                break
    return tuple(found), start, c.end


def _wall(c: Cursor) -> Wall:
    """Read one entry: `top: window at 20% size (3 x 4) height 9`."""
    start = c.start
    side = c.one_of("a side", c.words.sides)
    c.take(":")
    kind = c.one_of("a wall type", c.words.wall_kinds)
    end = c.end
    more = _wall_clauses(c)
    at, percent = more.get("at", (None, False))
    return Wall(
        side,
        kind,
        at,
        percent,
        more.get("size"),
        more.get("height"),
        start,
        c.end,
        end - len(kind),
        end,
    )


def _wall_clauses(c: Cursor) -> dict[str, Any]:
    got: dict[str, Any] = {}
    while (slot := c.texts[c.i]) in _WALL_CLAUSES and slot not in got:
        got[slot] = _WALL_CLAUSES[slot](c)
    return got


def _wall_at(c: Cursor) -> tuple[float, bool]:
    c.i += 1
    return c.number("the place of the opening"), c.passes("%")


def _wall_height(c: Cursor) -> float:
    c.i += 1
    return c.number("a height without a unit")


_WALL_CLAUSES: dict[str, Callable[[Cursor], Any]] = {
    "at": _wall_at,
    "size": values.size,
    "height": _wall_height,
}


def composed(c: Cursor) -> tuple[Room, ...]:
    """Read `composed of [ sub-room A ... ]`."""
    c.i += 1
    c.take("of")
    c.take("[")
    if c.depth >= DEEPEST:
        message = f"Rooms stand in rooms more than {DEEPEST} deep."
        c.found("too-deep", message, c.start, c.ends[c.i], ())
        _close(c)
        return ()
    c.depth += 1
    found: list[Room] = []
    while (sign := c.texts[c.i]) not in _COMPOSED_ENDS:
        if sign in c.words.room_kinds:
            _keep(c, room, found)
            continue
        c.expected("']' or a room", c.words.room_kinds)
        c.i += sign in BEGINNINGS
        c.skip(())
    c.depth -= 1
    if not c.passes("]"):
        c.expected("']' or a room", c.words.room_kinds)
    return tuple(found)


def _keep(c: Cursor, read: Callable[[Cursor], Any], found: list[Any]) -> None:
    """Read one thing and keep it; where it is lost, go on at the next."""
    try:
        thing = read(c)
    except Lost:
        c.skip(())
        return
    if thing is not None:
        found.append(thing)


def _close(c: Cursor) -> None:
    """Go behind the bracket that closes the one which was opened last, however much is in it."""
    opened = 1
    while opened and (sign := c.texts[c.i]) and sign not in ("floor", "connect", "vertical"):
        opened += (sign == "[") - (sign == "]")
        c.i += 1


def room_clauses(words: Words) -> Clauses:
    """Return what a room can have."""
    return {
        "at": ("at", values.at),
        "size": ("size", values.size_or_name),
        "height": ("height", values.measure),
        "elevation": ("elevation", values.elevation),
        "walls": ("walls", walls),
        **dict.fromkeys(words.directions, ("relation", values.relation)),
        "label": ("label", values.label),
        "composed": ("composed", composed),
        "style": ("style", values.style),
    }


_ROOM_NEEDS = {"size": ("at",), "walls": ("at", "size", "height", "elevation")}


def room(c: Cursor) -> Room | None:
    """Read a room or a sub-room; None if it has no size that could be read."""
    start = c.start
    sub = c.texts[c.i] == "sub-room"
    c.i += 1
    if is_whole(c.texts[c.i]):
        return plain_room(c, start, sub)
    name = c.name("a name for the room")
    got = clauses(c, c.grammar["room"], FOLLOWS, "a room")
    require(c, got, _ROOM_NEEDS, "a room")
    if "size" not in got:
        return None
    here = c.end
    entries, walls_start, walls_end = got.get("walls", ((), here, here))
    return Room(
        name,
        sub,
        got.get("at"),
        got["size"],
        got.get("height"),
        got.get("elevation"),
        entries,
        walls_start,
        walls_end,
        got.get("relation"),
        got.get("label"),
        got.get("composed", ()),
        got.get("style"),
        start,
        here,
    )


def _doors(c: Cursor) -> tuple[str, ...]:
    c.i += 1
    c.take("(")
    sides = [c.one_of("a side", c.words.sides)]
    while c.passes(","):
        sides.append(c.one_of("a side", c.words.sides))
    c.take(")")
    return tuple(sides)


def lift_clauses(words: Words) -> Clauses:
    """Return what a lift can have."""
    return {
        "at": ("at", values.at),
        "size": ("size", values.size),
        "doors": ("doors", _doors),
        **dict.fromkeys(words.directions, ("relation", values.relation)),
        "label": ("label", values.label),
        "style": ("style", values.style),
    }


def lift(c: Cursor) -> Lift | None:
    """Read a lift; None if it has no size that could be read."""
    start = c.start
    c.i += 1
    name = c.name("a name for the lift")
    got = clauses(c, c.grammar["lift"], FOLLOWS, "a lift")
    if not require(c, got, {"size": ("at",)}, "a lift"):
        return None
    return Lift(
        name,
        got.get("at"),
        got["size"],
        got.get("doors", ()),
        got.get("relation"),
        got.get("label"),
        got.get("style"),
        start,
        c.end,
    )


_ON_FLOOR: dict[str, Callable[[Cursor], Any]] = {
    "room": room,
    "sub-room": room,
    "stair": stair,
    "lift": lift,
}


def floor(c: Cursor) -> Floor:
    """Read a floor with everything on it, in any order."""
    start = c.start
    c.i += 1
    name = c.name("a name for the floor")
    height = values.measure(c) if c.texts[c.i] == "height" else None
    opens = c.start
    c.take("{")
    rooms: list[Room] = []
    stairs: list[Stair] = []
    lifts: list[Lift] = []
    kept: dict[str, list[Any]] = {"stair": stairs, "lift": lifts}
    while (sign := c.texts[c.i]) != "}" and sign not in _DOCUMENT:
        read = _ON_FLOOR.get(sign)
        if read is not None:
            _keep(c, read, kept.get(sign, rooms))
            continue
        c.expected("'}' or something on the floor", tuple(_ON_FLOOR))
        c.skip(())
        if c.texts[c.i] == "]":
            c.i += 1
    closes = c.start
    if not c.passes("}"):
        c.expected("'}' or something on the floor", tuple(_ON_FLOOR))
    return Floor(
        name, height, tuple(rooms), tuple(stairs), tuple(lifts), opens, closes, start, c.end
    )
