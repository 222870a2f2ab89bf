"""How a plan shall be drawn, and why one cannot be. It refuses to draw."""

from dataclasses import dataclass

SIDE_BY_SIDE = "sideBySide"
STACKED = "stacked"
NARROWEST = 320
WIDEST = 8_000


class CannotDraw(ValueError):
    """A plan, or a wish, of which there is no picture; its text is for whoever asked."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is shown of a building, and how.

    `floor` is the index of the one that is drawn, None draws all. What is None here is as the plan
    says. Letters and lines have the size that suits a picture of `width` pixels; `height` bounds
    it.
    """

    floor: int | None = None
    layout: str = SIDE_BY_SIDE
    width: int = 800
    height: int | None = None
    show_labels: bool | None = None
    show_area: bool = False
    show_dimensions: bool | None = None
    show_summary: bool = False
    area_unit: str | None = None
    length_unit: str | None = None
    theme: str | None = None
