"""The walls of a floor with their openings, shared ones once. It refuses to draw them.

Rules: an edge is a wall unless everybody beside it says `open`; the wall is centred on the edge. A
connection is worth more than a wall's own `door` or `window`, a door more than a window; what two
rooms say about their common wall is there once.
"""

import bisect

from noetl_mcp.bim.floorplan.building import Building, PlacedFloor
from noetl_mcp.bim.floorplan.drawing.edges import Edge, LineKey, Run, lines_of, runs_of
from noetl_mcp.bim.floorplan.drawing.network import Network, Wall
from noetl_mcp.bim.floorplan.drawing.placing import Line
from noetl_mcp.bim.floorplan.drawing.wishes import connected, own_openings


def wall_network(floor: PlacedFloor, building: Building) -> Network:
    """Merge the walls of all rooms of a floor and put the openings into them."""
    thickness = building.habits.wall_thickness
    laid = lines_of(floor, thickness)
    lines = {key: Line(runs_of(edges), thickness / 2) for key, edges in laid.lines.items()}
    _join(lines, laid.lines)
    unplaced = connected(floor, laid, lines)
    own_openings(building, laid.wanted, lines)
    walls = [wall for key, line in lines.items() for wall in _walls(key, line, lines, thickness)]
    return Network(tuple(walls), thickness, tuple(unplaced))


def _join(lines: dict[LineKey, Line], laid: dict[LineKey, list[Edge]]) -> None:
    """Tell every line where walls across it end."""
    meet: tuple[dict[float, set[float]], dict[float, set[float]]] = ({}, {})
    for horizontal, at in lines:
        meet[horizontal][at] = set()
    for (horizontal, at), edges in laid.items():
        across = meet[not horizontal]
        for edge in edges:
            if edge.solid:
                across[edge.start].add(at)
                across[edge.end].add(at)
    for (horizontal, at), line in lines.items():
        line.joints = sorted(meet[horizontal][at])


def _walls(key: LineKey, line: Line, lines: dict[LineKey, Line], thickness: float) -> list[Wall]:
    horizontal, at = key
    walls: list[Wall] = []
    for run in line.runs:
        openings = line.between(run.start, run.end) if line.placed else ()
        joins = (
            _met(lines, horizontal, at, run.start, run.end),
            _met(lines, horizontal, at, run.end, run.start),
        )
        walls.append(
            Wall(
                horizontal,
                at,
                run.start,
                run.end,
                run.solid,
                thickness,
                run.height,
                run.elevation,
                run.color,
                run.pieces,
                tuple(openings),
                joins,
            )
        )
    return walls


def _met(lines: dict[LineKey, Line], horizontal: bool, at: float, end: float, other: float) -> bool:
    """Say whether a wall across the line stands at the end of a run."""
    across = lines.get((not horizontal, end))
    if across is None:
        return False
    found = bisect.bisect_left(across.runs, at, key=_end)
    for run in across.runs[found:]:
        if run.start > at:
            return False
        if run.solid:
            return True
    return False


def _end(run: Run) -> float:
    return run.end
