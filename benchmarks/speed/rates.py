"""Steps a second when the body of a step is nothing, or a small program."""

import os
import time
from typing import Any

from speed.books import begin, chain
from speed.server import Server
from speed.working import per_step, worked_off

_FLUSHES = "select wal_sync from pg_stat_wal"
_FLUSHES_SINCE_18 = "select sum(fsyncs) from pg_stat_io where object = 'wal'"
_PROGRAM = ", code: 'def main(): return 1'"


def rate(
    server: Server,
    text: str,
    executions: int,
    workers: int,
    *,
    slots: int = 500,
    computing: int = 0,
    seconds: float = 300,
) -> dict[str, Any]:
    """Start executions, work them off, and say what a step took."""
    _, submitted = begin(server, text, executions)
    spent, of_server = worked_off(
        server, workers=workers, slots=slots, computing=computing, seconds=seconds
    )
    found = {"executions": executions, **per_step(spent, of_server)}
    found["executions_per_s"] = round(executions / max(one["seconds"] for one in spent))
    found["submitted_per_s"] = round(submitted)
    server.clear()
    return found


def chains(server: Server, size: float, *, kind: str = "noop") -> dict[str, Any]:
    """Ten steps after each other, many at once, two workers: each leased, begun and settled."""
    return rate(server, chain(10, kind), max(1, int(10_000 * size)), 2)


def singles(server: Server, size: float, *, kind: str = "noop") -> dict[str, Any]:
    """Executions of one step, as a job queue has them."""
    return rate(server, chain(1, kind), max(1, int(60_000 * size)), 2)


def programs(server: Server, size: float) -> dict[str, Any]:
    """Python steps on warm interpreters, with as many of them as there are processors."""
    cores = len(os.sched_getaffinity(0))
    text = chain(1, "python", _PROGRAM)
    return rate(server, text, max(1, int(5_000 * size)), 1, computing=max(2, cores))


def lone(server: Server, size: float) -> dict[str, Any]:
    """One execution of many steps: each step waits for its own flush."""
    with server.connect("wal") as connection:

        def flushes() -> int:
            is_new = connection.info.server_version >= 180_000
            query = _FLUSHES_SINCE_18 if is_new else _FLUSHES
            row = connection.execute(query.encode()).fetchone()
            return int(row[0]) if row else 0

        time.sleep(1.2)  # what was written before is counted late
        before = flushes()
        found = rate(server, chain(max(10, int(300 * min(1.0, size * 10)))), 1, 1)
        time.sleep(1.2)
        after = flushes()
    found["ms_per_step"] = round(1000 * found["seconds"] / found["steps"], 3)
    found["wal_flushes_per_step"] = round((after - before) / found["steps"], 2)
    return found


__all__ = ["chains", "lone", "programs", "rate", "singles"]
