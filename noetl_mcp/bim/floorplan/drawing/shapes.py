"""A drawing as a list of shapes. It refuses to know any file format.

A sheet is one floor, or what stands around the floors. Coordinates of shapes are the sheet's own (a
floor's are those of the plan): on paper they are `origin + scale * coordinate`. Sizes of letters
and widths of lines are paper's.
"""

from dataclasses import dataclass
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box

Point = tuple[float, float]


class Stroke(NamedTuple):
    """A line through points; a closed one returns to the first."""

    points: tuple[Point, ...]
    closed: bool = False


class Arc(NamedTuple):
    """A part of a circle; `clockwise` as seen on paper."""

    center: Point
    radius: float
    start: Point
    end: Point
    clockwise: bool
    large: bool = False


class Circle(NamedTuple):
    """A whole circle."""

    center: Point
    radius: float


Shape = Stroke | Arc | Circle | Box


class Area(NamedTuple):
    """The floor of a room, with what it is called and a sentence about it."""

    room: str
    title: str
    box: Box
    fill: str


class Label(NamedTuple):
    """One line of text; `y` is where the letters stand, `x` where they begin, end or have their
    middle (`anchor`). A turned one reads upwards."""

    text: str
    x: float
    y: float
    anchor: str = "middle"
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Shapes drawn alike: stroked in `ink`, and filled where `fill` is a colour."""

    name: str
    ink: str | None
    width: float
    shapes: tuple[Shape, ...]
    fill: str | None = None
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Letters:
    """Labels of one size and colour."""

    name: str
    ink: str
    size: float
    labels: tuple[Label, ...]
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Areas:
    """Floors of rooms."""

    name: str
    areas: tuple[Area, ...]


Layer = Lines | Letters | Areas


@dataclass(frozen=True, slots=True)
class Sheet:
    """Layers in the order in which they are drawn; `floor` is its name, None around the floors."""

    floor: str | None
    scale: float
    origin: Point
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of so many units; `notes` tell what could not be shown as the plan says."""

    width: float
    height: float
    paper: str
    title: str
    description: str
    sheets: tuple[Sheet, ...]
    font: str | None = None
    notes: tuple[str, ...] = ()
