"""Order the knots of every row so that few lines cross. It refuses to place them.

Sweeps down and up by the mean position of a knot's neighbours, then neighbours change places where
that helps; the best order seen wins. The larger the graph, the fewer the sweeps.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from noetl_mcp.compiler.picture.weave import Weave

Rows = list[list[int]]
Near = Sequence[Sequence[int]]

_WORK = 160_000
_MOST_SWEEPS = 24
_PATIENCE = 6
_MOST_TO_SWAP = 6_000


def ordered(weave: Weave) -> tuple[tuple[int, ...], ...]:
    """Find an order for every row, starting from the one in which the steps were written."""
    rows = _first(weave)
    position = _positions(rows, len(weave.row))
    best, fewest = [list(row) for row in rows], crossings(weave, rows, position)
    sweeps = max(2, min(_MOST_SWEEPS, _WORK // (len(weave.row) + 1)))
    idle = 0
    for turn in range(sweeps):
        if not fewest or idle > _PATIENCE:
            break
        _sweep(weave, rows, position, turn)
        if len(weave.row) < _MOST_TO_SWAP:
            _swap(weave, rows, position)
        count = crossings(weave, rows, position)
        idle += 1
        if count < fewest:
            best, fewest, idle = [list(row) for row in rows], count, 0
    return tuple(tuple(row) for row in best)


def crossings(weave: Weave, rows: Rows, position: Sequence[int]) -> int:
    """Count the pairs of lines between neighbouring rows that cross."""
    total = 0
    for row in rows:
        seen: list[int] = []
        for knot in row:
            ends = sorted(position[other] for other in weave.below[knot])
            for end in ends:
                total += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return total


def _first(weave: Weave) -> Rows:
    rows: Rows = [[] for _ in range(weave.rows)]
    seen = [False] * len(weave.row)
    starts = sorted(range(len(weave.row)), key=lambda knot: (weave.row[knot], knot))
    for start in starts:
        waiting = [start]
        while waiting:
            knot = waiting.pop()
            if seen[knot]:
                continue
            seen[knot] = True
            rows[weave.row[knot]].append(knot)
            waiting.extend(reversed(weave.below[knot]))
    return rows


def _positions(rows: Rows, count: int) -> list[int]:
    position = [0] * count
    for row in rows:
        for at, knot in enumerate(row):
            position[knot] = at
    return position


def _sweep(weave: Weave, rows: Rows, position: list[int], turn: int) -> None:
    down = turn % 2 == 0
    near = weave.above if down else weave.below
    reach = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
    tie = -1 if turn % 4 >= 2 else 1
    for at in reach:
        keys: dict[int, tuple[float, int]] = {}
        for place, knot in enumerate(rows[at]):
            others = near[knot]
            mean = sum(position[o] for o in others) / len(others) if others else float(place)
            keys[knot] = (mean, tie * place)
        rows[at].sort(key=keys.__getitem__)
        for place, knot in enumerate(rows[at]):
            position[knot] = place


def _swap(weave: Weave, rows: Rows, position: list[int]) -> None:
    """Let neighbours change places while that removes crossings, a few times over."""
    for _ in range(3):
        if not sum(_swap_in_row(weave, row, position) for row in rows):
            return


def _swap_in_row(weave: Weave, row: list[int], position: list[int]) -> int:
    gained = 0
    for at in range(len(row) - 1):
        left, right = row[at], row[at + 1]
        gain = 0
        for near in (weave.above, weave.below):
            if near[left] and near[right]:
                mine = sorted(position[other] for other in near[left])
                theirs = sorted(position[other] for other in near[right])
                gain += _inversions(mine, theirs) - _inversions(theirs, mine)
        if gain > 0:
            row[at], row[at + 1] = right, left
            position[left], position[right] = at + 1, at
            gained += gain
    return gained


def _inversions(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(bisect_left(right, end) for end in left)
