"""Count how much there is and how far behind it is, for those who watch. Changes nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.lease import Halt, State, Status

SQL = statements(__file__, "gauges.sql")


@dataclass(frozen=True, slots=True)
class Counts:
    """What is found only by looking at every row: it takes longer, the more there is."""

    executions: dict[str, int]
    queues: dict[str, int]


@dataclass(frozen=True, slots=True)
class Gauges:
    """Everything that is counted, at one moment."""

    executions: dict[str, int] = field(default_factory=dict)
    halted: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    """Of executions that have begun: leased, retrying, parked and in doubt ones."""
    queues: dict[str, int] = field(default_factory=dict)
    """By queue: how many steps wait to be leased."""
    oldest: dict[str, float] = field(default_factory=dict)
    """By queue: for how many seconds the next step has waited."""
    timers: int = 0
    late: float = 0.0
    """For how many seconds the first timer is due; negative while none is."""
    tally: dict[str, int] = field(default_factory=dict)
    """What all workers have counted: flushes, steps, losses of their connection."""
    started: int = 0
    events: int = 0
    commits: int = 0
    deadlocks: int = 0
    xmin_age: int = 0
    oldest_transaction: float = 0.0
    database_bytes: int = 0


def counts(connection: Connection[TupleRow]) -> Counts:
    """Count what only a look at every row tells."""
    executions = connection.execute(SQL["executions"].encode()).fetchall()
    queues = connection.execute(SQL["queues"].encode()).fetchall()
    return Counts(_named(executions, Status), {pool: int(count) for pool, count in queues})


def gauges(connection: Connection[TupleRow], counted: Counts | None = None) -> Gauges:
    """Return the counts; each is right for its own moment, and `counted` for an earlier one."""

    def rows(name: str) -> list[tuple[Any, ...]]:
        return connection.execute(SQL[name].encode()).fetchall()

    counted = counted or counts(connection)
    ((timers, late),) = rows("timers")
    ((started, events, commits, deadlocks, xmin, oldest, size),) = rows("totals")
    waiting = (State.LEASED, State.RETRYING, State.PARKED, State.IN_DOUBT)
    return Gauges(
        executions=counted.executions,
        halted=_named(rows("halted"), Halt),
        steps=_named(rows("steps"), waiting),
        queues=counted.queues,
        oldest={pool: float(age) for pool, age in rows("oldest") if age is not None},
        tally={name: int(total) for name, total in rows("tally")},
        timers=int(timers),
        late=float(late),
        started=int(started),
        events=int(events),
        commits=int(commits or 0),
        deadlocks=int(deadlocks or 0),
        xmin_age=int(xmin),
        oldest_transaction=float(oldest),
        database_bytes=int(size),
    )


def _named(rows: list[tuple[Any, ...]], kinds: Iterable[IntEnum]) -> dict[str, int]:
    """Return the counts by name, those too of which there are none."""
    counts = {int(number): int(count) for number, count in rows}
    return {kind.name.lower(): counts.get(int(kind), 0) for kind in kinds}


__all__ = ["Counts", "Gauges", "counts", "gauges"]
