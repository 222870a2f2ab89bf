"""Find the place of each opening in its wall. It refuses to let one leave its wall or hide another.

An opening stands where it is asked to, or as near as there is room: not across the end of a wall
that meets its own, not on another opening. Where there is no room for its width it is narrower.
"""

import bisect
import itertools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import PlacedConnection, made
from noetl_mcp.bim.floorplan.drawing.edges import Run
from noetl_mcp.bim.floorplan.drawing.network import Opening

PASSAGES = ("door", "double-door", "opening")
_LEAST = 1e-6
_start, _end = operator.attrgetter("start"), operator.attrgetter("end")

Span = tuple[float, float]


class Wish(NamedTuple):
    """An opening that is asked for: between `low` and `high`, best around `center`."""

    kind: str
    low: float
    high: float
    center: float
    width: float
    sill: float
    height: float | None
    hinge: str | None
    into: int
    rooms: tuple[str | None, str | None]
    connection: PlacedConnection | None
    outer: bool


@dataclass(slots=True)
class Line:
    """A line of walls while openings are put into it; `joints` are where others meet it."""

    runs: list[Run]
    half: float
    joints: list[float] = field(default_factory=list)
    placed: list[Opening] = field(default_factory=list)

    def between(self, low: float, high: float) -> list[Opening]:
        """The openings that touch a part of the line."""
        if not self.placed or self.placed[-1].end <= low:
            return []
        at = bisect.bisect_left(self.placed, low, key=_end)
        found = []
        while at < len(self.placed) and self.placed[at].start < high:
            found.append(self.placed[at])
            at += 1
        return found

    def runs_between(self, low: float, high: float) -> Iterator[Run]:
        """The walls on a part of the line."""
        at = bisect.bisect_right(self.runs, low, key=_end)
        while at < len(self.runs) and self.runs[at].start < high:
            yield self.runs[at]
            at += 1

    def put(self, wish: Wish) -> bool:
        """Put an opening where it fits best; False where there is no room at all."""
        best = self._as_wished(wish)
        if best is None:
            spans = self._spans(wish)
            around = self._without_joints(spans)
            best = _nearest(around, wish) or _nearest(spans, wish)
            best = best or _widest(spans, self.half)
        if best is None:
            return False
        start, end = best
        hinge = wish.hinge
        if hinge == "near":
            hinge = "start" if start - wish.low <= wish.high - end + 1e-9 else "end"
        _, _, _, _, _, sill, height, _, into, rooms, connection, _ = wish
        opening = made(
            Opening, (wish.kind, start, end, sill, height, hinge, into, rooms, connection)
        )
        if not self.placed or self.placed[-1].start <= start:
            self.placed.append(opening)
        else:
            bisect.insort(self.placed, opening, key=_start)
        return True

    def _as_wished(self, wish: Wish) -> Span | None:
        """The very place that is asked for, where nothing at all is in the way."""
        half = wish.width / 2
        start, end = wish.center - half, wish.center + half
        low, high = start - self.half, end + self.half
        if wish.outer or low < wish.low or high > wish.high or self.between(low, high):
            return None
        joint = bisect.bisect_left(self.joints, low)
        if joint < len(self.joints) and self.joints[joint] <= high:
            return None
        at = bisect.bisect_right(self.runs, start, key=_end)
        if at == len(self.runs) or self.runs[at].start > low or self.runs[at].end < high:
            return None
        return start, end

    def _spans(self, wish: Wish) -> list[Span]:
        spans: list[Span] = []
        for run in self.runs_between(wish.low, wish.high):
            parts = [(run.start, run.end)]
            if wish.outer:
                parts = _outer(run, wish.low, wish.high)
            for low, high in parts:
                start = max(low, wish.low) + self.half
                end = min(high, wish.high) - self.half
                if end > start:
                    spans.append((start, end))
        taken = self.between(wish.low, wish.high)
        if not taken:
            return spans
        return _less(spans, [(one.start - self.half, one.end + self.half) for one in taken])

    def _without_joints(self, spans: list[Span]) -> list[Span]:
        if not spans:
            return spans
        at = bisect.bisect_right(self.joints, spans[0][0] - self.half)
        to = bisect.bisect_left(self.joints, spans[-1][1] + self.half)
        if at >= to:
            return spans
        half = self.half
        return _less(spans, [(joint - half, joint + half) for joint in self.joints[at:to]])


def outer_parts(runs: Iterator[Run], low: float, high: float) -> list[Span]:
    """The parts of walls that have no room on one side."""
    found: list[Span] = []
    for run in runs:
        for start, end in _outer(run, low, high):
            start, end = max(start, low), min(end, high)
            if end > start:
                found.append((start, end))
    return found


def _outer(run: Run, low: float, high: float) -> list[Span]:
    found: list[Span] = []
    at = bisect.bisect_right(run.pieces, low, key=_end)
    for start, end, before, after in itertools.islice(run.pieces, at, None):
        if start >= high:
            break
        if before and after:
            continue
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
            continue
        found.append((start, end))
    return found


def _less(spans: list[Span], taken: list[Span]) -> list[Span]:
    """Take spans out of spans; both are sorted."""
    left: list[Span] = []
    for low, high in spans:
        for start, end in taken:
            if end <= low or start >= high:
                continue
            if start > low:
                left.append((low, start))
            low = max(low, end)
        if high > low:
            left.append((low, high))
    return left


def _nearest(spans: list[Span], wish: Wish) -> Span | None:
    best: Span | None = None
    least = float("inf")
    for low, high in spans:
        if high - low < wish.width - 1e-9:
            continue
        start = min(max(wish.center - wish.width / 2, low), max(low, high - wish.width))
        away = abs(start + wish.width / 2 - wish.center)
        if away < least - 1e-9:
            best, least = (start, min(high, start + wish.width)), away
    return best


def _widest(spans: list[Span], half: float) -> Span | None:
    best = max(spans, key=lambda span: span[1] - span[0], default=None)
    if best is None or best[1] - best[0] < max(2 * half, _LEAST):
        return None
    return best
