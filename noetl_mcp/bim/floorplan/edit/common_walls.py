"""Choose the walls of a connection that names none: those on which its two rooms meet.

What is named stays. It refuses where rooms meet nowhere, and where they meet on several walls.
"""

from collections.abc import Iterator
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Building, PlacedRoom
from noetl_mcp.bim.floorplan.checks.edges import OPPOSITE, edge
from noetl_mcp.bim.floorplan.checks.spots import TOUCHING
from noetl_mcp.bim.floorplan.edit.building_operations import NewConnection
from noetl_mcp.bim.floorplan.edit.sheet import Refused, Sheet, room_at
from noetl_mcp.bim.floorplan.resolve import rooms_by_name
from noetl_mcp.bim.floorplan.words import OUTSIDE, SIDES

_ACROSS = 10
"""Rooms meet across a gap of this part of the smaller one: plans leave room for walls."""


class _Meeting(NamedTuple):
    """A side of the first room that lies on the opposite one of the second, and how well."""

    side: str
    gap: float
    length: float


def with_walls(sheet: Sheet, asked: NewConnection) -> NewConnection:
    """Return a connection with both of its walls, where rooms can be told apart by them."""
    (first, side), (second, other_side) = _end(asked.from_), _end(asked.to)
    if OUTSIDE in (first, second) or (side and other_side):
        return asked
    pair = _placed(sheet, first, second)
    if pair is None or _is_within(*pair):
        return asked
    found = [
        one
        for one in _best(list(_meetings(*pair)))
        if side in ("", one.side) and other_side in ("", OPPOSITE[one.side])
    ]
    if not found:
        raise Refused(_nowhere(asked, *pair))
    if len(found) > 1:
        ways = " or ".join(f"{first}.{one.side} to {second}.{OPPOSITE[one.side]}" for one in found)
        raise Refused(f'"{first}" and "{second}" meet on several walls: say {ways}')
    walls = {"from_": f"{first}.{found[0].side}", "to": f"{second}.{OPPOSITE[found[0].side]}"}
    return asked.model_copy(update=walls)


def _end(said: str) -> tuple[str, str]:
    room, _, side = said.partition(".")
    return room, side


def _placed(sheet: Sheet, first: str, second: str) -> tuple[PlacedRoom, PlacedRoom] | None:
    """Return both rooms where they stand, on one floor; None where one has no place."""
    building: Building = sheet.building
    for floor in building.floors:
        called = rooms_by_name(floor)
        if first in called and second in called:
            return called[first], called[second]
    floors = [
        found.floor.name.text
        for found in (room_at(sheet.plan, first), room_at(sheet.plan, second))
        if found is not None and found.room.start in sheet.places
    ]
    if len(set(floors)) == 2:
        raise Refused(
            f'"{first}" is on floor "{floors[0]}", "{second}" on floor "{floors[1]}": floors are '
            "joined by stairs or lifts and add_vertical"
        )
    return None


def _is_within(one: PlacedRoom, other: PlacedRoom) -> bool:
    return one.parent == other.name or other.parent == one.name


def _meetings(one: PlacedRoom, other: PlacedRoom) -> Iterator[_Meeting]:
    sizes = (one.box.width, one.box.height, other.box.width, other.box.height)
    most = max(TOUCHING, min(sizes) / _ACROSS)
    for side in SIDES:
        mine, theirs = edge(one.box, side), edge(other.box, OPPOSITE[side])
        gap = abs(mine.at - theirs.at)
        length = min(mine.end, theirs.end) - max(mine.start, theirs.start)
        if gap <= most and length > 0:
            yield _Meeting(side, gap, length)


def _best(meetings: list[_Meeting]) -> list[_Meeting]:
    """Leave out corners that only just meet, and walls that are further off than others."""
    longest = max((one.length for one in meetings), default=0.0)
    long = [one for one in meetings if one.length > TOUCHING or one.length == longest]
    nearest = min((one.gap for one in long), default=0.0)
    return [one for one in long if one.gap <= max(nearest, TOUCHING)]


def _nowhere(asked: NewConnection, one: PlacedRoom, other: PlacedRoom) -> str:
    """Say that walls do not meet, and which do."""
    meetings = _best(list(_meetings(one, other)))
    if not meetings:
        return f'"{one.name}" and "{other.name}" share no wall, so nothing can connect them'
    side = meetings[0].side
    return (
        f'"{asked.from_}" and "{asked.to}" share no wall: the rooms meet at '
        f"{one.name}.{side} and {other.name}.{OPPOSITE[side]}"
    )
