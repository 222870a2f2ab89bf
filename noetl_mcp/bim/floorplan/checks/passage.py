"""Checks of ways: whether a door leads into the house, and whether every room can be reached."""

from collections.abc import Iterator, Mapping, Sequence

from noetl_mcp.bim.floorplan.building import PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.checks.edges import OPPOSITE, edge, shared
from noetl_mcp.bim.floorplan.checks.meetings import NEAR, SIDES, Meeting
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import hint

_SHOWN = 8
_OPEN = frozenset(("door", "open"))
_OUTSIDE = -1

NO_ENTRY = hint(
    "no-entry",
    "No door leads outside. Add one, such as 'connect {room}.bottom to outside door'.",
    "a plan has connections, but none to the outside, and no outer wall is a door or open",
    "connection",
)
UNREACHABLE = hint(
    "unreachable-rooms",
    "No way leads to {rooms} on floor '{floor}': no door, opening or open wall joins {them} to "
    "the other rooms.",
    "a plan has connections, but some rooms of a floor cannot be reached by them, by walls that "
    "are doors or open, or by a stair or lift",
    "connection",
)
RULES = (NO_ENTRY, UNREACHABLE)


def passage(subject: Subject) -> Iterator[Finding]:
    """Look whether every room can be reached; a plan without connections is not asked."""
    if not subject.plan.connections:
        return
    floors = subject.building.floors
    graphs = [_ways(subject, floor) for floor in floors]
    if floors and floors[0].rooms and not any(graph.get(_OUTSIDE) for graph in graphs):
        first = floors[0].rooms[0]
        yield NO_ENTRY.found(*floors[0].floor.name[1:], room=first.name)
    for floor, graph in zip(floors, graphs, strict=True):
        yield from _unreachable(subject, floor, graph)


def _ways(subject: Subject, floor: PlacedFloor) -> Mapping[int, set[int]]:
    """Return which rooms (by number) and the outside are joined to which."""
    rooms = subject.standing[floor.index]
    number = {id(room): index for index, room in enumerate(rooms)}
    ways: dict[int, set[int]] = {}

    def join(first: int, second: int) -> None:
        ways.setdefault(first, set()).add(second)
        ways.setdefault(second, set()).add(first)

    for one in floor.connections:
        first = _OUTSIDE if one.first is None else number[id(one.first)]
        second = _OUTSIDE if one.second is None else number[id(one.second)]
        join(first, second)
    if not any(wall.kind in _OPEN for room in rooms for wall in room.room.walls):
        return ways
    facing = _sides(subject.meetings[floor.index])
    parents = {id(inner): number[id(room)] for room in rooms for inner in room.rooms}
    for index, room in enumerate(rooms):
        for wall in room.room.walls:
            if wall.kind not in _OPEN:
                continue
            others = facing.get((index, wall.side), [])
            for other in others:
                join(index, other)
            if _is_bare(room, wall.side, [rooms[other] for other in others]):
                join(index, parents.get(id(room), _OUTSIDE))
    return ways


def _is_bare(room: PlacedRoom, side: str, others: Sequence[PlacedRoom]) -> bool:
    """Tell whether a part of a wall has no room behind it."""
    wall = edge(room.box, side)
    behind = (shared(wall, edge(other.box, OPPOSITE[side]), NEAR) for other in others)
    return sum(behind) < wall.end - wall.start - NEAR


def _sides(meetings: Sequence[Meeting]) -> Mapping[tuple[int, str], list[int]]:
    """Return which rooms are met on which side of which room."""
    facing: dict[tuple[int, str], list[int]] = {}
    for first, second, rank in meetings:
        side = SIDES[rank]
        facing.setdefault((first, side), []).append(second)
        facing.setdefault((second, OPPOSITE[side]), []).append(first)
    return facing


def _unreachable(
    subject: Subject, floor: PlacedFloor, ways: Mapping[int, set[int]]
) -> Iterator[Finding]:
    rooms = subject.standing[floor.index]
    starts = set(ways.get(_OUTSIDE, ()))
    if len(subject.building.floors) > 1:
        starts |= _with_stairs(floor, rooms)
    reached = _reached(starts, ways) if starts else _largest(len(rooms), ways)
    lost = [room for index, room in enumerate(rooms) if index not in reached]
    if not lost:
        return
    names = [f"'{room.name}'" for room in lost[:_SHOWN]]
    if len(lost) > _SHOWN:
        names.append(f"{len(lost) - _SHOWN} more")
    yield UNREACHABLE.found(
        *lost[0].room.name[1:],
        about_all=tuple(room.name for room in lost),
        rooms=", ".join(names),
        floor=floor.id,
        them="it" if len(lost) == 1 else "them",
    )


def _with_stairs(floor: PlacedFloor, rooms: Sequence[PlacedRoom]) -> set[int]:
    """Return the rooms in which a stair or lift begins."""
    points = [(stair.x, stair.y) for stair in floor.stairs]
    points += [(lift.box.x, lift.box.y) for lift in floor.lifts]
    return {
        index
        for index, room in enumerate(rooms)
        for x, y in points
        if room.box.x <= x <= room.box.right and room.box.y <= y <= room.box.bottom
    }


def _reached(starts: set[int], ways: Mapping[int, set[int]]) -> set[int]:
    reached, waiting = set(starts), list(starts)
    while waiting:
        for other in ways.get(waiting.pop(), ()):
            if other != _OUTSIDE and other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def _largest(count: int, ways: Mapping[int, set[int]]) -> set[int]:
    """Return the largest group of rooms that are joined; the first of several."""
    best: set[int] = set()
    seen: set[int] = set()
    for index in range(count):
        if index not in seen:
            group = _reached({index}, ways)
            seen |= group
            best = max(best, group, key=len)
    return best
