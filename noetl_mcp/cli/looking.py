"""What somebody sees who waits for an execution, read again and again. Draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from noetl_mcp.broker.progress import Fan, Names, Progress, Standing, Step, Told
from noetl_mcp.queue.pools import pools_of
from noetl_mcp.worker.living import Living, living

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.database import Connection, TupleRow

HEARD = timedelta(seconds=3)
"""A worker that was heard so lately is up, however short the lease is."""
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


class Looking:
    """Looks at one execution through a connection of its own, made anew when it breaks."""

    def __init__(self, home: "Home", execution_id: int) -> None:
        self.home = home
        self.id = execution_id
        self._connection: Connection[TupleRow] | None = None
        self._names: Names | None = None
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
        workers = self.workers()
        taken = {queue for one in workers for queue in one.pools}
        return Seen(
            self.id,
            standing,
            self._names,
            progress.steps(),
            progress.fans(),
            self._news(progress),
            workers,
            frozenset(pools_of(progress.pools() - taken) - {""}),
        )

    def workers(self) -> list[Living]:
        """Return the workers that are up."""
        return living(self.progress.connection, max(HEARD, self.home.settings.lease))

    def _news(self, progress: Progress) -> list[Told]:
        found = progress.told(self._marks[0])
        new = [one for one in found if one.id not in self._known]
        self._known = {one.id for one in found}
        newest = max((one.id for one in found), default=self._marks[-1])
        self._marks = [*self._marks[1:], newest]
        return new

    def drop(self) -> None:
        """Let the connection go; the next look opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


__all__ = ["Looking", "Seen"]
