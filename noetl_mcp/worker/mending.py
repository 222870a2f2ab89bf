"""Take a refused flush apart, so that what is at fault fails alone and the rest comes through.

First by executions, which share nothing. Of an execution whose part is refused by itself every step
is handed back with what its body gave: whoever takes it settles it anew, and no body runs again.
What is refused even so fails, and its execution with it. Sends nothing itself.
"""

from collections.abc import Iterable

from noetl_mcp.broker.verdict import verdict
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Arrived, Flush, Halt, Halted, Lease, Settled, State

LEASE_LOST, FAILED = 24, 16
MOST_HANDOVERS = 100
"""A step that was handed over so often and is refused again is not handed back once more."""
_BY_FIRST = ("settled", "tokens", "opened", "ended", "over", "halts", "awaited", "released")


def halves(flush: Flush) -> tuple[Flush, Flush] | None:
    """Return what a flush says of one half of its executions, and of the other."""
    ids = sorted(
        {row[0] for name in _BY_FIRST for row in getattr(flush, name)}
        | {one.execution_id for one in flush.told}
    )
    if len(ids) < 2:
        return None
    first = frozenset(ids[: len(ids) // 2])
    return _said_of(flush, first), _said_of(flush, frozenset(ids) - first)


def _said_of(flush: Flush, ids: frozenset[int]) -> Flush:
    part = Flush()
    for name in _BY_FIRST:
        setattr(part, name, [row for row in getattr(flush, name) if row[0] in ids])
    part.told = [one for one in flush.told if one.execution_id in ids]
    part.arrived = [one for one in flush.arrived if _sender(one) in ids]
    return part


def _sender(arrived: Arrived) -> int | None:
    """Return the execution whose end something is; it is told together with that end."""
    told = decode(arrived.text)
    return told.get("child") if isinstance(told, dict) else None


def one_by_one(flush: Flush, held: Iterable[Lease], why: str) -> list[tuple[Flush, Flush]]:
    """Return a flush for each step of one execution, and what to say when that is refused, too.

    A step that is not held under the lease that is named is left out: somebody else has it.
    """
    known = {(lease.key, lease.lease): lease for lease in held}
    found = []
    for row in flush.settled:
        lease = known.get((row[:3], row.lease))
        if lease is not None:
            last = Flush([_failed(row, why)], released=_released(flush, row))
            last.halts = [Halted(row.execution_id, Halt.FAILING, last.settled[0].error)]
            back = _handed_back(row, lease)
            first = last if back is None else Flush([back], released=_released(flush, row))
            found.append((first, last))
    return found


def _released(flush: Flush, row: Settled) -> list[tuple[int, int, int]]:
    return [key for key in flush.released if key == row[:3]]


def _handed_back(row: Settled, lease: Lease) -> Settled | None:
    """Return a step with its answer, to be settled anew; None when that was tried before.

    An item that was called off is done again: its iterator would not hear of its end.
    """
    if row.state in (State.RETRYING, State.IN_DOUBT):
        return row
    if lease.lease > MOST_HANDOVERS:
        return None
    answer = lease.answer
    if row.state in (State.DONE, State.FAILED):
        if answer is not None:
            return None
        answer = answer_of(row)
    return Settled(
        *row[:3],
        row.lease,
        State.READY,
        LEASE_LOST,
        lease.attempt - (lease.before != State.PARKED),
        note=lease.note,
        answer=answer,
        lane=row.lane,
    )


def answer_of(row: Settled) -> str:
    """Return what stands in the place of an answer: the result, or why there is none."""
    if row.state == State.DONE:
        return "null" if row.result is None else row.result
    told = decode(row.error) if row.error else {}
    return encode(verdict(str(told.get("code", "error")), str(told.get("message", "it failed"))))


def _failed(row: Settled, why: str) -> Settled:
    told = {"code": "refused", "message": f"the database refuses it: {why}"[:1000]}
    error = encode({**told, "attempt": row.attempt})
    return Settled(
        *row[:3], row.lease, State.FAILED, FAILED, row.attempt, error=error, lane=row.lane
    )


__all__ = ["LEASE_LOST", "answer_of", "halves", "one_by_one"]
