"""Choose the relative clause that says where a box stands beside others. Knows no text.

Only clauses that give exactly the place that the box has are chosen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import hypot, inf
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.positions import beside

SAME = 1e-6
_ACROSS = ("top", "bottom", "center")
_ALONG = ("left", "right", "center")


class Clause(NamedTuple):
    """A relative clause that may be written, and how good it is: less is better."""

    direction: str
    reference: str
    gap: float
    align: str | None
    score: float


def is_same(one: Box, other: Box) -> bool:
    """Say whether two boxes are the same for any building."""
    return all(abs(a - b) <= SAME for a, b in zip(one, other, strict=True))


class Choice(NamedTuple):
    """The best clauses beside the boxes that were looked at, and how many those were."""

    natural: Clause | None = None
    exact: Clause | None = None
    seen: int = 0
    seen_exactly: int = 0
    is_exact: bool = True

    @property
    def clause(self) -> Clause | None:
        """The most natural clause, as long as it is exact; else any that is."""
        return self.natural if self.is_exact else self.exact


def best(box: Box, settled: Mapping[str, Box], tolerance: float) -> Clause | None:
    """Return the best clause that gives a box exactly, None when there is none."""
    return looked_on(Choice(), box, list(settled.items()), tolerance).clause


def looked_on(
    before: Choice, box: Box, settled: Sequence[tuple[str, Box]], tolerance: float
) -> Choice:
    """Look at the boxes that have been settled since, too; none is looked at twice."""
    natural, is_exact = before.natural, before.is_exact
    closer, beside_it = _least(
        box,
        settled,
        before.seen,
        natural,
        lambda name, other: _natural(box, name, other, tolerance),
    )
    if closer is not None and beside_it is not None:
        natural, is_exact = closer, _is_exact(box, beside_it, closer)
    if is_exact:
        return before._replace(natural=natural, seen=len(settled), is_exact=True)
    found, _ = _least(
        box, settled, before.seen_exactly, before.exact, lambda name, other: exact(box, name, other)
    )
    return Choice(natural, found or before.exact, len(settled), len(settled), False)


def _least(
    box: Box,
    settled: Sequence[tuple[str, Box]],
    seen: int,
    found: Clause | None,
    clauses: Callable[[str, Box], Iterator[Clause]],
) -> tuple[Clause | None, Box | None]:
    """Return a better clause than the one that was found, and beside which box; else nothing."""
    better, beside_it = None, None
    least = inf if found is None else found.score
    x, y = box.center
    for name, other in islice(settled, seen, None):
        far = hypot(other.x + other.width / 2 - x, other.y + other.height / 2 - y)
        if far - 10 >= least:
            continue
        for clause in clauses(name, other):
            if clause.score < least:
                better, beside_it, least = clause, other, clause.score
    return better, beside_it


def _clause(
    box: Box, other: Box, direction: str, name: str, gap: float, align: str | None
) -> Clause:
    """Return a clause with its score: near and aligned is good."""
    (x, y), (over_x, over_y) = box.center, other.center
    score = hypot(x - over_x, y - over_y) + gap
    score += (-10 if align is not None else 0) + (5 if "-" in direction else 0)
    return Clause(direction, name, gap, align, score)


def _natural(box: Box, name: str, other: Box, tolerance: float) -> Iterator[Clause]:
    """Yield the clause that a person would choose, even where it is not exact."""
    is_level = box.y < other.bottom + tolerance and box.bottom > other.y - tolerance
    is_above = box.x < other.right + tolerance and box.right > other.x - tolerance
    distances = _distances(box, other)
    for direction, distance in distances.items():
        fits = is_level if direction in ("right-of", "left-of") else is_above
        if not fits or distance < -tolerance:
            continue
        align = next(_aligned(box, other, direction, tolerance), None)
        gap = max(0.0, _rounded(distance))
        yield _clause(box, other, direction, name, gap, align)
        return
    across = "right-of" if box.x >= other.right else "left-of"
    down = "below" if box.y >= other.bottom else "above"
    gap = max(0.0, _rounded(min(distances[across], distances[down])))
    yield _clause(box, other, f"{down}-{across}", name, gap, None)


def _rounded(value: float) -> float:
    return round(value * 100) / 100


def _distances(box: Box, other: Box) -> dict[str, float]:
    """Return how far a box lies beyond another, in each of the straight directions."""
    return {
        "right-of": box.x - other.right,
        "left-of": other.x - box.right,
        "below": box.y - other.bottom,
        "above": other.y - box.bottom,
    }


def _aligned(box: Box, other: Box, direction: str, tolerance: float) -> Iterator[str]:
    if direction in ("right-of", "left-of"):
        offs = (box.y - other.y, box.bottom - other.bottom, box.center[1] - other.center[1])
        names = _ACROSS
    else:
        offs = (box.x - other.x, box.right - other.right, box.center[0] - other.center[0])
        names = _ALONG
    yield from (name for name, off in zip(names, offs, strict=True) if abs(off) <= tolerance)


def exact(box: Box, name: str, other: Box) -> Iterator[Clause]:
    """Yield every clause that gives exactly this box."""
    distances = _distances(box, other)
    for direction, distance in distances.items():
        if distance < -SAME:
            continue
        for align in _aligned(box, other, direction, SAME / 2):
            yield _clause(box, other, direction, name, max(0.0, distance), align)
    for down in ("below", "above"):
        for across in ("right-of", "left-of"):
            gap, also = distances[across], distances[down]
            if min(gap, also) >= -SAME and abs(gap - also) <= SAME / 2:
                yield _clause(box, other, f"{down}-{across}", name, max(0.0, gap), None)


def _is_exact(box: Box, other: Box, clause: Clause) -> bool:
    nowhere = tree.Name(clause.reference, 0, 0)
    relation = tree.Relation(clause.direction, nowhere, None, clause.align, 0, 0)
    found = beside(relation, other, box.width, box.height, clause.gap)
    return is_same(box, found)
