"""Read the whole log as it grows, each event once, whoever commits late. Writes nothing.

Numbers come from one sequence, so a number that is missing is a gap: somebody drew it and has not
committed yet, or never will. A gap is looked into until all have ended who may have drawn it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.events.event import Event, event_of
from noetl_mcp.events.log import SQL

MOST_AT_WORK = 10_000
"""So many numbers before the newest one may still be under way when a tail begins."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Numbers of which nobody knows yet; `until` is a transaction newer than their owners.

    `until` is 0 before the first look after the gap was seen.
    """

    first: int
    last: int
    until: int = 0


class Tail:
    """The log from a number on."""

    def __init__(self, connection: Connection[TupleRow], *, after: int = 0) -> None:
        self.connection = connection
        self.top = after
        """The highest number that was read."""
        self.gaps: list[Gap] = []

    @classmethod
    def from_now(cls, connection: Connection[TupleRow]) -> "Tail":
        """Return a tail of what is not to be seen yet, be its number drawn already or not."""
        tail = cls(connection)
        tail.top = tail._rows("newest")[0][0]
        after = max(0, tail.top - MOST_AT_WORK)
        there = [row[0] for row in tail._rows("numbers", after=after, top=tail.top)]
        tail.gaps = between(after, [*there, tail.top + 1])
        return tail

    def more(self, most: int = 1_000) -> list[Event]:
        """Return up to so many new events, and before them what came late."""
        wanted = any(not gap.until for gap in self.gaps)
        oldest, newer = (int(one or 0) for one in self._rows("snapshot", mark=wanted)[0])
        gaps = [gap if gap.until else Gap(gap.first, gap.last, newer) for gap in self.gaps]
        late = self._late(gaps) if gaps else []
        fresh = [event_of(row) for row in self._rows("beyond", top=self.top, most=most)]
        numbers = [event.id for event in late]
        open_gaps = [gap for gap in gaps if gap.until > oldest]
        self.gaps = [
            *(part for gap in open_gaps for part in without(gap, numbers)),
            *between(self.top, [event.id for event in fresh]),
        ]
        self.top = max([self.top, *(event.id for event in fresh)])
        return [*late, *fresh]

    def _late(self, gaps: list[Gap]) -> list[Event]:
        rows = self._rows(
            "between",
            first=min(gap.first for gap in gaps),
            last=max(gap.last for gap in gaps),
            firsts=[gap.first for gap in gaps],
            lasts=[gap.last for gap in gaps],
        )
        return [event_of(row) for row in rows]

    def _rows(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(SQL[name].encode(), values).fetchall()


def between(top: int, numbers: list[int]) -> list[Gap]:
    """Return the gaps in numbers that rise from `top` on."""
    every = pairwise([top, *numbers])
    return [Gap(low + 1, high - 1) for low, high in every if high > low + 1]


def without(gap: Gap, numbers: list[int]) -> list[Gap]:
    """Return what is left of a gap once some of its numbers have come."""
    inside = [number for number in numbers if gap.first <= number <= gap.last]
    edges = [gap.first - 1, *inside, gap.last + 1]
    return [Gap(low + 1, high - 1, gap.until) for low, high in pairwise(edges) if high > low + 1]


__all__ = ["Gap", "Tail", "between", "without"]
