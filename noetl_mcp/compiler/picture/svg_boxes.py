"""Draw steps as cards: name, type, marks. It refuses to decide where they stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from noetl_mcp.compiler.picture.drawing import Box
from noetl_mcp.compiler.picture.palette import (
    ACCENT,
    CARD,
    CARD_EDGE,
    FRAME,
    FRAME_EDGE,
    HIDDEN_CARD,
    INK,
    LINES,
    PAPER,
    SOFT_INK,
    WRITES,
    family,
)
from noetl_mcp.compiler.picture.places import Frame, Place, Size
from noetl_mcp.compiler.picture.svg_text import element, line_of, number, words
from noetl_mcp.lettering.fitted import broken, printable, shortened
from noetl_mcp.lettering.widths import width_of

_NAME, _KIND, _NOTE, _PILL = 13.0, 11.0, 10.5, 9.5
_LEFT, _RIGHT, _TOP, _BOTTOM = 14.0, 12.0, 7.0, 8.0
_NAME_LINE, _KIND_LINE, _NOTE_LINE = 17.0, 15.0, 14.0
_WIDEST, _NARROWEST = 190.0, 72.0
_PILL_WORD = "writes"
LOOP = 16.0
CAPTION = 18.0


@dataclass(frozen=True, slots=True)
class _Card:
    """The lines of text of a box, as they fit."""

    name: tuple[str, ...]
    kind: str
    note: str
    size: Size


def _name_width(text: str) -> float:
    return width_of(text, _NAME, bold=True)


def _pill_width() -> float:
    return width_of(_PILL_WORD, _PILL, bold=True) + 11


def _card(box: Box) -> _Card:
    name = broken(printable(box.name), _WIDEST, 2, _name_width)
    kind = shortened(printable(box.kind), _WIDEST, lambda text: width_of(text, _KIND))
    note = shortened(printable(box.note), _WIDEST, lambda text: width_of(text, _NOTE))
    pill = _pill_width() + (8 if kind else 0) if box.writes else 0.0
    widths = [_name_width(line) for line in name]
    widths += [width_of(kind, _KIND) + pill, width_of(note, _NOTE)]
    second = bool(kind or box.writes)
    high = len(name) * _NAME_LINE + second * _KIND_LINE + bool(note) * _NOTE_LINE
    width = max(_NARROWEST, round(max(widths) + _LEFT + _RIGHT + 0.5))
    return _Card(name, kind, note, (width, high + _TOP + _BOTTOM))


def box_size(box: Box) -> Size:
    """Say how big a step's card is."""
    return _card(box).size


def frame(place: Frame) -> str:
    """Draw the border around like steps, and say how many they are."""
    what = f"{place.branches} branches" if place.steps > place.branches else f"{place.steps} steps"
    border = element(
        "rect",
        x=place.x,
        y=place.y,
        width=place.width,
        height=place.height,
        rx=10,
        fill=FRAME,
        stroke=FRAME_EDGE,
        class_="ng-frame",
    )
    caption = line_of(
        f"{what} side by side" + ", each on its condition" * place.conditioned,
        place.x + 14,
        place.y + 19,
        _KIND,
        fill=SOFT_INK,
        class_="ng-soft",
    )
    return border + caption


def card(place: Place) -> str:
    """Draw a step."""
    box, text = place.box, _card(place.box)
    told = "; ".join(filter(None, (box.name, box.kind, *_marks(box), box.note)))
    parts = [element("title", words(told)), *_outline(place)]
    y = place.y + _TOP + (place.height - text.size[1]) / 2
    x = place.x + _LEFT
    for line in text.name:
        y += _NAME_LINE
        parts.append(line_of(line, x, y - 4, _NAME, fill=INK, class_="ng-ink", bold=not box.hidden))
    if text.kind or box.writes:
        y += _KIND_LINE
        parts.append(line_of(text.kind, x, y - 3.5, _KIND, fill=SOFT_INK, class_="ng-soft"))
    if box.writes:
        parts += _pill(place.x + place.width - 8 - _pill_width(), y - _KIND_LINE + 1)
    if text.note:
        y += _NOTE_LINE
        parts.append(line_of(text.note, x, y - 3, _NOTE, fill=SOFT_INK, class_="ng-soft"))
    return element("g", "".join(parts), class_="ng-step", data_step=box.name)


def _marks(box: Box) -> Sequence[str]:
    return ["writes"] * box.writes + ["hidden step"] * box.hidden


def _outline(place: Place) -> list[str]:
    box = place.box
    x, y, width, height = place.x, place.y, place.width, place.height
    classes = "ng-card" + " ng-hidden" * box.hidden + " ng-writes-card" * box.writes
    border: dict[str, str] = {"stroke_dasharray": "5 3"} if box.hidden else {}
    kind = family(box.kind)
    shapes = [
        element(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=7,
            fill=HIDDEN_CARD if box.hidden else CARD,
            stroke=WRITES if box.writes else CARD_EDGE,
            stroke_width=1.6 if box.writes else 1.1,
            class_=classes,
            **border,
        ),
        element(
            "rect",
            x=x + 4,
            y=y + 7,
            width=3.5,
            height=height - 14,
            rx=1.75,
            fill=ACCENT[kind],
            class_=f"ng-{kind}",
        ),
    ]
    if place.loops:
        right, middle = x + width, y + height / 2
        path = f"M{number(right)},{number(middle - 9)}c17,-5 17,23 4,18"
        shapes.append(
            element(
                "path",
                d=path,
                fill="none",
                stroke=LINES["next"],
                stroke_width=1.4,
                class_="ng-next",
            )
        )
        tip = f"M{number(right + 0.5)},{number(middle + 9)}l8,-4.5v9z"
        shapes.append(element("path", d=tip, fill=LINES["next"], class_="ng-next-tip"))
    return shapes


def _pill(x: float, y: float) -> list[str]:
    width = _pill_width()
    return [
        element("rect", x=x, y=y, width=width, height=13, rx=6.5, fill=WRITES, class_="ng-pill"),
        line_of(
            _PILL_WORD,
            x + width / 2,
            y + 9.8,
            _PILL,
            fill=PAPER,
            class_="ng-pill-ink",
            bold=True,
            anchor="middle",
        ),
    ]
