"""Give each net of lines between two rows a track of its own. It refuses to move their ends.

All lines from one knot share a track, and so do lines that only meet in one knot below.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from noetl_mcp.compiler.picture.canvas import Net


@dataclass(frozen=True, slots=True)
class Strand:
    """A line between two rows, from the x where it leaves to the x where it arrives."""

    upper: int
    lower: int
    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Channel:
    """The strands by net, the track of every net that needs one, and how many there are."""

    nets: dict[Net, list[Strand]]
    track: dict[Net, int]
    tracks: int


def channel(strands: Sequence[Strand]) -> Channel:
    """Choose tracks from top to bottom, so that no net lies on another's way down."""
    nets = _nets(strands)
    bent = {net: one for net, one in nets.items() if any(s.start != s.end for s in one)}
    after = _after(bent)
    track: dict[Net, int] = {}
    taken: list[list[tuple[int, int]]] = []
    waiting = sorted(bent, key=lambda net: (_span(bent[net]), str(net)))
    while waiting:
        free = [net for net in waiting if not (after[net] - track.keys())]
        net = free[0] if free else waiting[0]
        waiting.remove(net)
        low, high = _span(bent[net])
        at = max((track[other] + 1 for other in after[net] if other in track), default=0)
        while at < len(taken) and any(a <= high + 1 and low <= b + 1 for a, b in taken[at]):
            at += 1
        while at >= len(taken):
            taken.append([])
        taken[at].append((low, high))
        track[net] = at
    return Channel(nets, track, len(taken))


def _span(strands: Sequence[Strand]) -> tuple[int, int]:
    ends = [x for strand in strands for x in (strand.start, strand.end)]
    return min(ends), max(ends)


def _nets(strands: Sequence[Strand]) -> dict[Net, list[Strand]]:
    leaving: dict[tuple[int, str], list[Strand]] = defaultdict(list)
    for strand in strands:
        leaving[strand.upper, strand.kind].append(strand)
    alone = {strand for together in leaving.values() if len(together) == 1 for strand in together}
    entering: dict[tuple[int, str], list[Strand]] = defaultdict(list)
    for strand in strands:
        entering[strand.lower, strand.kind].append(strand)
    nets: dict[Net, list[Strand]] = defaultdict(list)
    for strand in strands:
        meets = all(other in alone for other in entering[strand.lower, strand.kind])
        shared = ("into", strand.lower) if meets else ("from", strand.upper)
        nets[*shared, strand.kind].append(strand)
    return dict(nets)


def _after(nets: dict[Net, list[Strand]]) -> dict[Net, set[Net]]:
    """Find for every net those that come down from above in a column where it goes on down."""
    from_above: dict[int, set[Net]] = defaultdict(set)
    for net, strands in nets.items():
        for strand in strands:
            from_above[strand.start].add(net)
    return {
        net: {other for s in strands for other in from_above[s.end]} - {net}
        for net, strands in nets.items()
    }
