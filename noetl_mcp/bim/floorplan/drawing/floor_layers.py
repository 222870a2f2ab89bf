"""A floor to scale: its layers from the ground up. It refuses to write letters.

Walls are one path for each colour, with the openings cut out of them; lines take an ink that can be
seen on the ground where they lie.
"""

from collections.abc import Iterator, Mapping

from noetl_mcp.bim.floorplan.building import Box, PlacedRoom, made
from noetl_mcp.bim.floorplan.drawing import openings as signs
from noetl_mcp.bim.floorplan.drawing.colors import VISIBLE, Palette, color, on, seen
from noetl_mcp.bim.floorplan.drawing.floor_shapes import Door, FloorShapes
from noetl_mcp.bim.floorplan.drawing.network import Wall
from noetl_mcp.bim.floorplan.drawing.shapes import (
    Area,
    Areas,
    Layer,
    Lines,
    Shape,
    Stroke,
)
from noetl_mcp.bim.floorplan.drawing.styles import floor_of

THINNEST = 1.6
_FINE_WINDOW = 4.5
_ENTRANCE = 9.0
_TOLD_APART = 2.2
MOST_OVERLAPS = 20


def _fill_of(room: PlacedRoom, palette: Palette) -> str:
    """The colour of a room's floor."""
    if room.style is None:
        return palette.room
    return floor_of(room.style, palette.room, palette)


def fills(floor: FloorShapes, palette: Palette) -> dict[str, str]:
    """The colour of every room's floor, by name."""
    return {room.name: _fill_of(room, palette) for room in floor.rooms}


def ground_layer(floor: FloorShapes, palette: Palette, titles: Mapping[int, str]) -> Areas:
    """The floors of all rooms, sub-rooms on top of theirs."""
    return Areas(
        "rooms",
        tuple(
            made(Area, (room.name, titles[id(room)], room.box, _fill_of(room, palette)))
            for room in floor.rooms
        ),
    )


def wall_layers(floor: FloorShapes, palette: Palette, scale: float) -> Iterator[Layer]:
    """Walls without their openings, and the edges where rooms have none."""
    thick = max(floor.network.thickness, THINNEST / scale)
    drawn: dict[str, list[Shape]] = {}
    open_edges: list[Shape] = []
    for wall in floor.network.walls:
        if not wall.solid:
            open_edges.extend(_edge(wall))
            continue
        ink = _wall_ink(wall.color, palette)
        patches = drawn.setdefault(ink, [])
        seen = wall if wall.thickness == thick else wall._replace(thickness=thick)
        low = wall.at - thick / 2
        if wall.horizontal:
            patches += [made(Box, (a, low, b - a, thick)) for a, b in seen.solids()]
        else:
            patches += [made(Box, (low, a, thick, b - a)) for a, b in seen.solids()]
    if open_edges:
        yield Lines("open-edges", palette.faint, 0.9, tuple(open_edges), dash=(5, 4))
    for ink, patches in drawn.items():
        yield Lines("walls", None, 0.0, tuple(patches), fill=ink)


def _patch(wall: Wall, start: float, end: float, thick: float) -> Box:
    low = wall.at - thick / 2
    if wall.horizontal:
        return made(Box, (start, low, end - start, thick))
    return made(Box, (low, start, thick, end - start))


def overlap_layers(floor: FloorShapes, palette: Palette, scale: float) -> Iterator[Layer]:
    """Hatch the ground that two rooms share."""
    hatches: list[Shape] = []
    borders: list[Shape] = []
    for one, other in floor.overlaps[:MOST_OVERLAPS]:
        left, top = max(one.box.x, other.box.x), max(one.box.y, other.box.y)
        wide = min(one.box.right, other.box.right) - left
        high = min(one.box.bottom, other.box.bottom) - top
        borders.append(Box(left, top, wide, high))
        hatches.extend(_hatch(left, top, wide, high, max(8.0 / scale, (wide + high) / 80)))
    if borders:
        yield Lines("overlaps", palette.wrong, 0.6, tuple(hatches))
        yield Lines("overlaps", palette.wrong, 1.4, tuple(borders), dash=(4, 3))


def _hatch(left: float, top: float, wide: float, high: float, step: float) -> Iterator[Stroke]:
    """Slanted lines over a rectangle."""
    along = step
    while along < wide + high:
        start = (left + min(along, wide), top + max(0.0, along - wide))
        yield Stroke((start, (left + max(0.0, along - high), top + min(along, high))))
        along += step


def _wall_ink(written: str | None, palette: Palette) -> str:
    found = color(written) if written else None
    return seen(palette.paper, found, palette.wall, _TOLD_APART) if found else palette.wall


def _edge(wall: Wall) -> Iterator[Shape]:
    start = wall.start
    for opening in (*wall.openings, None):
        end = wall.end if opening is None else opening.start
        if end > start:
            yield Stroke((signs.at(wall, start, 0.0), signs.at(wall, end, 0.0)))
        start = end if opening is None else opening.end


def opening_layers(
    floor: FloorShapes, palette: Palette, scale: float, ground: Mapping[str, str], pane: float
) -> Iterator[Layer]:
    """Windows, passages and doors."""
    windows: list[Shape] = []
    panes: list[Shape] = []
    passages: list[Shape] = []
    thick = max(floor.network.thickness, THINNEST / scale)
    fine = floor.network.thickness * scale >= _FINE_WINDOW
    for wall, opening in floor.network.openings():
        if opening.kind == "window":
            count = max(1, min(60, round(opening.width / max(pane, 1e-9))))
            count = count if opening.width / count * scale > 7 else 1
            windows.append(_patch(wall, opening.start, opening.end, thick))
            if fine:
                panes.extend(signs.pane_lines(wall, opening, count))
        elif opening.kind == "opening" and wall.solid:
            passages.extend(signs.passage_lines(wall, opening))
    if windows:
        yield Lines("windows", palette.symbol, 0.8, tuple(windows), fill=palette.glass)
    if panes:
        yield Lines("panes", palette.symbol, 0.8, tuple(panes))
    if passages:
        yield Lines("passages", palette.faint, 0.7, tuple(passages), dash=(3, 2.5))
    yield from _door_layers(floor, palette, scale, ground)


def _door_layers(
    floor: FloorShapes, palette: Palette, scale: float, ground: Mapping[str, str]
) -> Iterator[Layer]:
    holes: dict[str, list[Shape]] = {}
    leaves: dict[str, list[Shape]] = {}
    swings: dict[str, list[Shape]] = {}
    above: list[Shape] = []
    entrances: list[Shape] = []
    paper = palette.paper
    for door in floor.doors:
        wall, opening, sign, room, beyond, apart = door
        under = ground.get(room, paper) if room else paper
        behind = ground.get(beyond, paper) if beyond else paper
        ink = on(under, palette.symbol, VISIBLE)
        thin = swings.setdefault(ink, [])
        if wall.solid and (apart or behind != under):
            holes.setdefault(behind, []).append(wall.box(opening.start, opening.end))
            thin.append(signs.threshold(wall, opening))
        leaves.setdefault(ink, []).extend(sign.leaves)
        thin.extend(sign.swings)
        above.extend(sign.above)
        if _is_entrance(door):
            size = min(_ENTRANCE / scale, opening.width * 0.5)
            entrances.append(signs.entrance(wall, opening, -opening.into, size, 3.0 / scale))
    for fill, patches in holes.items():
        yield Lines("door-holes", None, 0.0, tuple(patches), fill=fill)
    if above:
        yield Lines("doors-above", palette.faint, 0.7, tuple(above), dash=(5, 3))
    for ink, shapes in swings.items():
        yield Lines("swings", ink, 0.7, tuple(shapes))
    for ink, shapes in leaves.items():
        yield Lines("doors", ink, 1.6, tuple(shapes))
    if entrances:
        yield Lines("entrances", None, 0.0, tuple(entrances), fill=palette.faint)


def _is_entrance(door: Door) -> bool:
    """Whether a door is said to lead outside and opens inwards: then there is room for a sign."""
    said = door.opening.connection
    return said is not None and (said.first is None or said.second is None) and bool(door.room)
