"""Lay a picture out in rows, every arrow pointing down. It refuses to know how it will be drawn.

The stages are Sugiyama's: break cycles, choose rows, lead long arrows through the rows between,
order each row so that few arrows cross, place everything. Wide fans of like steps become framed
grids, and tall pictures are set in columns. The same picture always gives the same layout.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from noetl_mcp.compiler.picture.arrangement import arranged
from noetl_mcp.compiler.picture.drawing import Picture
from noetl_mcp.compiler.picture.frames import folded
from noetl_mcp.compiler.picture.places import Layout, Route, Ruler, Stroke
from noetl_mcp.compiler.picture.routes import placed
from noetl_mcp.compiler.picture.wiring import wired

_BETWEEN_PARTS = 48.0
_SHAPE = 1.6


def laid_out(picture: Picture, ruler: Ruler) -> Layout:
    """Place every box, frame and line of the picture."""
    wiring = wired(picture)
    graph = folded(wiring, ruler)
    parts = [placed(arrangement, wiring, ruler) for arrangement in arranged(graph, ruler)]
    return _packed(parts)


def _packed(parts: Sequence[Layout]) -> Layout:
    """Set unconnected parts side by side, line by line, in their order."""
    area = sum((part.width + _BETWEEN_PARTS) * (part.height + _BETWEEN_PARTS) for part in parts)
    limit = max([part.width for part in parts] + [math.sqrt(area * _SHAPE)])
    x = y = line = width = 0.0
    moved: list[Layout] = []
    for part in parts:
        if x and x + part.width > limit:
            x, y, line = 0.0, y + line + _BETWEEN_PARTS, 0.0
        moved.append(_moved(part, x, y))
        width, line = max(width, x + part.width), max(line, part.height)
        x += part.width + _BETWEEN_PARTS
    return Layout(
        width,
        y + line,
        tuple(place for part in moved for place in part.places),
        tuple(frame for part in moved for frame in part.frames),
        tuple(route for part in moved for route in part.routes),
    )


def _moved(part: Layout, x: float, y: float) -> Layout:
    return replace(
        part,
        places=tuple(replace(place, x=place.x + x, y=place.y + y) for place in part.places),
        frames=tuple(replace(frame, x=frame.x + x, y=frame.y + y) for frame in part.frames),
        routes=tuple(_moved_route(route, x, y) for route in part.routes),
    )


def _moved_route(route: Route, x: float, y: float) -> Route:
    strokes = tuple(
        Stroke(tuple((px + x, py + y) for px, py in stroke.points), stroke.curved)
        for stroke in route.strokes
    )
    label_at = (route.label_at[0] + x, route.label_at[1] + y)
    return replace(route, strokes=strokes, label_at=label_at)
