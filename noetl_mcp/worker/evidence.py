"""What a life that is over still knows of the steps it held: answered, or not sent.

It counts only for a step that is in doubt under the very lease that this life had; of everything
else a late worker says nothing is taken.
"""

from collections.abc import Iterable
from typing import NamedTuple

from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Lease, Settled, State
from noetl_mcp.worker.mending import LEASE_LOST, answer_of

SQL = statements(__file__, "evidence.sql")
ITERATION = 25
"""A round of a repeated step is over, so it was sent."""


class Known(NamedTuple):
    """What became of a step under a lease; without an answer nothing was sent."""

    execution_id: int
    idx: int
    item: int
    lease: int
    answer: str | None


def evidence(settled: Iterable[Settled], unbegun: Iterable[Lease]) -> list[Known]:
    """Return what is known of steps whose end was never told, and of those that never began."""
    found = [Known(*lease.key, lease.lease, None) for lease in unbegun]
    for row in settled:
        if not row.lease:
            continue
        if row.state == State.FAILED and _was_not_sent(row.error):
            found.append(Known(*row[:3], row.lease, None))
        elif row.state in (State.DONE, State.FAILED):
            found.append(Known(*row[:3], row.lease, answer_of(row)))
        elif row.kind == LEASE_LOST or (row.state == State.RETRYING and row.kind != ITERATION):
            found.append(Known(*row[:3], row.lease, None))
    return found


def _was_not_sent(error: str | None) -> bool:
    """Whether a failure says of itself that nothing had left."""
    told = decode(error) if error else None
    return isinstance(told, dict) and told.get("code") == "not-sent"


def report(connection: Connection[TupleRow], worker: int, known: list[Known]) -> int:
    """Say what is known; return how many doubts that ended."""
    if not known:
        return 0
    execs, idxs, items, leases, answers = (list(column) for column in zip(*known, strict=True))
    row = connection.execute(
        SQL["report"].encode(),
        {
            "worker": worker,
            "execs": execs,
            "idxs": idxs,
            "items": items,
            "leases": leases,
            "answers": answers,
        },
    ).fetchone()
    return int(row[0]) if row is not None else 0


__all__ = ["Known", "evidence", "report"]
