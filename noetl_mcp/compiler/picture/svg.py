"""Draw a picture as one self-contained SVG. It refuses scripts, links and outside fonts.

Light colours are attributes, dark ones a style sheet for readers who prefer it; see `palette`.
Each step is a `g.ng-step` with its name in `data-step`, so that a page may colour it.
"""

from noetl_mcp.compiler.picture.drawing import Picture
from noetl_mcp.compiler.picture.layout import laid_out
from noetl_mcp.compiler.picture.palette import DARK, INK, PAPER
from noetl_mcp.compiler.picture.places import Layout, Ruler
from noetl_mcp.compiler.picture.svg_boxes import LOOP, box_size, card, frame
from noetl_mcp.compiler.picture.svg_legend import legend
from noetl_mcp.compiler.picture.svg_lines import label_size, labels_of, lines_of
from noetl_mcp.compiler.picture.svg_text import FONT, element, line_of, number, point, words
from noetl_mcp.lettering.fitted import printable, shortened
from noetl_mcp.lettering.widths import width_of

RULER = Ruler(
    box=box_size,
    label=label_size,
    gap=26.0,
    lane=16.0,
    stack=22.0,
    inset=14.0,
    caption=14.0,
    loop=LOOP,
    fold=1000.0,
    row_limit=2400.0,
    column_limit=1500.0,
    shape=2.2,
)

_MARGIN = 24.0
_HEADING = 15.0
_NARROWEST = 420.0
_LEGEND = 360.0


def svg_of(picture: Picture) -> str:
    """Draw the picture."""
    layout = laid_out(picture, RULER)
    title = shortened(printable(picture.title), max(layout.width, _NARROWEST), _heading_width)
    top = _MARGIN + (_HEADING + 16 if title else 0.0)
    inner = max(layout.width, _heading_width(title))
    signs, signs_height = legend(layout, _MARGIN, top + layout.height + 24, max(inner, _LEGEND))
    width = max(inner, _LEGEND if signs else 0.0) + 2 * _MARGIN
    height = top + layout.height + (signs_height + 24 if signs else 0.0) + _MARGIN
    left = (width - layout.width) / 2
    body = (
        element("title", words(picture.title) or "workflow"),
        element("desc", words(_described(layout))),
        element("style", DARK),
        element("rect", width=width, height=height, fill=PAPER, class_="ng-paper"),
        _heading(title),
        element("g", _body(layout), transform=f"translate({point(left, top)})"),
        signs,
    )
    return element(
        "svg",
        "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        font_family=FONT,
        class_="ng-graph",
    )


def _heading_width(text: str) -> float:
    return width_of(text, _HEADING, bold=True)


def _heading(title: str) -> str:
    if not title:
        return ""
    y = _MARGIN + _HEADING - 3
    return line_of(title, _MARGIN, y, _HEADING, fill=INK, class_="ng-ink", bold=True)


def _described(layout: Layout) -> str:
    arrows = sum(len(route.arrows) for route in layout.routes if route.strokes)
    hidden = sum(place.box.hidden for place in layout.places)
    writing = sum(place.box.writes for place in layout.places)
    return (
        f"A workflow of {len(layout.places)} steps and {arrows} arrows; "
        f"{writing} steps write, {hidden} are hidden."
    )


def _body(layout: Layout) -> str:
    frames = "".join(frame(place) for place in layout.frames)
    cards = "".join(card(place) for place in layout.places)
    return frames + lines_of(layout.routes) + labels_of(layout.routes) + cards
