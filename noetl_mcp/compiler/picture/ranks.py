"""Say in which row every knot of an acyclic graph stands. It refuses to order a row.

Longest path first, so that every wire points down; then knots are moved where their wires are
short. Rows that would be too wide are broken into several.
"""

from collections import defaultdict
from collections.abc import Sequence

from noetl_mcp.compiler.picture.wiring import Wire

_WEIGHT = {"next": 3, "error": 1, "need": 1}
_ROUNDS = 4


def ranked(widths: Sequence[float], wires: Sequence[Wire], limit: float) -> list[int]:
    """Give every knot its row, the uppermost being 0."""
    into: list[list[Wire]] = [[] for _ in widths]
    out: list[list[Wire]] = [[] for _ in widths]
    for wire in wires:
        into[wire.lower].append(wire)
        out[wire.upper].append(wire)
    order = topological(len(widths), wires)
    rank = [0] * len(widths)
    for at in order:
        rank[at] = max((rank[wire.upper] + 1 for wire in into[at]), default=0)
    for _ in range(_ROUNDS):
        if not _shortened(order, into, out, rank):
            break
    return _broken(_dense(rank), widths, limit)


def topological(count: int, wires: Sequence[Wire]) -> list[int]:
    """Order the knots so that every wire leads forward."""
    below: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for wire in wires:
        below[wire.upper].append(wire.lower)
        waits[wire.lower] += 1
    order = [at for at in range(count) if not waits[at]]
    for at in order:
        for other in below[at]:
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    return order


def _shortened(
    order: Sequence[int],
    into: Sequence[Sequence[Wire]],
    out: Sequence[Sequence[Wire]],
    rank: list[int],
) -> bool:
    """Move each knot towards the side that pulls harder, as far as its wires let it."""
    moved = False
    for at in reversed(order):
        up = sum(_WEIGHT[wire.kind] for wire in into[at])
        down = sum(_WEIGHT[wire.kind] for wire in out[at])
        if down > up:
            new = min(rank[wire.lower] for wire in out[at]) - 1
        elif up > down:
            new = max(rank[wire.upper] for wire in into[at]) + 1
        else:
            continue
        moved = moved or new != rank[at]
        rank[at] = new
    return moved


def _dense(rank: Sequence[int]) -> list[int]:
    number = {row: at for at, row in enumerate(sorted(set(rank)))}
    return [number[row] for row in rank]


def _broken(rank: Sequence[int], widths: Sequence[float], limit: float) -> list[int]:
    """Break the rows that are wider than the limit into rows of about equal width."""
    rows: dict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(rank):
        rows[row].append(at)
    result = [0] * len(rank)
    first = 0
    for row in sorted(rows):
        total = sum(widths[at] for at in rows[row])
        pieces = max(1, -(-int(total) // max(1, int(limit))))
        share, used = total / pieces, 0.0
        for at in rows[row]:
            piece = min(pieces - 1, int((used + widths[at] / 2) / share)) if share else 0
            result[at] = first + piece
            used += widths[at]
        first += pieces
    return _dense(result)
