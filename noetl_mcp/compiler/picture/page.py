"""Turn rows into heights: where every knot is on the page. It refuses to draw lines."""

from collections import Counter
from dataclasses import dataclass

from noetl_mcp.compiler.picture.arrangement import Arrangement
from noetl_mcp.compiler.picture.newspaper import Column, Strip, columns_of, room_below
from noetl_mcp.compiler.picture.places import Point, Ruler
from noetl_mcp.compiler.picture.ports import links

_STEP_GAP = 34.0
_LABEL_GAP = 15.0
_MOST_GAP = 110.0
_SLOPE = 0.055


@dataclass(frozen=True, slots=True)
class Page:
    """An arrangement set in columns."""

    arrangement: Arrangement
    strip: Strip
    columns: tuple[Column, ...]
    column_of: tuple[Column, ...]

    def x(self, knot: int) -> float:
        """Find the middle of a knot."""
        return self.arrangement.across[knot] + self.shift(knot)

    def shift(self, knot: int) -> float:
        """Say how far the column of a knot was moved to the right."""
        return self.column_of[self.arrangement.weave.row[knot]].right

    def top(self, knot: int) -> float:
        """Find the upper edge of a knot's row."""
        row = self.arrangement.weave.row[knot]
        return self.strip.tops[row] - self.column_of[row].up

    def foot(self, knot: int) -> float:
        """Find the lower edge of a knot's row."""
        return self.top(knot) + self.strip.heights[self.arrangement.weave.row[knot]]

    def corner(self, knot: int) -> Point:
        """Find the upper left corner of a knot, which stands in the middle of its row."""
        weave = self.arrangement.weave
        y = (self.top(knot) + self.foot(knot) - weave.heights[knot]) / 2
        return self.x(knot) - weave.widths[knot] / 2, y

    def right_of(self, column: Column) -> float:
        """Find the right edge of a column."""
        return max(self.strip.rights[column.first : column.end]) + column.right

    def foot_of(self, column: Column) -> float:
        """Find the lower edge of a column."""
        last = column.end - 1
        return self.strip.tops[last] + self.strip.heights[last] - column.up

    def head_of(self, column: Column) -> float:
        """Find the upper edge of a column."""
        return self.strip.tops[column.first] - column.up

    def size(self) -> Point:
        """Say how wide and high it all is, with the lines that run round the columns."""
        width = max(self.right_of(column) for column in self.columns)
        turning = self.columns[:-1]
        feet = [self.foot_of(column) for column in self.columns]
        feet += [self.foot_of(c) + room_below(self.strip.lines[c.end - 1]) for c in turning]
        return width, max(feet)


def set_in_columns(arrangement: Arrangement, ruler: Ruler) -> Page:
    """Give every row its height and every column its place."""
    strip = _strip(arrangement)
    columns = columns_of(strip, ruler.column_limit)
    column_of = tuple(column for column in columns for _ in range(column.first, column.end))
    return Page(arrangement, strip, columns, column_of)


def _strip(arrangement: Arrangement) -> Strip:
    weave, rows = arrangement.weave, arrangement.rows
    lines = Counter(weave.row[link.upper] for link in links(arrangement))
    heights = [max(weave.heights[knot] for knot in row) for row in rows]
    tops: list[float] = []
    y = 0.0
    for at in range(len(rows)):
        tops.append(y)
        beside_labels = not (_has_steps(arrangement, at) and _has_steps(arrangement, at + 1))
        gap = _LABEL_GAP if beside_labels else _STEP_GAP
        y += heights[at] + min(_MOST_GAP, gap + _SLOPE * _spread(arrangement, at))
    return Strip(
        tops,
        heights,
        [min(arrangement.left(knot) for knot in row) for row in rows],
        [max(arrangement.right(knot) for knot in row) for row in rows],
        [lines[at] for at in range(len(rows))],
        [_has_steps(arrangement, at) for at in range(len(rows))],
    )


def _has_steps(arrangement: Arrangement, row: int) -> bool:
    rows = arrangement.rows
    return row >= len(rows) or any(knot < arrangement.weave.units for knot in rows[row])


def _spread(arrangement: Arrangement, row: int) -> float:
    """Measure how far sideways the lines below a row go at most."""
    across, below = arrangement.across, arrangement.weave.below
    ways = [
        abs(across[knot] - across[other]) for knot in arrangement.rows[row] for other in below[knot]
    ]
    return max(ways, default=0.0)
