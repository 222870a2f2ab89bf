"""Give every knot its x: long lines straight, boxes balanced. It refuses to reorder a row.

After Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment": four extreme alignments
(up or down, left or right), each compacted, and the middle of the four taken for every knot. Then
what stands straight is kept and settles where its lines are short.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from noetl_mcp.compiler.picture.places import Ruler
from noetl_mcp.compiler.picture.settling import settled
from noetl_mcp.compiler.picture.weave import Weave

Rows = Sequence[Sequence[int]]
Near = Sequence[Sequence[int]]


def placed_across(weave: Weave, rows: Rows, ruler: Ruler) -> list[float]:
    """Find the x of every knot's middle; no two in a row come closer than the ruler allows."""
    above, below = _leading(weave.above, weave, True), _leading(weave.below, weave, False)
    clashes = _clashes(weave, rows)
    found: list[list[float]] = []
    for near, downward in ((above, True), (below, False)):
        layers = rows if downward else rows[::-1]
        for leftward in (True, False):
            turned = layers if leftward else [row[::-1] for row in layers]
            root = _aligned(turned, near, clashes, len(weave.row))
            xs = _compacted(turned, root, weave, ruler)
            found.append(xs if leftward else [-x for x in xs])
    middle = _kept_apart(_balanced(found, weave), weave, rows, ruler)
    gaps = [(a, b, apart(a, b, weave, ruler)) for row in rows for a, b in pairwise(row)]
    return _kept_apart(settled(middle, weave, gaps), weave, rows, ruler)


def apart(left: int, right: int, weave: Weave, ruler: Ruler) -> float:
    """Say how far the middles of two neighbours must be apart."""
    lanes = (left >= weave.units) + (right >= weave.units)
    gap = (ruler.gap, (ruler.gap + ruler.lane) / 2, ruler.lane)[lanes]
    if ruler.whole:
        gap = math.ceil(gap)
    return (weave.widths[left] + weave.widths[right]) / 2 + gap


def _leading(near: Near, weave: Weave, upward: bool) -> list[tuple[int, ...]]:
    """Let the main line decide where a knot stands, if one leads there."""
    leading: list[tuple[int, ...]] = []
    for knot, others in enumerate(near):
        main = tuple(o for o in others if ((o, knot) if upward else (knot, o)) in weave.main)
        leading.append(main or tuple(others))
    return leading


def _clashes(weave: Weave, rows: Rows) -> set[tuple[int, int]]:
    """Find the short lines that cross a long one; the long one has the right of way."""
    position = {knot: at for row in rows for at, knot in enumerate(row)}
    clashes: set[tuple[int, int]] = set()
    for upper, lower in pairwise(rows):
        first, scanned = 0, 0
        for at, knot in enumerate(lower):
            inner = _lane_above(knot, weave)
            if inner is None and at < len(lower) - 1:
                continue
            last = len(upper) if inner is None else position[inner]
            for other in lower[scanned : at + 1]:
                for source in weave.above[other]:
                    long = weave.is_lane(other) and weave.is_lane(source)
                    if not long and not first <= position[source] <= last:
                        clashes.add((source, other))
            scanned, first = at + 1, last
    return clashes


def _lane_above(knot: int, weave: Weave) -> int | None:
    if not weave.is_lane(knot):
        return None
    return next((other for other in weave.above[knot] if weave.is_lane(other)), None)


def _aligned(rows: Rows, near: Near, clashes: set[tuple[int, int]], count: int) -> list[int]:
    root, align = list(range(count)), list(range(count))
    position = [0] * count
    for row in rows:
        for at, knot in enumerate(row):
            position[knot] = at
    for row in rows:
        reached = -1
        for knot in row:
            others = sorted(near[knot], key=position.__getitem__)
            for other in others[(len(others) - 1) // 2 : len(others) // 2 + 1]:
                free = align[knot] == knot and reached < position[other]
                if free and (other, knot) not in clashes and (knot, other) not in clashes:
                    align[other] = knot
                    align[knot] = root[knot] = root[other]
                    reached = position[other]
    return root


def _compacted(rows: Rows, root: Sequence[int], weave: Weave, ruler: Ruler) -> list[float]:
    """Push the blocks together: as far left as they go, then right where there is room."""
    after: dict[int, dict[int, float]] = {}
    waits = [0] * len(root)
    for row in rows:
        for left, right in pairwise(row):
            blocks = after.setdefault(root[left], {})
            space = apart(left, right, weave, ruler)
            waits[root[right]] += root[right] not in blocks
            blocks[root[right]] = max(space, blocks.get(root[right], 0.0))
    heads = [block for block in range(len(root)) if root[block] == block]
    order = [block for block in heads if not waits[block]]
    xs = [0.0] * len(root)
    for block in order:
        for other, space in after.get(block, {}).items():
            xs[other] = max(xs[other], xs[block] + space)
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    for block in reversed(order):
        room = min((xs[o] - space for o, space in after.get(block, {}).items()), default=None)
        if room is not None:
            xs[block] = max(xs[block], room)
    return [xs[root[knot]] for knot in range(len(root))]


def _balanced(found: Sequence[Sequence[float]], weave: Weave) -> list[float]:
    """Lay the four over the narrowest one and take the mean of the middle two."""
    half = [width / 2 for width in weave.widths]
    lows = [min(x - h for x, h in zip(xs, half, strict=True)) for xs in found]
    highs = [max(x + h for x, h in zip(xs, half, strict=True)) for xs in found]
    narrowest = min(range(4), key=lambda at: highs[at] - lows[at])
    shifts = [
        lows[narrowest] - lows[at] if at % 2 == 0 else highs[narrowest] - highs[at]
        for at in range(4)
    ]
    result: list[float] = []
    for four in zip(*found, strict=True):
        inner = sorted(x + shift for x, shift in zip(four, shifts, strict=True))[1:3]
        result.append((inner[0] + inner[1]) / 2)
    return result


def _kept_apart(xs: list[float], weave: Weave, rows: Rows, ruler: Ruler) -> list[float]:
    if ruler.whole:
        xs = [float(math.floor(x + 0.5)) for x in xs]
    for row in rows:
        for left, right in pairwise(row):
            xs[right] = max(xs[right], xs[left] + apart(left, right, weave, ruler))
    start = min((xs[k] - weave.widths[k] / 2 for row in rows for k in row), default=0.0)
    return [x - start for x in xs]
