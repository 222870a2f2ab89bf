"""Walls and openings of a floor as plain geometry. It refuses to know colours or paper.

A wall lies on one line: `at` is its coordinate across, `start` and `end` those along. Lengths are
in the building's unit; y grows downwards. Drawings and exports read the same walls.
"""

from collections.abc import Iterator
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box, PlacedConnection, made


class Opening(NamedTuple):
    """A hole in a wall, with what is in it.

    `start` and `end` lie on the line of its wall. `kind` is door, double-door, opening or window.
    `hinge` is the end that holds the leaf (`start`, `end`, or None); `into` is -1 where the leaf
    opens to the side of smaller coordinates (above or left), 1 for the other, 0 where nothing
    swings. `sill` and `height` count from the wall's foot; a height of None is as high as the wall.
    """

    kind: str
    start: float
    end: float
    sill: float
    height: float | None
    hinge: str | None
    into: int
    rooms: tuple[str | None, str | None]
    connection: PlacedConnection | None

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.end - self.start

    @property
    def head(self) -> float | None:
        """The height of its upper edge; None where the wall has none above it."""
        return None if self.height is None else self.sill + self.height


class Piece(NamedTuple):
    """A part of a wall with the same rooms beside it: above or left of it, below or right of it."""

    start: float
    end: float
    before: tuple[str, ...]
    after: tuple[str, ...]


class Wall(NamedTuple):
    """A straight wall, as long as it stays the same; neighbours share one.

    `solid` is False where the plan says `open`: there is no wall, only an edge. `joins` says for
    start and end whether another wall meets it there, so that it reaches to that one's far face.
    """

    horizontal: bool
    at: float
    start: float
    end: float
    solid: bool
    thickness: float
    height: float
    elevation: float
    color: str | None
    pieces: tuple[Piece, ...]
    openings: tuple[Opening, ...]
    joins: tuple[bool, bool]

    @property
    def reach(self) -> tuple[float, float]:
        """Where it begins and ends, with its share of the joints."""
        half = self.thickness / 2
        return self.start - half * self.joins[0], self.end + half * self.joins[1]

    def offset(self, opening: Opening) -> float:
        """How far an opening's start is from the wall's."""
        return opening.start - self.start

    def box(self, start: float, end: float) -> Box:
        """The ground that a part of it covers."""
        half = self.thickness / 2
        if self.horizontal:
            return made(Box, (start, self.at - half, end - start, self.thickness))
        return made(Box, (self.at - half, start, self.thickness, end - start))

    def solids(self) -> Iterator[tuple[float, float]]:
        """Yield the parts between its openings, with its share of the joints."""
        start, end = self.reach
        for opening in self.openings:
            if opening.start > start:
                yield start, opening.start
            start = opening.end
        if end > start:
            yield start, end


class Network(NamedTuple):
    """All walls of a floor; `unplaced` are connections that meet no wall."""

    walls: tuple[Wall, ...]
    thickness: float
    unplaced: tuple[PlacedConnection, ...]

    def openings(self) -> Iterator[tuple[Wall, Opening]]:
        """Yield every opening with its wall."""
        for wall in self.walls:
            for opening in wall.openings:
                yield wall, opening
