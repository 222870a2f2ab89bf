"""Units of length: what they are worth, which one a plan means, how numbers are written.

It refuses to guess where a plan says what it means: `default_unit` wins over everything.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from itertools import chain

from noetl_mcp.bim.floorplan import tree

METRES: Mapping[str, float] = {"m": 1.0, "ft": 0.3048, "cm": 0.01, "in": 0.0254, "mm": 0.001}
METRIC = frozenset({"m", "cm", "mm"})
IMPERIAL = frozenset({"ft", "in"})
SQUARE_METRES = {"sqm": 1.0, "sqft": METRES["ft"] ** 2}

_MEASURED = re.compile(r"[0-9][\s\ufeff]*(?:mm|cm|m|ft|in)(?![A-Za-z0-9_])")

Scale = Mapping[str | None, float]
"""What one of each unit is in the unit of a building; None is a bare number."""


def factor(of: str, to: str) -> float:
    """Return what one `of` is in `to`."""
    return 1.0 if of == to else METRES[of] / METRES[to]


def scale_to(unit: str, *, raw: bool = False) -> Scale:
    """Return the scale into a unit; `raw` reads every number as it is written."""
    scale: dict[str | None, float] = {name: 1.0 if raw else factor(name, unit) for name in METRES}
    scale[None] = 1.0
    return scale


def unit_of(plan: tree.Plan, default: str | None) -> str:
    """Return the unit of a plan: the default, else the one that its rooms use, else feet.

    Where rooms have bare numbers, units elsewhere (of stairs, heights, doors) tell metres from
    feet.
    """
    return default or known_unit(plan) or "ft"


def known_unit(plan: tree.Plan) -> str | None:
    """Return the unit that the numbers of a plan show, None where all are bare or they disagree."""
    if all_bare(plan):
        return None
    used = units_of_rooms(plan)
    if len(used) == 1:
        return next(iter(used))
    used = used or {n.unit for n in chain(_heights(plan), _of_others(plan)) if n.unit is not None}
    if not used or (used & METRIC and used & IMPERIAL):
        return None
    return "m" if used & METRIC else "ft"


def all_bare(plan: tree.Plan) -> bool:
    """Tell quickly that no number has a unit; False says nothing."""
    text = plan.text
    return "#" not in text and "/*" not in text and _MEASURED.search(text) is None


def units_of_rooms(plan: tree.Plan) -> set[str]:
    """Return the units in which rooms, lifts and defines are placed and sized."""
    used: set[str | None] = set()
    for size in chain((d.size for d in plan.defines), (li.size for li in _lifts(plan))):
        used.update(_pair(size))
    for room in every_room(plan):
        if room.at is not None:
            used.add(room.at.x.unit)
            used.add(room.at.y.unit)
        if isinstance(room.size, tree.Size):
            used.update(_pair(room.size))
    return {unit for unit in used if unit is not None}


def every_room(plan: tree.Plan) -> Iterator[tree.Room]:
    """Yield all rooms and sub-rooms in the order of the text."""
    for floor in plan.floors:
        for room in floor.rooms:
            yield room
            if room.rooms:
                yield from inner_rooms(room)


def inner_rooms(room: tree.Room) -> Iterator[tree.Room]:
    """Yield all rooms in a room, from the outside in."""
    waiting = list(reversed(room.rooms))
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting.extend(reversed(inner.rooms))


def _pair(size: tree.Size) -> tuple[str | None, ...]:
    return (size.width.unit, size.height.unit if size.height is not None else None)


def _lifts(plan: tree.Plan) -> Iterator[tree.Lift]:
    return (lift for floor in plan.floors for lift in floor.lifts)


def _heights(plan: tree.Plan) -> Iterator[tree.Number]:
    for floor in plan.floors:
        if floor.height is not None:
            yield floor.height
    for room in every_room(plan):
        yield from (n for n in (room.height, room.elevation) if n is not None)
        if room.relation is not None and room.relation.gap is not None:
            yield room.relation.gap


def _of_others(plan: tree.Plan) -> Iterator[tree.Number]:
    for floor in plan.floors:
        for stair in floor.stairs:
            named = (stair.rise, stair.width, stair.riser, stair.tread, stair.headroom)
            yield from (number for number in named if number is not None)
    for connection in plan.connections:
        if connection.size is not None:
            yield connection.size.width
            if connection.size.height is not None:
                yield connection.size.height


def shown(number: float) -> str:
    """Write a number as JavaScript does: 10 for 10.0, no exponent before 1e21."""
    if number == number and abs(number) != float("inf"):
        if number == int(number) and abs(number) < 1e21:
            return str(int(number))
        text = repr(number)
        if "e-" in text and abs(number) >= 1e-6:
            return format(Decimal(text), "f")
        return text.replace("e-0", "e-")
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def fixed(number: float) -> str:
    """Write a number with two decimals, halves up, as JavaScript's toFixed does."""
    if abs(number) >= 1e21 or number != number:
        return shown(number)
    return str(Decimal(number).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
