"""The edges of rooms, laid on common lines and merged. It refuses to know of openings.

Edges closer than half a wall are one line, so that a wall drawn twice by neighbours is there once.
"""

import itertools
import operator
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedFloor, PlacedRoom, made
from noetl_mcp.bim.floorplan.drawing.network import Piece

SIDES = ("top", "right", "bottom", "left")
BEFORE = ("bottom", "right")
"""The sides whose wall has larger coordinates than their room."""
_PLAIN = ("solid", "open")

LineKey = tuple[bool, float]
_START = operator.attrgetter("start")
Same = tuple[bool, float, float, str | None]
Spot = tuple[LineKey, float, float]
"""Where a side of a room lies: its line, and its ends on it."""


class Edge(NamedTuple):
    """One side of a room on its line; `before` says that the room lies above or left of it."""

    room: PlacedRoom
    name: str
    side: str
    before: bool
    start: float
    end: float
    solid: bool
    height: float
    elevation: float
    color: str | None


class Run(NamedTuple):
    """A wall before its openings are known."""

    start: float
    end: float
    solid: bool
    height: float
    elevation: float
    color: str | None
    pieces: tuple[Piece, ...]


class Laid(NamedTuple):
    """All edges of a floor on their lines; `wanted` are walls' own doors and windows.

    `sides` are the lines on which each room came to lie, by its id: left, right, top, bottom.
    """

    lines: dict[LineKey, list[Edge]]
    wanted: list[tuple[tree.Wall, LineKey, Edge]]
    sides: dict[int, tuple[float, float, float, float]]

    def spot(self, room: PlacedRoom, side: str) -> Spot | None:
        """Find a side of a room; a room without an area has none."""
        found = self.sides.get(id(room))
        if found is None:
            return None
        left, right, top, bottom = found
        if side == "top":
            return (True, top), left, right
        if side == "bottom":
            return (True, bottom), left, right
        return (False, left if side == "left" else right), top, bottom


def lines_of(floor: PlacedFloor, thickness: float) -> Laid:
    """Lay the edges of all rooms on lines; rooms without an area have none."""
    rooms: list[PlacedRoom] = []
    across: set[float] = set()
    down: set[float] = set()
    near = thickness / 2
    for room in floor.every_room():
        x, y, width, height = room.box
        if width > 0 and height > 0:
            rooms.append(room)
            across.add(x)
            across.add(x + width)
            down.add(y)
            down.add(y + height)
            if width < 4 * near or height < 4 * near:
                near = min(width, height) / 4
    xs, ys = _snapped(across, near), _snapped(down, near)
    lines: dict[LineKey, list[Edge]] = defaultdict(list)
    wanted: list[tuple[tree.Wall, LineKey, Edge]] = []
    sides: dict[int, tuple[float, float, float, float]] = {}
    for room in rooms:
        written, name, (x, y, width, height), tall, elevation, style, _, _ = room
        left, right, top, bottom = xs[x], xs[x + width], ys[y], ys[y + height]
        sides[id(room)] = (left, right, top, bottom)
        color = wall_color(room) if style is not None else None
        walls = written.walls
        said = {wall.side: wall for wall in reversed(walls)}
        for side, before, key, start, end in (
            ("top", False, (True, top), left, right),
            ("right", True, (False, right), top, bottom),
            ("bottom", True, (True, bottom), left, right),
            ("left", False, (False, left), top, bottom),
        ):
            wall = said.get(side)
            solid = wall is None or wall.kind != "open"
            high = tall if wall is None else wall.height or tall
            edge = made(Edge, (room, name, side, before, start, end, solid, high, elevation, color))
            lines[key].append(edge)
            if wall is not None and (wall.kind not in _PLAIN or len(said) < len(walls)):
                wanted += [
                    (wall, key, edge)
                    for wall in walls
                    if wall.side == side and wall.kind not in _PLAIN
                ]
    return Laid(dict(lines), wanted, sides)


def runs_of(edges: list[Edge]) -> list[Run]:
    """Merge the edges of one line into walls, each as long as it stays the same."""
    runs: list[Run] = []
    pieces: list[Piece] = []
    first, last = 0.0, float("nan")
    same: Same | None = None
    for start, end, there in _spans(edges):
        found, piece = _seen(start, end, there)
        if found != same or start != last:
            if same is not None:
                runs.append(Run(first, last, *same, tuple(pieces)))
            first, same, pieces = start, found, []
        pieces.append(piece)
        last = end
    if same is not None:
        runs.append(Run(first, last, *same, tuple(pieces)))
    return runs


def wall_color(room: PlacedRoom) -> str | None:
    """The colour that a room's style gives its walls."""
    if room.style is None:
        return None
    for one in reversed(room.style.properties):
        if one.key == "wall_color" and isinstance(one.value, str):
            return one.value
    return None


def _snapped(values: set[float], near: float) -> dict[float, float]:
    snapped: dict[float, float] = {}
    first = float("-inf")
    for value in sorted(values):
        if value - first > near:
            first = value
        snapped[value] = first
    return snapped


def _spans(edges: list[Edge]) -> Iterator[tuple[float, float, list[Edge]]]:
    ordered = sorted(edges, key=_START)
    groups = _groups(ordered)
    if groups is not None:
        yield from groups
        return
    waiting = ordered[::-1]
    points = sorted({point for edge in edges for point in (edge.start, edge.end)})
    there: list[Edge] = []
    for start, end in itertools.pairwise(points):
        there = [edge for edge in there if edge.end > start]
        while waiting and waiting[-1].start <= start:
            there.append(waiting.pop())
        if there:
            yield start, end, there


def _groups(ordered: list[Edge]) -> list[tuple[float, float, list[Edge]]] | None:
    """The parts of a line where edges have all their ends in common; None where they do not."""
    groups: list[tuple[float, float, list[Edge]]] = []
    start, end, there = 0.0, float("-inf"), ordered[:0]
    for edge in ordered:
        if edge.start >= end:
            start, end, there = edge.start, edge.end, [edge]
            groups.append((start, end, there))
        elif edge.start == start and edge.end == end:
            there.append(edge)
        else:
            return None
    return groups


def _seen(start: float, end: float, there: list[Edge]) -> tuple[Same, Piece]:
    """What a part of a line is like, and the rooms beside it."""
    if len(there) == 1:
        (edge,) = there
        name = (edge.name,)
        beside = (name, ()) if edge.before else ((), name)
        piece = made(Piece, (start, end, *beside))
        return (edge.solid, edge.height, edge.elevation, edge.color), piece
    if len(there) == 2 and there[0].before != there[1].before:
        one, other = there if there[0].before else there[::-1]
        piece = made(Piece, (start, end, (one.name,), (other.name,)))
        same = one[6:]
        if same == other[6:]:
            return same, piece
    else:
        piece = Piece(
            start,
            end,
            tuple([edge.name for edge in there if edge.before]),
            tuple([edge.name for edge in there if not edge.before]),
        )
    walls = [edge for edge in there if edge.solid] or there
    solid, height, elevation, color = walls[0][6:]
    for edge in walls[1:]:
        height = max(height, edge.height)
        elevation = min(elevation, edge.elevation)
        color = color or edge.color
    return (solid, height, elevation, color), piece
