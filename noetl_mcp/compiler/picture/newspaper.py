"""Set a tall picture in columns, as a newspaper is. It refuses to cut where many lines cross.

A chain of a hundred steps is read down one column, then from the top of the next. Lines over a cut
run round the foot of the column and up beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SHAPE = 1.5
_MOST_LINES = 10
_LINE = 8.0
_CLEAR = 14.0


@dataclass(frozen=True, slots=True)
class Column:
    """The rows from `first` up to `end`, moved by `right` and `up`."""

    first: int
    end: int
    right: float
    up: float


@dataclass(frozen=True, slots=True)
class Strip:
    """The picture before it is cut: for every row its y, height and extent, and lines below it."""

    tops: Sequence[float]
    heights: Sequence[float]
    lefts: Sequence[float]
    rights: Sequence[float]
    lines: Sequence[int]
    steps: Sequence[bool]

    @property
    def height(self) -> float:
        """How tall it is."""
        return self.tops[-1] + self.heights[-1]

    @property
    def width(self) -> float:
        """How wide it is."""
        return max(self.rights) - min(self.lefts)


def columns_of(strip: Strip, limit: float) -> tuple[Column, ...]:
    """Cut the strip into columns of about equal height; one column when it is not tall."""
    rows = len(strip.tops)
    if strip.height <= limit:
        return (Column(0, rows, 0.0, 0.0),)
    many = round(math.sqrt(_SHAPE * strip.height / (strip.width + 60)))
    cuts = _cuts(strip, min(many, rows))
    ends = [*cuts, rows]
    columns: list[Column] = []
    x, first = 0.0, 0
    rooms = [strip.lines[end - 1] for end in ends[:-1]]
    top = _CLEAR + _LINE * max(rooms, default=0) if rooms else 0.0
    for at, end in enumerate(ends):
        left, right = min(strip.lefts[first:end]), max(strip.rights[first:end])
        columns.append(Column(first, end, x - left, strip.tops[first] - top))
        x += right - left + (2 * _CLEAR + _LINE * rooms[at] + 16 if at < len(rooms) else 0.0)
        first = end
    return tuple(columns)


def room_below(lines: int) -> float:
    """Say how much the lines that turn below a column need."""
    return _CLEAR + _LINE * lines if lines else 0.0


def _cuts(strip: Strip, many: int) -> list[int]:
    """Choose the rows that begin a column: near the ideal height, where few lines cross."""
    cuts: list[int] = []
    share = strip.height / max(1, many)
    for at in range(1, many):
        ideal = at * share
        near = [
            row
            for row in range((cuts[-1] if cuts else 0) + 1, len(strip.tops))
            if abs(strip.tops[row] - ideal) < share * 0.4
            and strip.lines[row - 1] <= _MOST_LINES
            and strip.steps[row]
        ]
        if near:
            cuts.append(
                min(
                    near,
                    key=lambda row: (
                        abs(strip.tops[row] - ideal) / share
                        + 0.12 * strip.lines[row - 1]
                        + 0.3 * (not strip.steps[row - 1])
                    ),
                )
            )
    return cuts


def way_round(
    start: tuple[float, float],
    end: tuple[float, float],
    box: tuple[float, float, float],
    lane: tuple[int, int],
) -> tuple[tuple[float, float], ...]:
    """Lead a line out below its column, up the gutter, and down into the next column.

    `box` is the column's right edge, its foot, and the head of the next; `lane` is which of how
    many lines this is, counted from the right.
    """
    right, foot, head = box
    at, many = lane
    low = foot + _CLEAR - 4 + _LINE * at
    gutter = right + _CLEAR + _LINE * at
    high = head - _CLEAR - _LINE * (many - 1 - at)
    return (start, (start[0], low), (gutter, low), (gutter, high), (end[0], high), end)
