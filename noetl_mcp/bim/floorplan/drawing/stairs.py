"""The lines of a stair of any shape, from its steps. It refuses to draw walls, rails or words.

A stair is a chain of flights, landings, winders and curves. The chain is laid out going up the
paper, turned to the side from which the stair is entered, and moved so that the corner of its box
is where the plan puts it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box, PlacedStair
from noetl_mcp.bim.floorplan.drawing.shapes import Point
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.stair_sizes import steps
from noetl_mcp.bim.floorplan.units import Scale

_QUARTERS = {"bottom": 0, "left": 1, "top": 2, "right": 3}
_ENTERED = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}
_MOST_DRAWN = 400
_FULL_TURN = 345.0
_CUT_AT = 0.45

Line = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class StairPart:
    """A flight with the edges of its steps from the lowest on, or a landing, which has none."""

    outline: Line
    edges: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class StairLines:
    """A stair on a floor: its flights and landings, the edges of its steps, the way up.

    `low` are steps below the height at which plans are cut, `high` those above; `cut` goes between,
    and is empty where there are no steps.
    """

    outlines: tuple[Line, ...]
    low: tuple[Line, ...]
    high: tuple[Line, ...]
    cut: Line
    way: Line
    box: Box
    width: float
    parts: tuple[StairPart, ...]
    """Flights and landings in the order in which they are climbed."""


@dataclass(slots=True)
class _Walk:
    """Somebody who walks up and lays steps: where they are, and where they look."""

    at: Point = (0.0, 0.0)
    heading: Point = (0.0, -1.0)
    outlines: list[Line] = field(default_factory=list)
    steps: list[Line] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    """For each outline, how many edges of steps lie below it."""
    way: list[Point] = field(default_factory=list)

    @property
    def right(self) -> Point:
        return -self.heading[1], self.heading[0]

    def point(self, along: float, across: float) -> Point:
        """A point ahead, and to the right."""
        (x, y), (dx, dy), (rx, ry) = self.at, self.heading, self.right
        return x + dx * along + rx * across, y + dy * along + ry * across

    def patch(self, length: float, left: float, right: float) -> None:
        corners = ((0.0, left), (length, left), (length, right), (0.0, right))
        self.begins.append(len(self.steps))
        self.outlines.append(tuple(self.point(*corner) for corner in corners))

    def flight(self, count: int, tread: float, width: float) -> None:
        half = width / 2
        self.way.append(self.at)
        self.patch(count * tread, -half, half)
        for step in range(count + 1):
            self.steps.append((self.point(step * tread, -half), self.point(step * tread, half)))
        self.at = self.point(count * tread, 0.0)
        self.way.append(self.at)

    def landing(self, sign: int, wide: float, deep: float, before: float, after: float) -> None:
        """Turn by a quarter on a landing; `sign` is 1 for right."""
        outer = -sign * before / 2
        inner = outer + sign * wide
        self.patch(deep, min(outer, inner), max(outer, inner))
        self.way.append(self.point(deep / 2, 0.0))
        self._turn(self.point(min(deep / 2, deep - after / 2) if deep < after else deep / 2, inner))
        self._look(sign)

    def half_landing(
        self, sign: int, wide: float, deep: float, before: float, after: float
    ) -> None:
        """Turn back on a landing over both flights."""
        outer = -sign * before / 2
        inner = outer + sign * wide
        self.patch(deep, min(outer, inner), max(outer, inner))
        lane = inner - sign * after / 2
        self.way += [self.point(deep / 2, 0.0), self.point(deep / 2, lane)]
        self._turn(self.point(0.0, lane))
        self._look(sign)
        self._look(sign)

    def winders(self, sign: int, count: int, width: float) -> None:
        """Turn by a quarter on steps that fan out of the inner corner."""
        half = width / 2
        pivot = (0.0, sign * half)
        self.patch(width, -half, half)
        for step in range(count + 1):
            angle = math.pi / 2 * step / count
            reach = width / max(math.cos(angle), math.sin(angle))
            end = (pivot[0] + math.sin(angle) * reach, pivot[1] - sign * math.cos(angle) * reach)
            self.steps.append((self.point(*pivot), self.point(*end)))
        for step in range(1, 4):
            angle = math.pi / 2 * step / 4
            self.way.append(
                self.point(math.sin(angle) * half, sign * (half - math.cos(angle) * half))
            )
        self._turn(self.point(half, sign * half))
        self._look(sign)

    def curve(self, count: int, degrees: float, radius: float, width: float) -> None:
        """Go round to the right on an arc whose middle line has the radius."""
        inner, outer = max(0.0, radius - width / 2), radius + width / 2
        parts = max(count, math.ceil(degrees / 6))
        angles = [math.radians(degrees) * part / parts for part in range(parts + 1)]
        rim = [self._round(radius, outer, angle) for angle in angles]
        well = [self._round(radius, inner, angle) for angle in reversed(angles)]
        self.begins.append(len(self.steps))
        self.outlines.append((*rim, *well))
        for step in range(count + 1):
            angle = math.radians(degrees) * step / count
            self.steps.append(
                (self._round(radius, inner, angle), self._round(radius, outer, angle))
            )
        self.way += [self._round(radius, radius, angle) for angle in angles]

    def _round(self, center: float, radius: float, angle: float) -> Point:
        return self.point(math.sin(angle) * radius, center - math.cos(angle) * radius)

    def _turn(self, at: Point) -> None:
        self.at = at

    def _look(self, sign: int) -> None:
        dx, dy = self.heading
        self.heading = (-dy * sign, dx * sign)


def stair_lines(stair: PlacedStair, scale: Scale) -> StairLines:
    """Lay out a stair."""
    shape = stair.stair.shape
    if shape.kind == "spiral":
        return _spiral(stair, scale)
    walk = _Walk()
    _climb(walk, stair, scale)
    entry = shape.entry or "bottom"
    if shape.kind == "straight":
        entry = _ENTERED[shape.toward or "top"]
    return _laid(walk, stair, _QUARTERS.get(entry, 0))


def _climb(walk: _Walk, stair: PlacedStair, scale: Scale) -> None:
    shape, count = stair.stair.shape, min(_MOST_DRAWN, steps(stair))
    width, tread = stair.width, stair.tread
    sign = 1 if shape.turn == "right" else -1
    wide = scaled(shape.landing.width, scale) if shape.landing else width
    deep = width
    if shape.landing is not None and shape.landing.height is not None:
        deep = scaled(shape.landing.height, scale)
    if shape.kind in ("L-shaped", "double-L"):
        flights = _runs(shape.runs, count, 2 if shape.kind == "L-shaped" else 3)
        for index, run in enumerate(flights):
            if index:
                walk.landing(sign, max(wide, width), max(deep, width), width, width)
            walk.flight(run, tread, width)
        return
    if shape.kind == "U-shaped":
        first, second = _runs(shape.runs, count, 2)
        walk.flight(first, tread, width)
        walk.half_landing(sign, max(wide, 2 * width), deep, width, width)
        walk.flight(second, tread, width)
        return
    if shape.kind == "winder":
        fan = min(12, max(1, round(shape.winders or 3)))
        first, second = _runs(shape.runs, max(2, count - fan), 2)
        walk.flight(first, tread, width)
        walk.winders(sign, fan, width)
        walk.flight(second, tread, width)
        return
    if shape.kind == "curved":
        radius = scaled(shape.radius, scale) if shape.radius else 2 * width
        arc = min(_FULL_TURN, max(5.0, shape.arc or 90.0))
        walk.curve(count, arc, max(radius, width / 2), width)
        return
    if shape.kind == "custom" and shape.segments:
        _custom(walk, shape.segments, stair, scale)
        return
    walk.flight(count, tread, width)


def _custom(
    walk: _Walk, segments: Sequence[tree.Flight | tree.Turn], stair: PlacedStair, scale: Scale
) -> None:
    width, left = stair.width, 10 * _MOST_DRAWN
    widths = [
        scaled(one.width, scale) if isinstance(one, tree.Flight) and one.width else stair.width
        for one in segments
    ]
    for index, one in enumerate(segments):
        if isinstance(one, tree.Flight):
            width = widths[index]
            count = max(1, min(_MOST_DRAWN, left, round(one.steps)))
            left -= count
            walk.flight(count, stair.tread, width)
            continue
        after = widths[index + 1] if index + 1 < len(widths) else width
        sign = 1 if one.direction == "right" else -1
        back = (one.angle or 90.0) >= 135.0
        if one.winders:
            fan = min(24, max(1, round(one.winders)))
            walk.winders(sign, max(1, fan // 2) if back else fan, width)
            if back:
                walk.winders(sign, max(1, fan - fan // 2), width)
            continue
        wide = scaled(one.landing.width, scale) if one.landing else width
        tall = one.landing.height if one.landing else None
        deep = scaled(tall, scale) if tall else width
        turned = walk.half_landing if back else walk.landing
        turned(sign, max(wide, width + after) if back else wide, deep, width, after)


def _runs(given: Sequence[float], count: int, parts: int) -> list[int]:
    """Share the steps among the flights; those the plan names are kept."""
    runs = [max(1, min(_MOST_DRAWN, round(run))) for run in given[:parts]]
    left = max(parts - len(runs), count - sum(runs))
    for rest in range(parts - len(runs), 0, -1):
        runs.append(max(1, round(left / rest)))
        left -= runs[-1]
    return runs


def _spiral(stair: PlacedStair, scale: Scale) -> StairLines:
    shape, count = stair.stair.shape, min(_MOST_DRAWN, steps(stair))
    outer = scaled(shape.outer_radius, scale) if shape.outer_radius else stair.width
    inner = scaled(shape.inner_radius, scale) if shape.inner_radius else outer * 0.12
    inner = min(inner, outer * 0.9)
    center = (stair.x + outer, stair.y + outer)
    sign = -1.0 if shape.rotation == "counterclockwise" else 1.0
    whole = math.degrees(count * max(stair.tread, 1e-9) / max(outer * 0.66, 1e-9))
    whole = min(_FULL_TURN, whole)

    def at(radius: float, part: float) -> Point:
        angle = math.pi / 2 + sign * math.radians(whole) * part
        return center[0] + math.cos(angle) * radius, center[1] + math.sin(angle) * radius

    def ring(radius: float) -> Line:
        around = (math.tau * step / 72 for step in range(72))
        return tuple(
            (center[0] + math.cos(a) * radius, center[1] + math.sin(a) * radius) for a in around
        )

    shown = min(count, 48)
    treads = [(at(inner, step / shown), at(outer, step / shown)) for step in range(shown + 1)]
    break_at = max(1, round(shown * _CUT_AT))
    parts = [0.04 + 0.92 * step / 60 for step in range(61)]
    middle = (inner + outer) / 2
    return StairLines(
        (ring(outer), ring(inner)),
        tuple(treads[:break_at]),
        tuple(treads[break_at:]),
        _zigzag(at(inner, (break_at - 0.6) / shown), at(outer, (break_at - 0.4) / shown)),
        tuple(at(middle, part) for part in parts),
        Box(stair.x, stair.y, 2 * outer, 2 * outer),
        outer - inner,
        (StairPart(ring(outer), tuple(treads)),),
    )


def _laid(walk: _Walk, stair: PlacedStair, quarters: int) -> StairLines:
    def turned(point: Point) -> Point:
        x, y = point
        for _ in range(quarters):
            x, y = -y, x
        return x, y

    corners = [turned(point) for outline in walk.outlines for point in outline]
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    dx, dy = stair.x - left, stair.y - top
    width = max(x for x, _ in corners) - left
    height = max(y for _, y in corners) - top

    def moved(line: Sequence[Point]) -> Line:
        return tuple((x + dx, y + dy) for x, y in map(turned, line))

    treads = [moved(line) for line in walk.steps]
    break_at = _break(treads, stair.tread)
    outlines = tuple(map(moved, walk.outlines))
    ends = (*walk.begins[1:], len(treads))
    parts = zip(outlines, walk.begins, ends, strict=True)
    return StairLines(
        outlines,
        tuple(treads[:break_at]),
        tuple(treads[break_at:]),
        _cut(treads, break_at),
        moved(_without_doubles(walk.way)),
        Box(stair.x, stair.y, width, height),
        stair.width,
        tuple(StairPart(line, tuple(treads[a:b])) for line, a, b in parts),
    )


def _break(treads: Sequence[Line], tread: float) -> int:
    """The step at which a plan is cut: one in the midst of a flight, not beside a landing."""
    wished = min(len(treads) - 1, max(1, round(len(treads) * _CUT_AT)))
    good = [
        at
        for at in range(1, len(treads))
        if 1e-9 < math.dist(treads[at - 1][0], treads[at][0]) < tread * 1.01
        and 1e-9 < math.dist(treads[at - 1][1], treads[at][1]) < tread * 1.01
    ]
    return min(good, key=lambda at: abs(at - wished), default=wished)


def _cut(treads: Sequence[Line], at: int) -> Line:
    if len(treads) < 2:
        return ()  # a landing alone
    (a, b), (c, d) = treads[at - 1], treads[at]
    between: Callable[[Point, Point, float], Point] = lambda p, q, part: (  # noqa: E731
        p[0] + (q[0] - p[0]) * part,
        p[1] + (q[1] - p[1]) * part,
    )
    return _zigzag(between(a, c, 0.15), between(b, d, 0.85))


def _zigzag(start: Point, end: Point) -> Line:
    """The break line of drafting: straight, with a tooth in its middle."""
    (x, y), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
    tooth = 0.16
    return (
        start,
        (x + dx * 0.42, y + dy * 0.42),
        (x + dx * 0.46 - dy * tooth, y + dy * 0.46 + dx * tooth),
        (x + dx * 0.54 + dy * tooth, y + dy * 0.54 - dx * tooth),
        (x + dx * 0.58, y + dy * 0.58),
        end,
    )


def _without_doubles(line: Sequence[Point]) -> list[Point]:
    kept: list[Point] = []
    for point in line:
        if not kept or math.dist(kept[-1], point) > 1e-9:
            kept.append(point)
    return kept
