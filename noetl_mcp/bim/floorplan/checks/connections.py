"""Checks of connections: their rooms, their walls, where on them, and whether they fit."""

from collections.abc import Iterator
from itertools import pairwise

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedRoom
from noetl_mcp.bim.floorplan.checks import spots
from noetl_mcp.bim.floorplan.checks.edges import OPPOSITE, edge, shared
from noetl_mcp.bim.floorplan.checks.subject import Ends, Subject, Written, is_outside, walls_of
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING, hint, of_language
from noetl_mcp.bim.floorplan.units import fixed, scale_to, shown

_ROUNDING = 1e-6

BOTH_WAYS = of_language(
    "connected-twice",
    ERROR,
    "Overlapping bidirectional connections between {first} and {second}. Remove one connection.",
    "two connections join the same two rooms at one spot of a wall",
)
ONE_SPOT = of_language(
    "connections-overlap",
    ERROR,
    "Overlapping connections at position {at}% on wall. Use different positions.",
    "two connections are at one spot of a wall: a door counts as 10 % of it, a double door as "
    "20 %; where it is known where they stand, those that are apart are fine",
)
NOT_SOLID = of_language(
    "door-in-opening",
    WARNING,
    "Connection references {room}.{side} which is '{kind}', not 'solid'. Door openings work best "
    "when both walls are 'solid'. Consider changing the wall type.",
    "a door is in a wall that is itself a door, a window or open",
)
KINDS_DIFFER = of_language(
    "connection-wall-mismatch",
    WARNING,
    "Wall type mismatch: {first}.{side} is '{kind}' but {second}.{other_side} is '{other}'. This "
    "may cause rendering issues in 3D viewer. Both walls should have the same type.",
    "the two walls of a door are of different kinds",
)
TWO_FLOORS = of_language(
    "connection-spans-floors",
    WARNING,
    "Connection spans floors: '{first}' is on floor '{floor}' but '{second}' is on floor "
    "'{other}'. Horizontal 'connect' statements only render within a single floor — the renderer "
    "will silently drop this connection. Use a 'vertical {floor}.<element> to {other}.<element>' "
    "statement to bridge floors.",
    "a connection joins rooms of different floors",
)
APART = of_language(
    "no-shared-wall",
    WARNING,
    "Connection from {first}.{side} to {second}.{other_side} connects walls that don't share a "
    "boundary. The door may not align properly with the rooms.",
    "the two walls of a connection do not lie on each other, or a wall is not named",
)
TOO_WIDE = of_language(
    "connection-too-wide",
    WARNING,
    "Connection width {width} exceeds shared wall length {length}. The connection may not fit "
    "properly.",
    "a connection is wider than the wall that its rooms share",
)
TOO_HIGH = of_language(
    "connection-too-high",
    WARNING,
    "Connection height {height} exceeds room height {room}m. The connection may not fit properly.",
    "a connection is higher than the lower of its rooms",
)
UNKNOWN_ROOM = hint(
    "connection-unknown-room",
    "Connection references unknown room '{room}' and is left out.",
    "a connection joins a room that no floor has",
    "connection",
)
PERCENT = hint(
    "connection-percent",
    "Connection at {at}% lies beyond the end of the wall. Use 0% to 100%.",
    "a connection is at more than 100 %",
    "connection",
)
OPENS_ELSEWHERE = hint(
    "opens-elsewhere",
    "The door between {first} and {second} cannot open into '{room}'. It opens into one of the "
    "two.",
    "a door opens into a room that it does not join",
    "connection",
)
FRONT_TOO_WIDE = hint(
    "outer-door-too-wide",
    "Connection width {width} exceeds the length {length} of wall {room}.{side}.",
    "a connection to the outside is wider than its wall",
    "connection",
)
FRONT_DOORS_MEET = hint(
    "outer-doors-on-one-spot",
    "Two connections to outside share one spot of wall {room}.{side}. Use different positions.",
    "two connections to the outside overlap on their wall",
    "connection",
)
ITSELF = hint(
    "connected-to-itself",
    "'{room}' is connected to itself. Connect it to another room, or to outside.",
    "both ends of a connection are the same room, or both are outside",
    "connection",
)
RULES = (
    BOTH_WAYS,
    ONE_SPOT,
    NOT_SOLID,
    KINDS_DIFFER,
    TWO_FLOORS,
    APART,
    TOO_WIDE,
    TOO_HIGH,
    UNKNOWN_ROOM,
    PERCENT,
    OPENS_ELSEWHERE,
    FRONT_TOO_WIDE,
    FRONT_DOORS_MEET,
    ITSELF,
)


def overlapping(subject: Subject) -> Iterator[Finding]:
    """Look for connections at one spot of a wall, under every wall that they name."""
    walls: dict[tuple[str, str], list[int]] = {}
    connections = subject.plan.connections
    for index, connection in enumerate(connections):
        if all(end.side is not None and not is_outside(end) for end in walls_of(connection)):
            for wall in walls_of(connection):
                walls.setdefault((wall.room.text, wall.side or ""), []).append(index)
    told: set[int] = set()
    for on_wall in walls.values():
        if len(on_wall) < 2:
            continue
        for index, other in spots.meeting(subject, on_wall):
            if index not in told:
                told.add(index)
                yield _meeting(connections[index], connections[other])


def _meeting(first: tree.Connection, second: tree.Connection) -> Finding:
    place = (first.first.start, first.first.end)
    rooms = {end.room.text for end in walls_of(first)}
    if rooms == {end.room.text for end in walls_of(second)}:
        return BOTH_WAYS.found(*place, first=first.first.room.text, second=first.second.room.text)
    return ONE_SPOT.found(*place, at=shown(spots.centre(first)))


def wall_kinds(subject: Subject) -> Iterator[Finding]:
    """Look at the kinds of the walls that doors are in; walls that are not listed are passed."""
    special = {
        written.room.name.text
        for written in subject.rooms
        if any(wall.kind != "solid" for wall in written.room.walls)
    }
    for ends in subject.connections:
        connection = ends.connection
        if connection.kind == "opening":
            continue
        if not special.intersection(end.room.text for end in walls_of(connection)):
            continue
        first, second = walls_of(connection)
        kind, other = _kind(subject, ends.first, first), _kind(subject, ends.second, second)
        if kind not in (None, "solid"):
            yield _not_solid(first, kind)
        if other not in (None, "solid"):
            yield _not_solid(second, other)
        if kind is not None and other is not None and kind != other:
            yield KINDS_DIFFER.found(
                first.start,
                second.end,
                first=first.room.text,
                side=first.side,
                kind=kind,
                second=second.room.text,
                other_side=second.side,
                other=other,
            )


def _not_solid(end: tree.WallOf, kind: str | None) -> Finding:
    return NOT_SOLID.found(end.start, end.end, room=end.room.text, side=end.side, kind=kind)


def _kind(subject: Subject, written: Written | None, end: tree.WallOf) -> str | None:
    """Return the kind of a wall, None where the room does not list it."""
    if written is None or end.side is None:
        return None
    return subject.kinds[written.room.start].get(end.side)


def rooms(subject: Subject) -> Iterator[Finding]:
    """Look for connections of rooms that are not there, or not on one floor."""
    for ends in subject.connections:
        first, second = walls_of(ends.connection)
        for end in (first, second):
            if not is_outside(end) and end.room.text not in subject.homes:
                yield UNKNOWN_ROOM.found(*end.room[1:], room=end.room.text)
        if first.room.text == second.room.text:
            yield ITSELF.found(first.start, second.end, room=first.room.text)
        if ends.first is None or ends.second is None or ends.first.level == ends.second.level:
            continue
        yield TWO_FLOORS.found(
            first.start,
            second.end,
            first=first.room.text,
            floor=ends.first.floor.name.text,
            second=second.room.text,
            other=ends.second.floor.name.text,
        )


def places(subject: Subject) -> Iterator[Finding]:
    """Look at where connections are in their walls, and into what their doors open."""
    for ends in subject.connections:
        connection = ends.connection
        first, second = walls_of(connection)
        if connection.at is not None and connection.at > 100:
            yield PERCENT.found(connection.start, connection.end, at=shown(connection.at))
        into = connection.opens_into
        if into is not None and into.text not in (first.room.text, second.room.text):
            yield OPENS_ELSEWHERE.found(
                *into[1:], first=first.room.text, second=second.room.text, room=into.text
            )


def fit(subject: Subject) -> Iterator[Finding]:
    """Look whether the walls of connections lie on each other, and whether openings fit."""
    scale = scale_to(subject.building.habits.unit, raw=subject.raw)
    for ends in subject.connections:
        length = None
        one, other = subject.place_of(ends.first), subject.place_of(ends.second)
        if one is not None and other is not None and _are_neighbours(ends, one, other):
            length = _shared(ends.connection, one, other)
            if length <= 0:
                yield _apart(ends.connection)
        size = ends.connection.size
        if size is None:
            continue
        width = size.width.value * scale[size.width.unit]
        if length is not None and 0 < length < width - _ROUNDING:
            yield TOO_WIDE.found(
                size.start, size.end, width=subject.written(size.width), length=fixed(length)
            )
        yield from _outer(subject, ends, width)
        yield from _height(subject, ends, size)


def _are_neighbours(ends: Ends, one: PlacedRoom, other: PlacedRoom) -> bool:
    """Tell whether two rooms should share a wall: on one floor, and not one in the other."""
    if ends.first is None or ends.second is None or ends.first.level != ends.second.level:
        return False
    return one.parent != other.name and other.parent != one.name and one is not other


def _shared(connection: tree.Connection, one: PlacedRoom, other: PlacedRoom) -> float:
    side, other_side = connection.first.side, connection.second.side
    if side is None or other_side is None:
        return 0.0
    if other_side != OPPOSITE[side]:
        return shared(edge(one.box, side), edge(other.box, other_side), spots.TOUCHING)
    (x, y, width, height), (x2, y2, width2, height2) = one.box, other.box
    if side in ("left", "right"):
        apart = x + width - x2 if side == "right" else x2 + width2 - x
        both = min(y + height, y2 + height2) - max(y, y2)
    else:
        apart = y + height - y2 if side == "bottom" else y2 + height2 - y
        both = min(x + width, x2 + width2) - max(x, x2)
    return both if abs(apart) <= spots.TOUCHING else 0.0


def _apart(connection: tree.Connection) -> Finding:
    first, second = walls_of(connection)
    return APART.found(
        first.start,
        second.end,
        first=first.room.text,
        side=first.side or "unknown",
        second=second.room.text,
        other_side=second.side or "unknown",
    )


def _outer(subject: Subject, ends: Ends, width: float) -> Iterator[Finding]:
    """Look whether a connection to the outside fits into its wall."""
    first, second = walls_of(ends.connection)
    inner, written = (second, ends.second) if is_outside(first) else (first, ends.first)
    placed = subject.place_of(written)
    size = ends.connection.size
    if is_outside(first) == is_outside(second) or placed is None or size is None:
        return
    if inner.side is None:
        return
    along = edge(placed.box, inner.side)
    if width > along.end - along.start + _ROUNDING:
        yield FRONT_TOO_WIDE.found(
            size.start,
            size.end,
            width=subject.written(size.width),
            length=fixed(along.end - along.start),
            room=inner.room.text,
            side=inner.side,
        )


def _height(subject: Subject, ends: Ends, size: tree.Size) -> Iterator[Finding]:
    """Look whether a connection is lower than its rooms."""
    heights = [subject.height_metres(end.room) for end in (ends.first, ends.second) if end]
    if size.height is None or not heights:
        return
    if subject.metres(size.height) > min(heights) + _ROUNDING:
        yield TOO_HIGH.found(
            size.start,
            size.end,
            height=subject.written(size.height),
            room=fixed(min(heights)),
        )


def front_doors(subject: Subject) -> Iterator[Finding]:
    """Look for connections to the outside at one spot of a wall."""
    spans: dict[tuple[str, str], list[tuple[float, float, int, int]]] = {}
    for floor in subject.building.floors:
        for one in floor.connections:
            connection = one.connection
            room = one.second if one.first is None else one.first
            end = connection.second if one.first is None else connection.first
            if (one.first is None) == (one.second is None) or room is None or end.side is None:
                continue
            wall = edge(room.box, end.side)
            centre = (wall.end - wall.start) * spots.centre(connection) / 100
            span = (centre - one.width / 2, centre + one.width / 2, end.start, end.end)
            spans.setdefault((room.name, end.side), []).append(span)
    for (name, side), on_wall in spans.items():
        for before, after in pairwise(sorted(on_wall)):
            if after[0] < before[1] - _ROUNDING:
                yield FRONT_DOORS_MEET.found(after[2], after[3], room=name, side=side)
