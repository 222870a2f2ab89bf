"""The edges of rooms, laid on common lines and merged. It refuses to know of openings.

Edges closer than half a wall are one line, so that a wall drawn twice by neighbours is there once.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.drawing.network import Piece

SIDES = ("top", "right", "bottom", "left")
BEFORE = ("bottom", "right")
"""The sides whose wall has larger coordinates than their room."""

LineKey = tuple[bool, float]


class Edge(NamedTuple):
    """One side of a room on its line."""

    room: PlacedRoom
    side: str
    start: float
    end: float
    solid: bool
    height: float
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


def lines_of(floor: PlacedFloor, thickness: float) -> dict[LineKey, list[Edge]]:
    """Lay the edges of all rooms on lines; rooms without an area have none."""
    rooms = [room for room in floor.every_room() if room.box.width > 0 and room.box.height > 0]
    near = _near(rooms, thickness)
    xs = _snapped((x for room in rooms for x in (room.box.x, room.box.right)), near)
    ys = _snapped((y for room in rooms for y in (room.box.y, room.box.bottom)), near)
    lines: dict[LineKey, list[Edge]] = {}
    for room in rooms:
        box = room.box
        left, right, top, bottom = xs[box.x], xs[box.right], ys[box.y], ys[box.bottom]
        color = wall_color(room)
        listed = {wall.side: wall for wall in reversed(room.room.walls)}
        for side, key, start, end in (
            ("top", (True, top), left, right),
            ("right", (False, right), top, bottom),
            ("bottom", (True, bottom), left, right),
            ("left", (False, left), top, bottom),
        ):
            wall = listed.get(side)
            solid = wall is None or wall.kind != "open"
            height = room.height if wall is None or not wall.height else wall.height
            lines.setdefault(key, []).append(Edge(room, side, start, end, solid, height, color))
    return lines


def runs_of(edges: list[Edge]) -> list[Run]:
    """Merge the edges of one line into walls, each as long as it stays the same."""
    runs: list[Run] = []
    for start, end, there in _spans(edges):
        piece = Piece(
            start,
            end,
            tuple(edge.room.name for edge in there if edge.side in BEFORE),
            tuple(edge.room.name for edge in there if edge.side not in BEFORE),
        )
        walls = [edge for edge in there if edge.solid]
        run = _run(piece, walls or there, bool(walls))
        last = runs[-1] if runs else None
        if last and last.end == start and last[2:6] == run[2:6]:
            runs[-1] = last._replace(end=end, pieces=(*last.pieces, piece))
            continue
        runs.append(run)
    return runs


def wall_color(room: PlacedRoom) -> str | None:
    """The colour that a room's style gives its walls."""
    if room.style is None:
        return None
    for one in reversed(room.style.properties):
        if one.key == "wall_color" and isinstance(one.value, str):
            return one.value
    return None


def _near(rooms: list[PlacedRoom], thickness: float) -> float:
    smallest = min((min(room.box.width, room.box.height) for room in rooms), default=0.0)
    return min(thickness / 2, smallest / 4)


def _snapped(values: Iterable[float], near: float) -> dict[float, float]:
    snapped: dict[float, float] = {}
    first = float("-inf")
    for value in sorted(set(values)):
        if value - first > near:
            first = value
        snapped[value] = first
    return snapped


def _spans(edges: list[Edge]) -> Iterator[tuple[float, float, list[Edge]]]:
    waiting = sorted(edges, key=lambda edge: edge.start, reverse=True)
    points = sorted({point for edge in edges for point in (edge.start, edge.end)})
    there: list[Edge] = []
    for start, end in itertools.pairwise(points):
        there = [edge for edge in there if edge.end > start]
        while waiting and waiting[-1].start <= start:
            there.append(waiting.pop())
        if there:
            yield start, end, there


def _run(piece: Piece, there: list[Edge], solid: bool) -> Run:
    if len(there) == 1:
        (edge,) = there
        height, elevation, color = edge.height, edge.room.elevation, edge.color
    else:
        height = max(edge.height for edge in there)
        elevation = min(edge.room.elevation for edge in there)
        color = next((edge.color for edge in there if edge.color), None)
    return Run(piece.start, piece.end, solid, height, elevation, color, (piece,))
