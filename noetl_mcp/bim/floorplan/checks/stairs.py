"""Checks of stairs and lifts: measures, building codes, where they stand, what they run along."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box, PlacedFloor, PlacedStair
from noetl_mcp.bim.floorplan.checks.subject import Subject, floors_with_plan
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING, hint, of_language
from noetl_mcp.bim.floorplan.stair_sizes import stair_box
from noetl_mcp.bim.floorplan.units import Scale, fixed, scale_to, shown

_ROUNDING = 1e-6


class Limits(NamedTuple):
    """What a building code asks of stairs, in inches."""

    riser: float
    tread: float
    width: float
    headroom: float


CODES = {
    "residential": Limits(7.75, 10, 36, 80),
    "commercial": Limits(7, 11, 44, 80),
    "ada": Limits(7, 11, 48, 80),
}
_USUAL = CODES["residential"]

HIGH_RISER = of_language(
    "high-riser",
    WARNING,
    "Stair '{stair}' has riser height {inches}\" which exceeds the typical maximum of 7.75\". "
    "Consider reducing riser height for code compliance.",
    "a riser is over 7.75 inches",
)
SHALLOW_TREAD = of_language(
    "shallow-tread",
    WARNING,
    "Stair '{stair}' has tread depth {inches}\" which is below the typical minimum of 10\". "
    "Consider increasing tread depth for safety.",
    "a tread is under 10 inches",
)
NARROW = of_language(
    "narrow-stair",
    WARNING,
    "Stair '{stair}' has width {inches}\" which is below the typical minimum of 36\". Consider "
    "increasing width for accessibility.",
    "a stair is under 36 inches wide",
)
CODE_RISER = of_language(
    "code-riser",
    WARNING,
    "[{code_name}] Stair '{stair}' riser height {inches}\" exceeds maximum {limit}\" for {code} "
    "code.",
    "a riser is higher than the `stair_code` allows",
)
CODE_BELOW = of_language(
    "code-below",
    WARNING,
    "[{code_name}] Stair '{stair}' {what} {inches}\" is below minimum {limit}\" for {code} code.",
    "tread depth, width or headroom is less than the `stair_code` asks",
)
NO_SUCH_ROOM = of_language(
    "stair-wall-unknown-room",
    ERROR,
    "Stair '{stair}' references non-existent room '{room}' for wall alignment. Ensure the room "
    "exists on floor '{floor}'.",
    "a flight runs along the wall of a room that the floor does not have",
)
NOT_INSIDE = of_language(
    "stair-outside-rooms",
    WARNING,
    "{kind} '{name}' at position ({x}, {y}) is not inside any room on floor '{floor}'. Consider "
    "moving the {lower} inside a room or extending room bounds.",
    "the corner of a stair or lift is in no room",
)
OVERLAP = of_language(
    "stairs-overlap",
    WARNING,
    "{kind} '{name}' overlaps with {other_kind} '{other}' on floor '{floor}'",
    "the boxes of two stairs or lifts of a floor overlap",
)
LANDING = of_language(
    "narrow-landing",
    WARNING,
    "Stair '{stair}' turn landing {what} ({landing}) is narrower than adjacent flight width "
    "({flight}). Consider increasing landing {what} to at least {flight} for proper flow.",
    "flights of a custom stair differ in width, and the landing between is less than the wider",
)
NO_PLACE = hint(
    "stair-without-position",
    "{kind} '{name}' has no position and stands at (0, 0). Add 'at (x, y)' or a relative position.",
    "a stair or lift has neither `at` nor a relative position",
    "no_position",
)
NO_RISE = hint(
    "stair-without-rise",
    "Stair '{stair}' has {what} of 0.",
    "the rise, riser or tread of a stair is 0",
)
RULES = (
    HIGH_RISER,
    SHALLOW_TREAD,
    NARROW,
    NO_SUCH_ROOM,
    CODE_RISER,
    CODE_BELOW,
    NOT_INSIDE,
    OVERLAP,
    LANDING,
    NO_PLACE,
    NO_RISE,
)


def measures(subject: Subject) -> Iterator[Finding]:
    """Look at risers, treads and widths."""
    for stair in _stairs(subject):
        name = stair.name.text
        for number, rule, limit, is_most in (
            (stair.riser, HIGH_RISER, _USUAL.riser, True),
            (stair.tread, SHALLOW_TREAD, _USUAL.tread, False),
            (stair.width, NARROW, _USUAL.width, False),
        ):
            if number is not None and _breaks(subject.inches(number), limit, is_most=is_most):
                inches = fixed(subject.inches(number))
                yield rule.found(number.start, number.end, stair=name, inches=inches)
        for number, what in ((stair.rise, "a rise"), (stair.riser, "a riser")):
            if number is not None and number.value == 0:
                yield NO_RISE.found(number.start, number.end, stair=name, what=what)


def code(subject: Subject) -> Iterator[Finding]:
    """Look at stairs as a building code does."""
    name = subject.building.habits.stair_code
    limits = CODES.get(name)
    if limits is None:
        return
    for stair in _stairs(subject):
        for what, number, limit in (
            ("riser", stair.riser, limits.riser),
            ("tread depth", stair.tread, limits.tread),
            ("width", stair.width, limits.width),
            ("headroom", stair.headroom, limits.headroom),
        ):
            is_most = what == "riser"
            if number is None or not _breaks(subject.inches(number), limit, is_most=is_most):
                continue
            rule = CODE_RISER if is_most else CODE_BELOW
            yield rule.found(
                number.start,
                number.end,
                code_name=name.upper(),
                stair=stair.name.text,
                what=what,
                inches=fixed(subject.inches(number)),
                limit=shown(limit),
                code=name,
            )


def _breaks(inches: float, limit: float, *, is_most: bool) -> bool:
    return inches > limit + _ROUNDING if is_most else inches < limit - _ROUNDING


def _stairs(subject: Subject) -> Iterator[tree.Stair]:
    return (stair for floor in subject.plan.floors for stair in floor.stairs)


def alignment(subject: Subject) -> Iterator[Finding]:
    """Look for the rooms along whose walls flights run."""
    for level, floor in enumerate(subject.plan.floors):
        for stair in floor.stairs:
            for segment in stair.shape.segments:
                if not isinstance(segment, tree.Flight) or segment.along is None:
                    continue
                room = segment.along.room
                if level not in subject.homes.get(room.text, {}):
                    yield NO_SUCH_ROOM.found(
                        *room[1:],
                        stair=stair.name.text,
                        room=room.text,
                        floor=floor.name.text,
                    )


class _Thing(NamedTuple):
    """A stair or lift with the box that it fills."""

    kind: str
    written: "tree.Stair | tree.Lift"
    box: Box


def places(subject: Subject) -> Iterator[Finding]:
    """Look where stairs and lifts stand: in a room, and not in each other."""
    for floor, grid in floors_with_plan(subject):
        things = _things(subject, floor)
        for thing in things:
            yield from _place(thing, floor, grid)
        yield from _overlaps(things, floor)


def _things(subject: Subject, floor: PlacedFloor) -> list[_Thing]:
    scale = scale_to(subject.building.habits.unit, raw=subject.raw)
    stairs = [_Thing("Stair", one.stair, stair_box(one, scale)) for one in floor.stairs]
    return stairs + [_Thing("Lift", one.lift, one.box) for one in floor.lifts]


def _place(thing: _Thing, floor: PlacedFloor, grid: Grid) -> Iterator[Finding]:
    name = thing.written.name
    if thing.written.at is None and thing.written.relation is None:
        yield NO_PLACE.found(*name[1:], kind=thing.kind, name=name.text)
    if next(grid.at(thing.box.x, thing.box.y), None) is not None:
        return
    at = thing.written.at
    x, y = (at.x.value, at.y.value) if at is not None else (thing.box.x, thing.box.y)
    yield NOT_INSIDE.found(
        *(name[1:] if at is None else at[2:]),
        kind=thing.kind,
        lower=thing.kind.lower(),
        name=name.text,
        x=shown(round(x, 6)),
        y=shown(round(y, 6)),
        floor=floor.id,
    )


def _overlaps(things: Sequence[_Thing], floor: PlacedFloor) -> Iterator[Finding]:
    if len(things) < 2:
        return
    for one, other in Grid([thing.box for thing in things]).pairs(_ROUNDING):
        first, second = things[one], things[other]
        yield OVERLAP.found(
            *second.written.name[1:],
            kind=first.kind.lower(),
            name=first.written.name.text,
            other_kind=second.kind.lower(),
            other=second.written.name.text,
            floor=floor.id,
        )


def landings(subject: Subject) -> Iterator[Finding]:
    """Look at the landings of custom stairs between flights of different widths."""
    scale = scale_to(subject.building.habits.unit, raw=subject.raw)
    for floor in subject.building.floors:
        for placed in floor.stairs:
            segments = placed.stair.shape.segments
            for before, (turn, after) in zip(segments, pairwise(segments[1:]), strict=False):
                if isinstance(before, tree.Flight) and isinstance(after, tree.Flight):
                    yield from _landing(placed, (before, after), turn, scale)


def _landing(
    placed: PlacedStair,
    flights: tuple[tree.Flight, tree.Flight],
    turn: "tree.Flight | tree.Turn",
    scale: Scale,
) -> Iterator[Finding]:
    """Look at one landing: it should be as wide and as deep as the wider of its flights."""
    if not isinstance(turn, tree.Turn) or turn.landing is None or turn.landing.height is None:
        return
    widths = [
        placed.width if flight.width is None else scaled(flight.width, scale) for flight in flights
    ]
    if abs(widths[0] - widths[1]) <= _ROUNDING:
        return
    for what, number in (("width", turn.landing.width), ("depth", turn.landing.height)):
        length = scaled(number, scale)
        if length < max(widths) - _ROUNDING:
            yield LANDING.found(
                number.start,
                number.end,
                stair=placed.stair.name.text,
                what=what,
                landing=shown(round(length, 6)),
                flight=shown(round(max(widths), 6)),
            )
