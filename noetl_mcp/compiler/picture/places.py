"""Where everything in a picture stands: the values between layout and drawing. It draws nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from noetl_mcp.compiler.picture.drawing import Arrow, Box

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ruler:
    """How big things are: `box` and `label` measure text, the rest are distances.

    A fan of like steps wider than `fold` becomes a framed grid of about this `shape`, width by
    height; other rows wider than `row_limit` are broken; a picture taller than `column_limit` is
    set in columns, as a newspaper is. `whole` rounds to whole units, for terminals.
    """

    box: Callable[[Box], Size]
    label: Callable[[str], Size]
    gap: float
    lane: float
    stack: float
    inset: float
    caption: float
    loop: float
    fold: float
    row_limit: float
    column_limit: float
    shape: float
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A box and its upper left corner; `loops` when the step points at itself."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    loops: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A border around steps that share all their arrows, drawn once for all of them."""

    x: float
    y: float
    width: float
    height: float
    steps: int
    branches: int
    conditioned: bool = False


@dataclass(frozen=True, slots=True)
class Stroke:
    """A piece of a line: two points joined by a curve, or corners to be rounded."""

    points: tuple[Point, ...]
    curved: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One drawn line. `arrows` are those it stands for; it runs upwards when `turned`.

    A line that shares a trunk begins or ends on it, and is not `headed` when the trunk has the
    arrowhead. Without strokes it is only the condition of a branch, whose line leads to its frame.
    """

    arrows: tuple[Arrow, ...]
    strokes: tuple[Stroke, ...]
    label: str = ""
    label_at: Point = (0.0, 0.0)
    turned: bool = False
    headed: bool = True

    @property
    def tip(self) -> Point:
        """Where the arrowhead is."""
        return self.strokes[0].points[0] if self.turned else self.strokes[-1].points[-1]


@dataclass(frozen=True, slots=True)
class Layout:
    """The placed picture; every coordinate is between zero and `width` or `height`."""

    width: float
    height: float
    places: tuple[Place, ...]
    frames: tuple[Frame, ...]
    routes: tuple[Route, ...]
