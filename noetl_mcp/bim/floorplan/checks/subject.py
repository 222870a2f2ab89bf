"""What the checks look at: a plan, what it means, and lookups that several of them need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree, units
from noetl_mcp.bim.floorplan.building import Building, PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.checks.meetings import Meeting, meetings
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.habits import default_unit, settings
from noetl_mcp.bim.floorplan.words import OUTSIDE

LANGUAGE_HEIGHT = 3.35


class Written(NamedTuple):
    """A room as it is written: on which floor (by name and by number), in which room."""

    room: tree.Room
    floor: tree.Floor
    level: int
    parent: str | None


class Ends(NamedTuple):
    """The rooms that a connection joins, None for the outside and for what is not there."""

    connection: tree.Connection
    first: Written | None
    second: Written | None


@dataclass(frozen=True)
class Subject:
    """A plan under check; `raw` reads numbers without their units."""

    plan: tree.Plan
    building: Building
    raw: bool = False

    @cached_property
    def settings(self) -> Mapping[str, tree.Property]:
        """The config by key."""
        return settings(self.plan)

    @cached_property
    def bare(self) -> str:
        """The unit of bare numbers where metres matter: the plan's, metres where it shows none."""
        return default_unit(self.settings) or units.known_unit(self.plan) or "m"

    @cached_property
    def rooms(self) -> Sequence[Written]:
        """All rooms and sub-rooms in the order of the text."""
        found: list[Written] = []
        for index, floor in enumerate(self.plan.floors):
            for room in floor.rooms:
                found.append(Written(room, floor, index, None))
                if room.rooms:
                    found += _inside(room, floor, index)
        return found

    @cached_property
    def homes(self) -> Mapping[str, Mapping[int, Written]]:
        """Rooms by name and floor; of several the outermost, then the first."""
        homes: dict[str, dict[int, Written]] = {}
        for written in sorted(self.rooms, key=lambda written: written.parent is not None):
            homes.setdefault(written.room.name.text, {}).setdefault(written.level, written)
        return homes

    @cached_property
    def connections(self) -> Sequence[Ends]:
        """The connections with the rooms that they join, on one floor where that is possible."""
        return [self._ends(connection) for connection in self.plan.connections]

    def _ends(self, connection: tree.Connection) -> Ends:
        first = self.homes.get(connection.first.room.text, {})
        second = self.homes.get(connection.second.room.text, {})
        for index in first:
            if index in second:
                return Ends(connection, first[index], second[index])
        return Ends(connection, next(iter(first.values()), None), next(iter(second.values()), None))

    @cached_property
    def placed(self) -> Mapping[int, PlacedRoom]:
        """Rooms with a place by where their text begins."""
        return {room.room.start: room for rooms in self.standing for room in rooms}

    @cached_property
    def grids(self) -> Sequence[Grid]:
        """The rooms of each floor in a grid, in the order in which they were placed."""
        return [Grid([room.box for room in floor.order]) for floor in self.building.floors]

    @cached_property
    def meetings(self) -> Sequence[Sequence[Meeting]]:
        """The neighbours on each floor, by their numbers in `standing`."""
        return [meetings([room.box for room in rooms]) for rooms in self.standing]

    @cached_property
    def standing(self) -> Sequence[Sequence[PlacedRoom]]:
        """The rooms and sub-rooms with a place, of each floor."""
        return [tuple(floor.every_room()) for floor in self.building.floors]

    @cached_property
    def kinds(self) -> Mapping[int, Mapping[str, str]]:
        """The kinds of the listed walls of each room; of one that is listed twice the first."""
        return {
            written.room.start: {wall.side: wall.kind for wall in reversed(written.room.walls)}
            for written in self.rooms
        }

    def place_of(self, written: Written | None) -> PlacedRoom | None:
        """Return a room where it stands, None where it has no place."""
        return None if written is None else self.placed.get(written.room.start)

    def metres(self, number: tree.Number) -> float:
        """Return a number in metres."""
        return number.value * units.METRES[number.unit or self.bare]

    def inches(self, number: tree.Number) -> float:
        """Return a number in inches."""
        return self.metres(number) / units.METRES["in"]

    @cached_property
    def default_metres(self) -> float:
        """The height of rooms that name none, in metres."""
        number = self.config_number("default_height")
        return LANGUAGE_HEIGHT if number is None else self.metres(number)

    def height_metres(self, room: tree.Room) -> float:
        """Return the height of a room in metres."""
        return self.default_metres if room.height is None else self.metres(room.height)

    def config_number(self, key: str) -> tree.Number | None:
        """Return a number that the config has under a key."""
        found = self.settings.get(key)
        if found is None or isinstance(found.value, bool | str | tree.Size):
            return None
        if isinstance(found.value, tree.Number):
            return found.value
        return tree.Number(float(found.value), None, found.value_start, found.value_end)

    def written(self, number: tree.Number) -> str:
        """Write a number with its unit, or the one that bare numbers are in."""
        return f"{units.shown(number.value)}{number.unit or self.bare}"


def walls_of(connection: tree.Connection) -> tuple[tree.WallOf, tree.WallOf]:
    """Return both ends of a connection."""
    return connection.first, connection.second


def is_outside(end: tree.WallOf) -> bool:
    """Tell whether an end of a connection is the world around."""
    return end.room.text == OUTSIDE


def floors_with_plan(subject: Subject) -> Iterator[tuple[PlacedFloor, Grid]]:
    """Yield each floor with the grid of its rooms."""
    return zip(subject.building.floors, subject.grids, strict=True)


def _inside(room: tree.Room, floor: tree.Floor, index: int) -> Iterator[Written]:
    waiting = [(inner, room.name.text) for inner in reversed(room.rooms)]
    while waiting:
        inner, parent = waiting.pop()
        yield Written(inner, floor, index, parent)
        waiting += [(deeper, inner.name.text) for deeper in reversed(inner.rooms)]
