"""Which connections of a wall are at one spot of it. Refuses to compare very many with all others.

A percentage counts along what two rooms share of a wall, so those to different rooms cannot be
compared by themselves: where it is known where openings stand, they are at one spot only where they
overlap there, too. `raw` goes by percentages alone.
"""

from collections.abc import Iterator, Mapping, Sequence

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.checks.edges import Edge, edge, shared
from noetl_mcp.bim.floorplan.checks.subject import Subject, walls_of
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.units import scale_to

TOUCHING = 0.1
_HALF = {"double-door": 10.0}
_MOST = 1_000_000
_NEXT = 1e-6


def meeting(subject: Subject, on_wall: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield connections of a wall, each with the first behind it that is at its spot."""
    spots = [_spot(subject.plan.connections[index]) for index in on_wall]
    openings = {} if subject.raw else _openings(subject, on_wall)
    first: dict[int, int] = {}
    places = list(openings)
    stretches = [
        Box(one.start - _NEXT, 0.0, one.end - one.start + 2 * _NEXT, 1.0)
        for one in openings.values()
    ]
    for a, b in Grid(stretches).pairs(_NEXT):
        _note(places[a], places[b], spots, first)
    left = _MOST
    for place in range(len(on_wall)):
        if place in openings:
            continue
        for other in range(len(on_wall)):
            if other in openings or other > place:
                left -= 1
                if _note(place, other, spots, first) and other > place:
                    break
        if left < 0:
            break
    for place in sorted(first):
        yield on_wall[place], on_wall[first[place]]


def _note(
    one: int, other: int, spots: Sequence[tuple[float, float]], first: dict[int, int]
) -> bool:
    """Keep a pair that is at one spot, if no nearer one is known; say whether it is."""
    (start, end), (other_start, other_end) = spots[one], spots[other]
    if start > other_end or other_start > end:
        return False
    low, high = min(one, other), max(one, other)
    first[low] = min(high, first.get(low, high))
    return True


def _openings(subject: Subject, on_wall: Sequence[int]) -> Mapping[int, Edge]:
    found = ((place, _opening(subject, index)) for place, index in enumerate(on_wall))
    return {place: opening for place, opening in found if opening is not None}


def _opening(subject: Subject, index: int) -> Edge | None:
    """Return where an opening is on the wall that its rooms share; None where they share none."""
    ends = subject.connections[index]
    one, other = subject.place_of(ends.first), subject.place_of(ends.second)
    first, second = walls_of(ends.connection)
    if one is None or other is None or first.side is None or second.side is None:
        return None
    near, far = edge(one.box, first.side), edge(other.box, second.side)
    if shared(near, far, TOUCHING) <= 0:
        return None
    start, end = max(near.start, far.start), min(near.end, far.end)
    size, habits = ends.connection.size, subject.building.habits
    width = habits.door_width
    if size is not None:
        width = size.width.value * scale_to(habits.unit)[size.width.unit]
    middle = start + (end - start) * min(100.0, centre(ends.connection)) / 100
    return Edge(near.is_upright, near.at, middle - width / 2, middle + width / 2)


def _spot(connection: tree.Connection) -> tuple[float, float]:
    """Return where a connection begins and ends on its wall, in percent."""
    middle, half = centre(connection), _HALF.get(connection.kind, 5.0)
    return middle - half, middle + half


def centre(connection: tree.Connection) -> float:
    """Return where along the wall a connection is, in percent."""
    return 50.0 if connection.at is None else connection.at
