"""Write pieces of a plan's text: numbers, strings, clauses, whole rooms and stairs.

What the language cannot say (a text with both kinds of quotes) is refused, never bent.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from noetl_mcp.bim.floorplan.edit import fields
from noetl_mcp.bim.floorplan.edit.building_operations import NewConnection, NewLift, NewStair
from noetl_mcp.bim.floorplan.edit.fields import Asked, PositionAsked, RelativeAsked, ShapeAsked
from noetl_mcp.bim.floorplan.edit.room_operations import NewRoom
from noetl_mcp.bim.floorplan.edit.sheet import Refused
from noetl_mcp.bim.floorplan.scanner import unquoted

Given = TypeVar("Given")

_LIKE_A_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_MEASURED = re.compile(r"(-?[0-9.]+) ?([a-z]+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def number(value: float) -> str:
    """Write a number as JavaScript does, but never with an exponent, which the language has not."""
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def near(value: float) -> str:
    """Write a number that was reckoned: the shortest that is the same for any building."""
    for digits in range(9):
        if abs(round(value, digits) - value) <= 1e-9:
            return number(round(value, digits) + 0.0)
    return number(round(value, 9) + 0.0)


def length(asked: float | str) -> str:
    """Write a length, with its unit if it has one."""
    return asked.replace(" ", "") if isinstance(asked, str) else number(asked)


def quoted(text: str) -> str:
    """Write a string.

    What looks like a version gets the other quotes: in double ones older readers take it for one.
    """
    inner = "".join(_ESCAPES.get(sign, sign) for sign in text)
    quote = "'" if '"' in text or _LIKE_A_VERSION.fullmatch(text) else '"'
    made = f"{quote}{inner}{quote}"
    if quote in text or unquoted(made) != text:
        raise Refused("A text cannot have both kinds of quotes: the language cannot write it")
    return made


def _said(value: Given | None, write: Callable[[Given], str]) -> str | None:
    """Write a value, if there is one."""
    return None if value is None else write(value)


def _length(asked: float | str | None) -> str | None:
    """Write a length, if there is one."""
    return None if asked is None else length(asked)


def point(x: str, y: str) -> str:
    """Write `(1, 2)`."""
    return f"({x}, {y})"


def corner(asked: PositionAsked) -> str:
    """Write a position that is asked for."""
    return point(length(asked.x), length(asked.y))


def size(asked: Any) -> str:
    """Write `(10 x 8)`, or the name of a define."""
    if isinstance(asked, str):
        return asked
    high = "full" if asked.height == "full" else length(asked.height)
    return f"({length(asked.width)} x {high})"


def wall(side: str, asked: Any) -> str:
    """Write the entry or the entries of one side."""
    if isinstance(asked, list):
        return ", ".join(wall(side, one) for one in asked)
    if isinstance(asked, str):
        return f"{side}: {asked}"
    at = asked.at if isinstance(asked.at, str) else _said(asked.at, number)
    return clauses(
        f"{side}: {asked.kind}",
        ("at", at),
        ("size", _said(asked.size, size)),
        ("height", _said(asked.height, number)),
    )


def walls(asked: Mapping[str, Any]) -> str:
    """Write `[top: solid, …]`."""
    return "[" + ", ".join(wall(side, one) for side, one in asked.items()) + "]"


def clauses(start: str, *more: tuple[str, str | None]) -> str:
    """Write a thing with those of its clauses that there are."""
    there = (" ".join(filter(None, (word, said))) for word, said in more if said is not None)
    return " ".join([start, *there])


def relation(asked: RelativeAsked) -> str:
    """Write `right-of A gap 2 align top`; a gap of nothing is not written."""
    gap = _length(asked.gap)
    return clauses(
        f"{asked.direction} {asked.reference}",
        ("gap", gap if gap is None or float(re.sub("[a-z]", "", gap)) > 0 else None),
        ("align", asked.alignment),
    )


def room(asked: NewRoom) -> str:
    """Write a room."""
    return clauses(
        f"{'sub-room' if asked.parent else 'room'} {asked.name}",
        ("at", _said(asked.position, corner)),
        ("size", size(asked.size)),
        ("height", _length(asked.height)),
        ("elevation", _length(asked.elevation)),
        ("walls", walls(fields.entries(asked.walls))),
        ("", _said(asked.relative_position, relation)),
        ("label", _said(asked.label, quoted)),
        ("style", asked.style),
    )


def connection(asked: NewConnection) -> str:
    """Write a connection."""
    return clauses(
        f"connect {asked.from_} to {asked.to} {asked.kind}",
        ("at", _said(asked.at, lambda one: f"{number(one)}%")),
        ("size", _said(asked.size, size)),
        ("opens into", asked.opens_into),
        ("swing:", asked.swing),
    )


def _numbers(asked: Iterable[float]) -> str:
    return ", ".join(map(number, asked))


def _segments(asked: Iterable[fields.FlightAsked | fields.TurnAsked]) -> str:
    return "[" + ", ".join(map(_segment, asked)) + "]"


def _segment(asked: fields.FlightAsked | fields.TurnAsked) -> str:
    if isinstance(asked, fields.FlightAsked):
        return clauses(
            f"flight {number(asked.flight)}",
            ("width", _length(asked.width)),
            ("along", asked.along),
        )
    return clauses(
        f"turn {asked.turn}",
        ("landing", _said(asked.landing, size)),
        ("winders", _said(asked.winders, number)),
        ("", _said(asked.angle, lambda one: f"{number(one)}°")),
    )


def shape(asked: ShapeAsked) -> str:
    """Write the shape of a stair, in the order of the language. Reading finds what is missing."""
    return clauses(
        asked.kind,
        ("toward", asked.toward),
        ("from", asked.entry),
        ("turn", asked.turn),
        ("winders", _said(asked.winders, number)),
        ("runs", _said(asked.runs, _numbers)),
        ("landing", _said(asked.landing, size)),
        ("rotation", asked.rotation),
        ("inner-radius", _length(asked.inner_radius)),
        ("outer-radius", _length(asked.outer_radius)),
        ("arc", _said(asked.arc, lambda one: f"{number(one)}°")),
        ("radius", _length(asked.radius)),
        ("", _said(asked.segments, _segments)),
    )


def stair(asked: NewStair) -> str:
    """Write a stair."""
    return clauses(
        f"stair {asked.name}",
        ("at", corner(asked.position)),
        ("shape", shape(asked.shape)),
        ("rise", length(asked.rise)),
        ("width", _length(asked.width)),
        ("riser", _length(asked.riser)),
        ("tread", _length(asked.tread)),
        ("nosing", _length(asked.nosing)),
        ("headroom", _length(asked.headroom)),
        ("handrail", _said(asked.handrail, lambda one: f"({one})")),
        ("stringers", asked.stringers),
        ("material", _said(asked.material, _parts)),
        ("label", _said(asked.label, quoted)),
        ("style", asked.style),
    )


def _parts(asked: Asked) -> str:
    there = {part: text for part, text in fields.entries(asked).items() if text is not None}
    if not there:
        raise Refused("A material needs a part: " + ", ".join(type(asked).model_fields))
    return "{ " + ", ".join(f"{part}: {quoted(text)}" for part, text in there.items()) + " }"


def lift(asked: NewLift) -> str:
    """Write a lift."""
    return clauses(
        f"lift {asked.name}",
        ("at", corner(asked.position)),
        ("size", size(asked.size)),
        ("doors", _said(asked.doors, lambda doors: f"({', '.join(doors)})")),
        ("label", _said(asked.label, quoted)),
        ("style", asked.style),
    )
