"""What somebody sees who waits for an execution, read again and again. Draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from noetl_mcp.broker.progress import Begun, Fan, Names, Progress, Standing, Step, Told
from noetl_mcp.queue.pools import pools_of
from noetl_mcp.worker.living import Living, living

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.database import Connection, TupleRow

HEARD = timedelta(seconds=3)
"""A worker that was heard so lately is up, however short the lease is."""
RETRY, RESOLVED = 14, 22
"""Kinds of events."""
_LATE = ("answered", "not sent")
"""How a doubt is settled by the lost worker itself."""
LATE_READS = 2
"""Events can become visible a little out of order: the last looks' ones are read again."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: how everything stands, and what is new since the last one."""

    number: int
    standing: Standing
    names: Names
    steps: Sequence[Step]
    fans: Sequence[Fan]
    told: Sequence[Told]
    workers: Sequence[Living]
    unserved: frozenset[str]
    """Pools of which steps wait and no worker takes any."""
    since: datetime
    """When its present round began."""

    @property
    def steps_now(self) -> list[Step]:
        """The steps but for those that were over before the present round."""
        return [one for one in self.steps if one.ended_at is None or one.ended_at >= self.since]


class Looking:
    """Looks at one execution through a connection of its own, made anew when it breaks."""

    def __init__(self, home: "Home", execution_id: int) -> None:
        self.home = home
        self.id = execution_id
        self._connection: Connection[TupleRow] | None = None
        self._names: Names | None = None
        self._begun: Begun | None = None
        self._known_late: dict[tuple[int, int], int] = {}
        self._known: set[int] = set()
        self._marks = [0] * (LATE_READS + 1)

    @property
    def progress(self) -> Progress:
        """What is read; the connection is opened when it is needed."""
        if self._connection is None or self._connection.closed:
            self._connection = self.home.connect("run")
        return Progress(self._connection, self.id)

    def look(self) -> Seen | None:
        """Return what there is to see; None when there is no such execution."""
        progress = self.progress
        standing = progress.standing()
        if standing is None:
            return None
        if self._names is None:
            self._names = progress.names(standing.plan)
        if self._begun is None:
            self._begun = progress.begun() or Begun(0, standing.started)
            self._marks = [self._begun.event] * (LATE_READS + 1)  # earlier rounds are told
        workers, told = self.workers(), self._news(progress)
        taken = {queue for one in workers for queue in one.pools}
        return Seen(
            self.id,
            standing,
            self._names,
            self._steps(progress),
            progress.fans(),
            told,
            workers,
            frozenset(pools_of(progress.pools() - taken) - {""}),
            self._begun.at,
        )

    def _steps(self, progress: Progress) -> list[Step]:
        """Return the steps; who took up what a lost worker still knew made no further attempt."""
        found = []
        for step in progress.steps():
            less = self._known_late.get((step.idx, step.item), 0)
            found.append(step._replace(attempt=max(1, step.attempt - less)) if less else step)
        return found

    def workers(self) -> list[Living]:
        """Return the workers that are up."""
        return living(self.progress.connection, max(HEARD, self.home.settings.lease))

    def _news(self, progress: Progress) -> list[Told]:
        found = progress.told(self._marks[0])
        new = [one for one in found if one.id not in self._known]
        for one in new:
            if one.kind == RESOLVED and one.data.get("how") in _LATE and one.idx is not None:
                key = (one.idx, one.item or 0)
                self._known_late[key] = self._known_late.get(key, 0) + 1
        self._known = {one.id for one in found}
        newest = max((one.id for one in found), default=self._marks[-1])
        self._marks = [*self._marks[1:], newest]
        return new

    def drop(self) -> None:
        """Let the connection go; the next look opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


__all__ = ["RESOLVED", "RETRY", "Looking", "Seen"]
