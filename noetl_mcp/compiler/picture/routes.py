"""Draw the lines of an arrangement and place its boxes. It refuses to move a knot.

Lines are vertical inside a row and curve only between rows, so no line ever crosses a box.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from noetl_mcp.compiler.picture.arrangement import Arrangement
from noetl_mcp.compiler.picture.frames import Inner, Unit
from noetl_mcp.compiler.picture.newspaper import way_round
from noetl_mcp.compiler.picture.page import Page, set_in_columns
from noetl_mcp.compiler.picture.places import Frame, Layout, Place, Point, Route, Ruler, Stroke
from noetl_mcp.compiler.picture.ports import Link, Ports, links, ports
from noetl_mcp.compiler.picture.wiring import Wire, Wiring


@dataclass(frozen=True, slots=True)
class _Lines:
    """The page, the ends of every link, and the links that run round a column."""

    page: Page
    ports: Ports
    rounds: Mapping[Link, tuple[Point, ...]]


def placed(arrangement: Arrangement, wiring: Wiring, ruler: Ruler) -> Layout:
    """Place one connected part of a picture."""
    page = set_in_columns(arrangement, ruler)
    lines = _lines(page)
    weave = arrangement.weave
    led = zip(arrangement.wires, weave.paths, weave.labels, strict=True)
    routes = [_route(wire, path, label, lines) for wire, path, label in led]
    places: list[Place] = []
    frames: list[Frame] = []
    for at, unit in enumerate(arrangement.units):
        corner = page.corner(at)
        places += _places(unit, corner, wiring, ruler)
        routes += [_inside(inner, corner) for inner in unit.inner]
        if unit.framed:
            frames.append(_frame(unit, corner))
    return Layout(*page.size(), tuple(places), tuple(frames), tuple(routes))


def _frame(unit: Unit, corner: Point) -> Frame:
    counts = (len(unit.spots), unit.branches)
    return Frame(*corner, unit.width, unit.height, *counts, conditioned=unit.conditioned)


def _lines(page: Page) -> _Lines:
    all_links = links(page.arrangement)
    ends = ports(page.arrangement, all_links)
    rounds: dict[Link, tuple[Point, ...]] = {}
    row = page.arrangement.weave.row
    for column, following in pairwise(page.columns):
        over = [link for link in all_links if row[link.upper] == column.end - 1]
        over.sort(key=lambda link: (-page.x(link.upper), -page.x(link.lower), link.kind))
        box = (page.right_of(column), page.foot_of(column), page.head_of(following))
        for at, link in enumerate(over):
            start, end = _ends(link, page, ends)
            rounds[link] = way_round(start, end, box, (at, len(over)))
    return _Lines(page, ends, rounds)


def _ends(link: Link, page: Page, ends: Ports) -> tuple[Point, Point]:
    start = (ends[link, 0] + page.shift(link.upper), page.foot(link.upper))
    return start, (ends[link, 1] + page.shift(link.lower), page.top(link.lower))


def _places(unit: Unit, corner: Point, wiring: Wiring, ruler: Ruler) -> list[Place]:
    places: list[Place] = []
    for spot in unit.spots:
        loops = spot.box in wiring.loops
        x, width = corner[0] + spot.x, spot.width
        if loops:
            x, width = x + ruler.loop, width - 2 * ruler.loop
        box = wiring.boxes[spot.box]
        places.append(Place(box, x, corner[1] + spot.y, width, spot.height, loops))
    return places


def _inside(inner: Inner, corner: Point) -> Route:
    """Draw a wire within a branch of a grid."""
    x = corner[0] + inner.start[0]
    top, foot = corner[1] + inner.start[1], corner[1] + inner.end[1]
    wire = inner.wire
    strokes = (Stroke(((x, top), (x, foot))),) if top < foot else ()
    middle = (x, (top + foot) / 2)
    return Route(wire.arrows, strokes, wire.label, middle, wire.turned, bool(strokes))


def _route(wire: Wire, path: tuple[int, ...], label: int, lines: _Lines) -> Route:
    page = lines.page
    if not path:
        return _straight(wire, page)
    strokes: list[Stroke] = []
    for upper, lower in pairwise(path):
        link = Link(upper, lower, wire.kind)
        start, end = _ends(link, page, lines.ports)
        units = page.arrangement.weave.units
        top = _bottom(upper, page) if upper < units else page.top(upper)
        strokes.append(Stroke(((start[0], top), start)))
        if link in lines.rounds:
            strokes.append(Stroke(lines.rounds[link]))
        else:
            strokes.append(Stroke((start, end), curved=abs(start[0] - end[0]) > 0.5))
        if lower < units:
            strokes.append(Stroke((end, (end[0], page.corner(lower)[1]))))
    kept = tuple(stroke for stroke in strokes if stroke.points[0] != stroke.points[-1])
    middle = (0.0, 0.0)
    if label >= 0:
        middle = (page.x(label), (page.top(label) + page.foot(label)) / 2)
    headed = path[0 if wire.turned else -1] < page.arrangement.weave.units
    return Route(wire.arrows, kept, wire.label, middle, wire.turned, headed)


def _bottom(unit: int, page: Page) -> float:
    return page.corner(unit)[1] + page.arrangement.weave.heights[unit]


def _straight(wire: Wire, page: Page) -> Route:
    """Draw a wire that is too long to be led, behind everything else."""
    start = (page.x(wire.upper), _bottom(wire.upper, page))
    end = (page.x(wire.lower), page.corner(wire.lower)[1])
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    stroke = Stroke((start, end), curved=True)
    return Route(wire.arrows, (stroke,), wire.label, middle, wire.turned)
