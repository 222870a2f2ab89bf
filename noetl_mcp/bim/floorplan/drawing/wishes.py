"""What a plan wants in its walls: doors of connections, doors and windows of walls.

It refuses to find their exact place. Where a plan gives a place it is that of the opening's middle:
of a connection a part of the common wall, of a wall's own door or window a part of that wall (`at
20%`) or its distance from the wall's left or upper end (`at 3`).
"""

from collections.abc import Iterator

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import (
    Building,
    PlacedConnection,
    PlacedFloor,
    made,
)
from noetl_mcp.bim.floorplan.drawing.edges import BEFORE, Edge, Laid, LineKey
from noetl_mcp.bim.floorplan.drawing.meeting import Meeting, between, outward
from noetl_mcp.bim.floorplan.drawing.network import Opening
from noetl_mcp.bim.floorplan.drawing.placing import PASSAGES, Line, Wish, outer_parts
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.units import scale_to

_SHARE_OF_WINDOWS = 0.7
_WINDOW_KEYS = ("window_width", "windowWidth", "window_size", "windowSize")

Wanted = tuple[tree.Wall, LineKey, Edge]
Lines = dict[LineKey, Line]


def connected(floor: PlacedFloor, laid: Laid, lines: Lines) -> list[PlacedConnection]:
    """Put all connections into the walls; return those that meet none."""
    unplaced: list[PlacedConnection] = []
    written = sorted(floor.connections, key=lambda one: one.connection.at is None)
    for connection in written:
        met = _met(connection, laid, lines)
        if met is None or not _put(connection, met, lines):
            unplaced.append(connection)
    return unplaced


def own_openings(building: Building, wanted: list[Wanted], lines: Lines) -> None:
    """Put the doors and windows that walls themselves name: placed ones first, doors first."""
    wanted = sorted(wanted, key=lambda one: (one[0].at is None, one[0].kind))
    chosen = _chosen_width(building)
    for entry, key, edge in wanted:
        wish = _own(entry, edge, lines[key], building, chosen)
        if wish is not None:
            lines[key].put(wish)


def _met(
    connection: PlacedConnection,
    laid: Laid,
    lines: Lines,
) -> Meeting | None:
    first, second = connection.first, connection.second
    said = connection.connection
    if first is None or second is None:
        room = first or second
        side = said.second.side if first is None else said.first.side
        return None if room is None else outward(room, side, laid, lines)
    return between(first, second, (said.first.side, said.second.side), laid)


def _put(connection: PlacedConnection, met: Meeting, lines: Lines) -> bool:
    said, first, second, width, height = connection
    _, side, key, other, low, high, outer = met
    share = 50.0 if said.at is None else min(100.0, max(0.0, said.at))
    kind, into = said.kind, _into(connection, met)
    center = low + (high - low) * share / 100
    hinge = _hinge(said, side) if kind == "door" else None
    swings = 0 if kind == "opening" else into
    rooms = (first.name if first else None, second.name if second else None)
    wish = made(
        Wish,
        (kind, low, high, center, width, 0.0, height, hinge, swings, rooms, connection, outer),
    )
    if other is None:
        return lines[key].put(wish)
    plain = wish._replace(kind="opening", hinge=None, into=0)
    keys = sorted((key, other))
    near, far = keys if into < 0 else reversed(keys)
    return lines[near].put(wish) and lines[far].put(plain)


def _into(connection: PlacedConnection, met: Meeting) -> int:
    """The side to which it swings: the room that it opens into, else the first that is a room."""
    own = -1 if met.side in BEFORE else 1
    named = connection.connection.opens_into
    if named is not None:
        return own if named.text == met.room.name else -own
    if connection.first is None:
        return own
    return own if connection.first is met.room else -own


def _hinge(said: tree.Connection, side: str) -> str:
    """Swing right is the default: held at the left or upper end, at the lower of a right wall."""
    swing = said.swing
    if swing is None and said.opens_into is not None:
        swing = "left" if said.opens_into.text == said.first.room.text else "right"
    return "start" if (swing != "left") != (side == "right") else "end"


def _own(
    entry: tree.Wall, edge: Edge, line: Line, building: Building, chosen: float | None
) -> Wish | None:
    low, high = edge.start, edge.end
    taken = line.between(low, high)
    if entry.kind == "window" and entry.at is None:
        parts = outer_parts(line.runs_between(low, high), low, high)
        if parts:
            low, high = max(parts, key=lambda part: part[1] - part[0])
    if _is_there(entry, edge, taken, low, high):
        return None
    center = _center(entry, edge) if entry.at is not None else (low + high) / 2
    habits = building.habits
    width, height = _size(entry, building)
    if width is None:
        width = habits.door_width
        if entry.kind == "window":
            width = chosen or (high - low - 2 * line.half) * _SHARE_OF_WINDOWS
    own = -1 if edge.before else 1
    if entry.kind == "door":
        tall = habits.door_height if height is None else height
        told: tuple[object, ...] = ("door", low, high, center, width, 0.0, tall, "near", own)
    else:
        tall = habits.window_height if height is None else height
        told = ("window", low, high, center, width, habits.window_sill, tall, None, 0)
    return made(Wish, (*told, (edge.name, None), None, False))


def _is_there(entry: tree.Wall, edge: Edge, taken: list[Opening], low: float, high: float) -> bool:
    """Say whether the wall has already what the entry asks for."""
    passages = entry.kind == "door"
    for one in taken:
        same = (one.kind in PASSAGES) == passages
        if not same and not passages and one.connection is None and edge.name != one.rooms[0]:
            return True
        if not same or min(one.end, high) <= max(one.start, low):
            continue
        if one.connection is None and one.rooms[0] == edge.name and entry.at is not None:
            continue
        return True
    return False


def _center(entry: tree.Wall, edge: Edge) -> float:
    at = entry.at or 0.0
    if not entry.percent:
        return min(edge.end, edge.start + at)
    return edge.start + (edge.end - edge.start) * min(100.0, at) / 100


def _size(entry: tree.Wall, building: Building) -> tuple[float | None, float | None]:
    if entry.size is None:
        return None, None
    scale = scale_to(building.habits.unit, raw=building.raw)
    height = entry.size.height
    return (
        scaled(entry.size.width, scale) or None,
        None if height is None else scaled(height, scale),
    )


def _chosen_width(building: Building) -> float | None:
    """The width of windows, where the plan's config names one."""
    config = building.plan.config
    keys: Iterator[str] = (one.key for one in config.properties) if config else iter(())
    return building.habits.window_width if any(key in _WINDOW_KEYS for key in keys) else None
