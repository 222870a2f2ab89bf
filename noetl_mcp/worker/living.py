"""Say which workers are up. Gives nobody up: that is for workers, who watch each other."""

from datetime import datetime, timedelta
from typing import NamedTuple

from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.worker.life import Watch

SQL = statements(__file__, "living.sql")
PASSING = "run "
"""So begin the names of workers that are there for one execution only, and leave with it."""


class Living(NamedTuple):
    """A worker that is up."""

    id: int
    name: str | None
    pools: tuple[str, ...]
    host: str
    pid: int
    started: datetime

    @property
    def stays(self) -> bool:
        """Whether others may count on it."""
        return not (self.name or "").startswith(PASSING)


def living(connection: Connection[TupleRow], lease: timedelta) -> list[Living]:
    """Return the workers that are up: heard within a lease, and not known to be dead here."""
    rows = connection.execute(SQL["workers"].encode(), {"lease": lease.total_seconds()}).fetchall()
    gone = {number for number, _ in Watch().look(connection, [(row[0], row[1]) for row in rows])}
    return [
        Living(row[0], row[2], tuple(row[3]), row[4], row[5], row[6])
        for row in rows
        if row[7] and row[0] not in gone
    ]


__all__ = ["PASSING", "Living", "living"]
