"""Reads stairs of all shapes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from noetl_mcp.bim.floorplan.reading import values
from noetl_mcp.bim.floorplan.reading.cursor import BEGINNINGS, Clauses, Cursor, clauses, require
from noetl_mcp.bim.floorplan.scanner import is_number, unquoted
from noetl_mcp.bim.floorplan.tree import Flight, Shape, Size, Stair, Turn, WallOf
from noetl_mcp.bim.floorplan.words import Words

_FOLLOWS = BEGINNINGS | {"}", "]", ""}
_NEEDS = {"shape": ("at",), "rise": ("at", "shape")}


def _word(table: str, what: str) -> Callable[[Cursor], str]:
    """Return the reader of a word and one out of a table, such as `toward top`."""

    def read(c: Cursor) -> str:
        c.i += 1
        among: tuple[str, ...] = getattr(c.words, table)
        return c.one_of(what, among)

    return read


def _count(c: Cursor) -> float:
    c.i += 1
    return c.number()


def _runs(c: Cursor) -> tuple[float, ...]:
    """Read `runs 5, 5`: two at least."""
    c.i += 1
    runs = [c.number("the steps of a run")]
    c.take(",")
    runs.append(c.number("the steps of a run"))
    while c.passes(","):
        runs.append(c.number("the steps of a run"))
    return tuple(runs)


def _up_to_three_runs(c: Cursor) -> tuple[float, ...]:
    c.i += 1
    runs = [c.number("the steps of a run")]
    while len(runs) < 3 and c.passes(","):
        runs.append(c.number("the steps of a run"))
    return tuple(runs)


def _landing(c: Cursor) -> Size:
    c.i += 1
    return values.sized(c)


def _arc(c: Cursor) -> float:
    c.i += 1
    angle = c.number("an angle")
    c.take("°")
    return angle


def _segments(c: Cursor) -> tuple[Flight | Turn, ...]:
    """Read `[flight 5, turn left landing (4 x 4), flight 5]`."""
    c.i += 1
    segments = [_segment(c)]
    while c.passes(","):
        segments.append(_segment(c))
    c.take("]")
    return tuple(segments)


def _segment(c: Cursor) -> Flight | Turn:
    start = c.start
    kind = c.one_of("a part of the stair", ("flight", "turn"))
    if kind == "flight":
        steps = c.number("the steps of the flight")
        width = values.measure(c) if c.texts[c.i] == "width" else None
        along = _along(c) if c.passes("along") else None
        return Flight(steps, width, along, start, c.end)
    direction = c.one_of("a direction", c.words.hands)
    landing = winders = angle = None
    if c.one_of("a kind of turn", ("landing", "winders")) == "landing":
        landing = values.sized(c)
    else:
        winders = c.number("the number of winders")
    if is_number(c.texts[c.i]):
        angle = c.number()
        c.take("°")
    return Turn(direction, landing, winders, angle, start, c.end)


def _along(c: Cursor) -> WallOf:
    room = c.name("the name of a room")
    c.take(".")
    return WallOf(room, c.one_of("a side", c.words.sides), room.start, c.end)


class _Part(NamedTuple):
    """A part of a shape: the word that begins it, its place in `Shape`, its reader."""

    word: str
    slot: str
    read: Callable[[Cursor], Any]
    needed: bool = True


_ENTRY = _Part("from", "entry", _word("sides", "a side"))
_TURN = _Part("turn", "turn", _word("hands", "a direction"))
_MAYBE_RUNS = _Part("runs", "runs", _runs, False)
_MAYBE_LANDING = _Part("landing", "landing", _landing, False)

_PARTS: Mapping[str, tuple[_Part, ...]] = {
    "straight": (_Part("toward", "toward", _word("sides", "a side")),),
    "L-shaped": (_ENTRY, _TURN, _MAYBE_RUNS, _MAYBE_LANDING),
    "U-shaped": (_ENTRY, _TURN, _MAYBE_RUNS, _MAYBE_LANDING),
    "double-L": (_ENTRY, _TURN, _Part("runs", "runs", _up_to_three_runs, False), _MAYBE_LANDING),
    "spiral": (
        _Part("rotation", "rotation", _word("rotations", "a rotation")),
        _Part("inner-radius", "inner_radius", values.measure, False),
        _Part("outer-radius", "outer_radius", values.measure),
    ),
    "curved": (_ENTRY, _Part("arc", "arc", _arc, False), _Part("radius", "radius", values.measure)),
    "winder": (_ENTRY, _TURN, _Part("winders", "winders", _count), _MAYBE_RUNS),
    "custom": (_ENTRY, _Part("[", "segments", _segments)),
}
_NOTHING = Shape(
    "", None, None, None, (), None, None, None, None, None, None, None, (), start=0, end=0
)


def _shape(c: Cursor) -> Shape:
    """Read `shape L-shaped from bottom turn left`, whose parts may stand in any order."""
    start = c.start
    c.i += 1
    kind = c.one_of("a shape", c.words.stair_shapes)
    parts = _PARTS.get(kind, ())
    by_word = {part.word: part for part in parts}
    got: dict[str, Any] = {}
    while (part := by_word.get(c.texts[c.i])) is not None and part.slot not in got:
        got[part.slot] = part.read(c)
    for part in parts:
        if part.needed and part.slot not in got:
            raise c.lost(f"'{part.word}': a {kind} stair must have it")
    return _NOTHING._replace(kind=kind, start=start, end=c.end, **got)


def _handrail(c: Cursor) -> str:
    c.i += 1
    c.take("(")
    hand = c.one_of("where the handrail is", c.words.handrails)
    c.take(")")
    return hand


def _material(c: Cursor) -> tuple[tuple[str, str], ...]:
    """Read `material { tread: "oak", riser: "pine" }`."""
    c.i += 1
    c.take("{")
    parts = []
    while True:
        part = c.one_of("a part of the stair", c.words.material_parts)
        c.take(":")
        parts.append((part, unquoted(c.string("a material in quotes"))))
        if not c.passes(","):
            c.take("}")
            return tuple(parts)


def stair_clauses(words: Words) -> Clauses:
    """Return what a stair can have."""
    lengths = ("rise", "width", "riser", "tread", "nosing", "headroom")
    return {
        "at": ("at", values.at),
        "shape": ("shape", _shape),
        **{word: (word, values.measure) for word in lengths},
        "handrail": ("handrail", _handrail),
        "stringers": ("stringers", _word("stringers", "a kind of stringers")),
        "material": ("material", _material),
        **dict.fromkeys(words.directions, ("relation", values.relation)),
        "label": ("label", values.label),
        "style": ("style", values.style),
    }


def stair(c: Cursor) -> Stair | None:
    """Read a stair; None if its shape or its rise could not be read."""
    start = c.start
    c.i += 1
    name = c.name("a name for the stair")
    got = clauses(c, c.grammar["stair"], _FOLLOWS, "a stair")
    if not require(c, got, _NEEDS, "a stair"):
        return None
    return Stair(
        name,
        got.get("at"),
        got["shape"],
        got["rise"],
        got.get("width"),
        got.get("riser"),
        got.get("tread"),
        got.get("nosing"),
        got.get("headroom"),
        got.get("handrail"),
        got.get("stringers"),
        got.get("material", ()),
        got.get("relation"),
        got.get("label"),
        got.get("style"),
        start,
        c.end,
    )
