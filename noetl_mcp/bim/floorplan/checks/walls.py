"""Checks of walls: what is listed for them, and whether neighbours agree about the wall between."""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedRoom
from noetl_mcp.bim.floorplan.checks.edges import OPPOSITE, edge
from noetl_mcp.bim.floorplan.checks.meetings import SIDES
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.rules import WARNING, hint, of_language
from noetl_mcp.bim.floorplan.units import Scale, fixed, scale_to, shown

_ROUNDING = 1e-6

CONFLICT = of_language(
    "shared-wall-conflict",
    WARNING,
    "Shared wall conflict: {first}.{side} is '{kind}' but {second}.{other_side} is '{other}'. "
    "Adjacent walls should have matching types for consistent rendering.",
    "neighbours see the wall between them differently, and no opening joins them",
)
HEIGHTS = of_language(
    "height-mismatch",
    WARNING,
    "Height mismatch at shared wall: {first} ({height}m) and {second} ({other}m) have different "
    "heights. This may cause visual inconsistencies in 3D rendering.",
    "neighbours are of different heights",
)
BEYOND = hint(
    "opening-beyond-wall",
    "The {kind} in {room}.{side} is placed at {at}, beyond the end of the wall.",
    "a door or window stands at more than 100 %, or farther along than its wall is long",
)
TOO_WIDE = hint(
    "opening-too-wide",
    "The {kind} in {room}.{side} is {width} wide; the wall is {length} long.",
    "a door or window is wider than its wall",
)
SAME_SPOT = hint(
    "openings-on-one-spot",
    "Two openings share one spot of wall {room}.{side}. Move one of them along the wall.",
    "two doors or windows listed for one wall overlap",
)
RULES = (CONFLICT, HEIGHTS, BEYOND, TOO_WIDE, SAME_SPOT)


def neighbours(subject: Subject) -> Iterator[Finding]:
    """Look at the wall between neighbours: kinds, and heights."""
    joined = {
        frozenset((c.first.room.text, c.second.room.text))
        for c in subject.plan.connections
        if c.kind == "opening"
    }
    for level, rooms in enumerate(subject.standing):
        heights = [subject.height_metres(room.room) for room in rooms]
        if len(set(heights)) < 2 and _are_solid(rooms):
            continue
        kinds = [subject.kinds[room.room.start] for room in rooms]
        for first, second, rank in subject.meetings[level]:
            side = SIDES[rank]
            kind = kinds[first].get(side, "solid")
            other = kinds[second].get(OPPOSITE[side], "solid")
            if kind != other and not _are_joined(rooms[first], rooms[second], joined):
                yield _conflict(rooms[first], rooms[second], side, kind, other)
            if abs(heights[first] - heights[second]) > _ROUNDING:
                yield HEIGHTS.found(
                    *rooms[first].room.name[1:],
                    first=rooms[first].name,
                    height=fixed(heights[first]),
                    second=rooms[second].name,
                    other=fixed(heights[second]),
                )


def _are_joined(first: PlacedRoom, second: PlacedRoom, joined: Set[frozenset[str]]) -> bool:
    return bool(joined) and frozenset((first.name, second.name)) in joined


def _are_solid(rooms: Sequence[PlacedRoom]) -> bool:
    """Tell whether all walls are solid, so that no neighbours can differ."""
    return all(wall.kind == "solid" for room in rooms for wall in room.room.walls)


def _conflict(first: PlacedRoom, second: PlacedRoom, side: str, kind: str, other: str) -> Finding:
    start, end = first.room.walls_start, first.room.walls_end
    for wall in first.room.walls:
        if wall.side == side:
            start, end = wall.start, wall.end
    return CONFLICT.found(
        start,
        end,
        first=first.name,
        side=side,
        kind=kind,
        second=second.name,
        other_side=OPPOSITE[side],
        other=other,
    )


def listed(subject: Subject) -> Iterator[Finding]:
    """Look at the openings that rooms list for their walls."""
    scale = scale_to(subject.building.habits.unit, raw=subject.raw)
    for rooms in subject.standing:
        for room in rooms:
            walls = room.room.walls
            for wall in walls:
                if wall.at is not None or wall.size is not None:
                    yield from _opening(room, wall, scale)
            if len(walls) > 1 and len({wall.side for wall in walls}) < len(walls):
                yield from _same_spot(subject, room, scale)


def _opening(room: PlacedRoom, wall: tree.Wall, scale: Scale) -> Iterator[Finding]:
    """Look whether an opening fits into its wall."""
    line = edge(room.box, wall.side)
    length = line.end - line.start
    place = (wall.start, wall.end)
    if wall.at is not None and wall.at > (100 if wall.percent else length + _ROUNDING):
        at = f"{shown(wall.at)}{'%' if wall.percent else ''}"
        yield BEYOND.found(*place, kind=wall.kind, room=room.name, side=wall.side, at=at)
    if wall.size is None:
        return
    width = scaled(wall.size.width, scale)
    if width > length + _ROUNDING:
        yield TOO_WIDE.found(
            *place,
            kind=wall.kind,
            room=room.name,
            side=wall.side,
            width=fixed(width),
            length=fixed(length),
        )


def _same_spot(subject: Subject, room: PlacedRoom, scale: Scale) -> Iterator[Finding]:
    """Look for two openings of one wall at one spot; one without a place is put where it fits."""
    spans: dict[str, list[tuple[float, float, tree.Wall]]] = {}
    for wall in room.room.walls:
        if wall.kind not in ("door", "window") or wall.at is None:
            continue
        line = edge(room.box, wall.side)
        centre = (line.end - line.start) * wall.at / 100 if wall.percent else wall.at
        half = _width(subject, wall, scale) / 2
        spans.setdefault(wall.side, []).append((centre - half, centre + half, wall))
    for side, on_side in spans.items():
        on_side.sort(key=lambda span: span[:2])
        for (_, end, _), (start, _, wall) in pairwise(on_side):
            if start < end - _ROUNDING:
                yield SAME_SPOT.found(wall.start, wall.end, room=room.name, side=side)


def _width(subject: Subject, wall: tree.Wall, scale: Scale) -> float:
    if wall.size is not None:
        return scaled(wall.size.width, scale)
    habits = subject.building.habits
    return habits.door_width if wall.kind == "door" else habits.window_width
