"""Say where lines leave and enter a box. It refuses to let two of them lie on each other.

A line wants the point nearest to where it goes, within the middle part of the box's edge.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from noetl_mcp.compiler.picture.arrangement import Arrangement

_REACH = 0.3
_APART = 14.0


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of line between two rows."""

    upper: int
    lower: int
    kind: str

    def end(self, which: int) -> int:
        """Name the knot at the upper (0) or lower (1) end."""
        return self.lower if which else self.upper


Ports = Mapping[tuple[Link, int], float]


def links(arrangement: Arrangement) -> tuple[Link, ...]:
    """List every piece of line once."""
    found = {
        Link(upper, lower, wire.kind): None
        for wire, path in zip(arrangement.wires, arrangement.weave.paths, strict=True)
        for upper, lower in pairwise(path)
    }
    return tuple(found)


def ports(arrangement: Arrangement, all_links: Sequence[Link]) -> Ports:
    """Give each end of a link (0 the upper, 1 the lower) the x where it meets its knot.

    The busiest edges choose first, so that a line that is alone at its other end follows them and
    stays straight.
    """
    meeting: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in all_links:
        for which in (0, 1):
            meeting[link.end(which), which].append(link)
    found: dict[tuple[Link, int], float] = {}
    for (knot, which), together in sorted(meeting.items(), key=lambda one: (-len(one[1]), one[0])):
        wanted = [(_wanted(link, which, arrangement, found), link) for link in together]
        wanted.sort(key=lambda one: (one[0], _far(one[1], which, arrangement), one[1].kind))
        low, high = _reach(knot, arrangement)
        xs = _spread([want for want, _ in wanted], low, high)
        found |= {(link, which): x for x, (_, link) in zip(xs, wanted, strict=True)}
    return found


def _far(link: Link, which: int, arrangement: Arrangement) -> float:
    return arrangement.across[link.end(1 - which)]


def _reach(knot: int, arrangement: Arrangement) -> tuple[float, float]:
    """Say which part of a knot's edge lines may use; of a lane or label, its middle only."""
    middle = arrangement.across[knot]
    reach = arrangement.weave.widths[knot] * _REACH if knot < arrangement.weave.units else 0.0
    return middle - reach, middle + reach


def _wanted(
    link: Link, which: int, arrangement: Arrangement, found: Mapping[tuple[Link, int], float]
) -> float:
    """Aim at the other end where it is known, else at the middle of the narrower of the two."""
    if (link, 1 - which) in found:
        return found[link, 1 - which]
    (low, high), (other_low, other_high) = (
        _reach(link.end(one), arrangement) for one in (which, 1 - which)
    )
    mine, theirs = (low + high) / 2, (other_low + other_high) / 2
    ideal = mine if high - low <= other_high - other_low else theirs
    return _within(_within(ideal, other_low, other_high), low, high)


def _within(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _spread(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Keep the order, the reach, and a distance that all can have."""
    apart = min(_APART, (high - low) / max(1, len(wanted) - 1))
    found: list[float] = []
    for at, want in enumerate(wanted):
        least = found[-1] + apart if found else low
        found.append(min(max(least, want), high - apart * (len(wanted) - 1 - at)))
    return found
