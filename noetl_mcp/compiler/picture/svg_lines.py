"""Draw arrows: curves, heads and conditions. It refuses to decide where they go."""

from collections.abc import Sequence

from noetl_mcp.compiler.picture.conditions import condition
from noetl_mcp.compiler.picture.palette import LINES, PAPER, SOFT_INK
from noetl_mcp.compiler.picture.places import Point, Route, Size, Stroke
from noetl_mcp.compiler.picture.svg_text import element, line_of, number, point, words
from noetl_mcp.lettering.fitted import broken
from noetl_mcp.lettering.widths import width_of

_TEXT = 10.5
_LINE = 13.0
_WIDEST = 132.0
_CORNER = 7.0
_HEAD = 8.0
_DASHES = {"error": "6 4", "need": "1.5 4.5"}

Piece = tuple[str, Stroke]


def label_size(text: str) -> Size:
    """Say how big a condition is, in at most two lines."""
    lines = _lines(text)
    return round(max(_width(line) for line in lines) + 10.5), len(lines) * _LINE + 4


def lines_of(routes: Sequence[Route]) -> str:
    """Draw every line, a shared piece once, and the heads above them."""
    seen: set[Piece] = set()
    drawn = [_line(route, seen) for route in sorted(routes, key=_importance)]
    heads = {
        (route.arrows[0].kind, route.tip, route.turned): None for route in routes if route.headed
    }
    return "".join(drawn) + "".join(_head(*head) for head in heads)


def labels_of(routes: Sequence[Route]) -> str:
    """Draw the conditions, each on paper of its own so that the line does not strike it out."""
    return "".join(_label(route) for route in routes if route.label)


def _importance(route: Route) -> int:
    return ("need", "error", "next").index(route.arrows[0].kind)


def _line(route: Route, seen: set[Piece]) -> str:
    kind = route.arrows[0].kind
    strokes = [_stopped(route, at) for at in range(len(route.strokes))]
    fresh = [stroke for stroke in strokes if (kind, stroke) not in seen]
    seen.update((kind, stroke) for stroke in fresh)
    if not fresh:
        return ""
    look: dict[str, str | float] = {"stroke_dasharray": _DASHES[kind]} if kind in _DASHES else {}
    if kind == "need":
        look["stroke_linecap"] = "round"
    return element(
        "path",
        element("title", words(_told(route))),
        d=_path(fresh),
        fill="none",
        stroke=LINES[kind],
        stroke_width=1.5,
        class_=f"ng-{kind}",
        **look,
    )


def _told(route: Route) -> str:
    first = route.arrows[0]
    ends = f"{first.source} → {first.target}"
    more = f" and {len(route.arrows) - 1} more" if len(route.arrows) > 1 else ""
    kind = {"next": "", "error": " on error", "need": " (needs its result)"}[first.kind]
    return ends + more + kind + (f" when {condition(route.label)}" if route.label else "")


def _stopped(route: Route, at: int) -> Stroke:
    """End the last piece inside the arrowhead, not at its tip."""
    stroke = route.strokes[at]
    points = list(stroke.points)
    if not route.headed:
        return stroke
    if route.turned and at == 0:
        points[0] = (points[0][0], points[0][1] + _HEAD - 1)
    if not route.turned and at == len(route.strokes) - 1:
        points[-1] = (points[-1][0], points[-1][1] - _HEAD + 1)
    return Stroke(tuple(points), stroke.curved)


def _path(strokes: Sequence[Stroke]) -> str:
    """Write the pieces, lifting the pen only where they do not meet."""
    written: list[str] = []
    pen: Point | None = None
    for stroke in strokes:
        start, end = stroke.points[0], stroke.points[-1]
        if pen != start:
            written.append(f"M{point(*start)}")
        if stroke.curved:
            bend = (end[1] - start[1]) * 0.5
            controls = f"{point(start[0], start[1] + bend)} {point(end[0], end[1] - bend)}"
            written.append(f"C{controls} {point(*end)}")
        else:
            written.append(_corners(stroke.points))
        pen = end
    return "".join(written)


def _corners(points: Sequence[Point]) -> str:
    """Write a line through the points, its corners rounded."""
    written: list[str] = []
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before), _towards(corner, after)
        written.append(f"L{point(*start)}Q{point(*corner)} {point(*end)}")
    return "".join(written) + f"L{point(*points[-1])}"


def _towards(corner: Point, other: Point) -> Point:
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = max(1e-6, (dx * dx + dy * dy) ** 0.5)
    part = min(_CORNER, length / 2) / length
    return corner[0] + dx * part, corner[1] + dy * part


def _head(kind: str, tip: Point, upward: bool) -> str:
    size = -_HEAD if upward else _HEAD
    path = f"M{point(*tip)}l-4,{number(-size)}h8z"
    return element("path", d=path, fill=LINES[kind], class_=f"ng-{kind}-tip")


def _width(text: str) -> float:
    return width_of(text, _TEXT)


def _lines(text: str) -> tuple[str, ...]:
    return broken(condition(text), _WIDEST, 2, _width, ends_matter=False)


def _label(route: Route) -> str:
    lines = _lines(route.label)
    width, height = label_size(route.label)
    x, y = route.label_at
    paper = element(
        "rect",
        x=x - width / 2,
        y=y - height / 2,
        width=width,
        height=height,
        rx=3,
        fill=PAPER,
        class_="ng-paper",
    )
    top = y - height / 2 + 2
    texts = [
        line_of(
            line,
            x,
            top + (at + 1) * _LINE - 3,
            _TEXT,
            fill=SOFT_INK,
            class_="ng-soft",
            anchor="middle",
        )
        for at, line in enumerate(lines)
    ]
    return element("g", element("title", words(condition(route.label))) + paper + "".join(texts))
