"""Let blocks of knots settle near what they are joined to. It refuses to bend a straight line.

A block is a run of knots that already stand on one vertical: the lanes of a long line, or steps
that only follow each other. Blocks are pulled by the lines that leave them and move as far as
their neighbours let them; blocks that press on each other move together. This takes the wide steps
out of an alignment that was made from four extremes.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from noetl_mcp.compiler.picture.weave import Weave

_WORK = 60_000
_MOST_ROUNDS = 200
_PASSES = 6
_TOUCHING = 0.01
_STILL = 0.02
_CAUTION = 0.6  # all move at once; the whole way would make neighbours swing for ever

Gap = tuple[int, int, float]


def settled(xs: Sequence[float], weave: Weave, gaps: Sequence[Gap]) -> list[float]:
    """Move the blocks; `gaps` says for neighbours how far their middles must be apart."""
    block = _blocks(xs, weave)
    x = {head: xs[head] for head in sorted(set(block))}
    pulls = _pulls(weave, block)
    bounds = _bounds(block, gaps)
    for _ in range(max(2, min(_MOST_ROUNDS, _WORK // (len(xs) + 1)))):
        wish = {one: _wish(one, x, pulls) for one in x}
        if _moved(x, _regions(x, wish, bounds), bounds) < _STILL * len(x):
            break
    return [x[block[knot]] for knot in range(len(xs))]


def _blocks(xs: Sequence[float], weave: Weave) -> list[int]:
    """Join knots that stand on one vertical and must stay there."""
    block = list(range(len(xs)))
    below = [_main(weave, knot, weave.below[knot], True) for knot in range(len(xs))]
    above = [_main(weave, knot, weave.above[knot], False) for knot in range(len(xs))]
    for row in sorted(range(len(xs)), key=weave.row.__getitem__):
        for lower in weave.below[row]:
            straight = abs(xs[row] - xs[lower]) < _TOUCHING
            lanes = weave.is_lane(row) and weave.is_lane(lower)
            only = below[row] == [lower] and above[lower] == [row]
            if straight and (lanes or only) and block[lower] == lower:
                block[lower] = block[row]
    return block


def _main(weave: Weave, knot: int, others: Sequence[int], down: bool) -> list[int]:
    pairs = [(other, (knot, other) if down else (other, knot)) for other in others]
    return [other for other, pair in pairs if pair in weave.main] or list(others)


def _pulls(weave: Weave, block: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for knot, lower in enumerate(weave.below):
        for other in lower:
            if block[knot] != block[other]:
                weight = 3.0 if (knot, other) in weave.main else 1.0
                weights[block[knot], block[other]] += weight
                weights[block[other], block[knot]] += weight
    pulls: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (one, other), weight in weights.items():
        pulls[one].append((other, weight))
    return pulls


def _bounds(block: Sequence[int], gaps: Sequence[Gap]) -> dict[tuple[int, int], float]:
    bounds: dict[tuple[int, int], float] = {}
    for left, right, gap in gaps:
        pair = block[left], block[right]
        bounds[pair] = max(gap, bounds.get(pair, 0.0))
    return bounds


def _wish(
    one: int, x: Mapping[int, float], pulls: Mapping[int, Sequence[tuple[int, float]]]
) -> tuple[float, float]:
    """Say how strongly a block is held, and how far it would move by itself."""
    held = sum(weight for _, weight in pulls.get(one, ()))
    if not held:
        return 0.01, 0.0
    return held, sum((x[other] - x[one]) * weight for other, weight in pulls[one]) / held


def _regions(
    x: Mapping[int, float],
    wish: Mapping[int, tuple[float, float]],
    bounds: Mapping[tuple[int, int], float],
) -> list[tuple[float, list[int]]]:
    """Join the blocks that would push each other, and say how far each group moves."""
    region = {one: one for one in x}
    members = {one: [one] for one in x}
    pull = dict(wish)
    contacts = [(a, b) for (a, b), gap in bounds.items() if x[b] - x[a] - gap < _TOUCHING]
    contacts.sort(key=lambda pair: x[pair[0]])
    for _ in range(_PASSES):
        joined = False
        for left, right in contacts:
            a, b = region[left], region[right]
            if a == b or pull[a][1] <= pull[b][1]:
                continue
            if len(members[a]) < len(members[b]):
                a, b = b, a
            weight = pull[a][0] + pull[b][0]
            way = (pull[a][0] * pull[a][1] + pull[b][0] * pull[b][1]) / weight
            pull[a] = (weight, way)
            for one in members[b]:
                region[one] = a
            members[a] += members.pop(b)
            joined = True
        if not joined:
            break
    return [(pull[one][1] * _CAUTION, group) for one, group in members.items()]


def _moved(
    x: dict[int, float],
    regions: Sequence[tuple[float, list[int]]],
    bounds: Mapping[tuple[int, int], float],
) -> float:
    """Move every group as far as it wants and the others let it; say how far in sum."""
    left: dict[int, list[tuple[int, float]]] = defaultdict(list)
    right: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (a, b), gap in bounds.items():
        right[a].append((b, gap))
        left[b].append((a, gap))
    total = 0.0
    for way, group in sorted(regions, key=lambda one: -max(x[o] for o in one[1])):
        if way > 0:
            total += _shift(x, group, min(way, _room(x, group, right, 1.0)))
    for way, group in sorted(regions, key=lambda one: min(x[o] for o in one[1])):
        if way < 0:
            total += _shift(x, group, -min(-way, _room(x, group, left, -1.0)))
    return total


def _room(
    x: Mapping[int, float],
    group: Sequence[int],
    near: Mapping[int, Sequence[tuple[int, float]]],
    side: float,
) -> float:
    inside = set(group)
    rooms = [
        (x[other] - x[one]) * side - gap
        for one in group
        for other, gap in near.get(one, ())
        if other not in inside
    ]
    return max(0.0, min(rooms, default=math.inf))


def _shift(x: dict[int, float], group: Sequence[int], way: float) -> float:
    for one in group:
        x[one] += way
    return abs(way) * len(group)
