"""What any worker does once an hour: make the coming days of the log, remove what is old.

Cheap when nothing is due, and safe when many do it at once. Removes nothing unless it was told for
how long things are kept.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from noetl_mcp.broker.cache import forget
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.retention import remove_old
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.events.partitions import tend
from noetl_mcp.worker.life import forget_ends

EVERY = timedelta(hours=1)


@dataclass(slots=True)
class Housekeeping:
    """When it was done last, and for how long things are kept."""

    keep: timedelta | None = None
    clock: Callable[[], float] = time.monotonic
    done_at: float | None = None

    def is_due(self) -> bool:
        """Whether it is time again; asking is doing."""
        now = self.clock()
        if self.done_at is not None and now - self.done_at < EVERY.total_seconds():
            return False
        self.done_at = now
        return True

    def do(self, connection: Connection[TupleRow]) -> None:
        """Tend the log, and remove executions that ended long ago."""
        tend(connection, keep=self.keep)
        forget_ends(connection)
        forget(connection, self.keep)
        if self.keep is not None:
            remove_old(Desk(connection), self.keep)


__all__ = ["EVERY", "Housekeeping"]
