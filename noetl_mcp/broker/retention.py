"""Remove executions that ended long ago, in batches, with all that belongs to them but the log.

Touches none that runs, none whose parent is still kept, and none that somebody decides about.
"""

from dataclasses import dataclass
from datetime import timedelta

from noetl_mcp.broker.desk import Desk
from noetl_mcp.database import statements

SQL = statements(__file__, "retention.sql")
BATCH = 500
_PATIENCE = "30min"  # every reference is looked at once
_TABLES = (
    "steps",
    "signals",
    "fans",
    "hints",
    "timers",
    "halts",
    "waiting",
    "end_calls",
    "executions",
)


@dataclass(frozen=True, slots=True)
class Removed:
    """How much was removed."""

    executions: int
    payloads: int


def remove_old(desk: Desk, age: timedelta, *, batch: int = BATCH) -> Removed:
    """Remove what ended longer ago than an age; each batch is a transaction of its own."""
    removed, after = 0, 0
    while True:
        values = {"age": age.total_seconds(), "after": after, "most": batch}
        ids = [row[0] for row in desk.ask(SQL, "old", **values)]
        if not ids:
            break
        removed += desk.once(lambda ids=ids: _remove(desk, ids))  # type: ignore[misc]
        after = ids[-1]
    return Removed(removed, _remove_payloads(desk, age))


def _remove(desk: Desk, ids: list[int]) -> int:
    locked = [row[0] for row in desk.ask(SQL, "lock_old", ids=ids)]
    for table in _TABLES:
        desk.ask(SQL, f"remove_{table}", ids=locked)
    return len(locked)


def _remove_payloads(desk: Desk, age: timedelta) -> int:
    with desk.connection.transaction():
        desk.connection.execute(f"set local statement_timeout = '{_PATIENCE}'".encode())
        values = {"age": age.total_seconds()}
        return desk.connection.execute(SQL["remove_payloads"].encode(), values).rowcount


__all__ = ["BATCH", "Removed", "remove_old"]
