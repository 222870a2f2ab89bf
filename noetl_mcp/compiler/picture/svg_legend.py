"""Explain the marks a drawing uses. It refuses to explain marks that do not occur."""

from noetl_mcp.compiler.picture.palette import CARD_EDGE, HIDDEN_CARD, LINES, SOFT_INK, WRITES
from noetl_mcp.compiler.picture.places import Layout
from noetl_mcp.compiler.picture.svg_text import element, line_of, point
from noetl_mcp.lettering.widths import width_of

_TEXT = 10.5
_ROW = 18.0
_SIGN = 30.0
_GAP = 22.0

_WORDS = {
    "writes": "changes something outside",
    "hidden": "hidden step, made by the compiler",
    "error": "followed on error",
    "need": "needs the result",
}


def legend(layout: Layout, x: float, y: float, width: float) -> tuple[str, float]:
    """Draw the legend at this place, and say how high it became; nothing is 0 high."""
    parts: list[str] = []
    right, top = x, y
    for mark in _marks(layout):
        text = _WORDS[mark]
        room = _SIGN + width_of(text, _TEXT)
        if right > x and right + room > x + width:
            right, top = x, top + _ROW
        parts.append(_sign(mark, right, top + 8))
        parts.append(line_of(text, right + _SIGN, top + 12, _TEXT, fill=SOFT_INK, class_="ng-soft"))
        right += room + _GAP
    return "".join(parts), (top + _ROW - y if parts else 0.0)


def _marks(layout: Layout) -> list[str]:
    kinds = {route.arrows[0].kind for route in layout.routes}
    present = {
        "writes": any(place.box.writes for place in layout.places),
        "hidden": any(place.box.hidden for place in layout.places),
        "error": "error" in kinds,
        "need": "need" in kinds,
    }
    return [mark for mark, there in present.items() if there]


def _sign(mark: str, x: float, y: float) -> str:
    if mark == "writes":
        return element(
            "rect", x=x + 2, y=y - 5, width=20, height=10, rx=5, fill=WRITES, class_="ng-pill"
        )
    if mark == "hidden":
        return element(
            "rect",
            x=x + 2,
            y=y - 6,
            width=20,
            height=12,
            rx=3,
            fill=HIDDEN_CARD,
            stroke=CARD_EDGE,
            stroke_dasharray="4 2.5",
            class_="ng-card ng-hidden",
        )
    dashes, cap = ("6 4", "butt") if mark == "error" else ("1.5 4.5", "round")
    return element(
        "path",
        d=f"M{point(x, y)}h24",
        stroke=LINES[mark],
        stroke_width=1.6,
        stroke_dasharray=dashes,
        stroke_linecap=cap,
        fill="none",
        class_=f"ng-{mark}",
    )
