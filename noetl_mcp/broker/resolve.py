"""Settle a step in doubt: it was done, it is to be done again, or it failed. A person says which.

Nothing is sent again until nothing of the first time can still arrive. A resolution names the very
doubt that was looked at; one that comes late is refused.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.places import place
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.show import demand_item
from noetl_mcp.broker.verdict import verdict
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import NotJson, decode, encode
from noetl_mcp.queue.lease import WIDTH, Halt, State, Status

SQL = statements(__file__, "resolve.sql")
LONGEST_REQUEST = 300.0
"""So long a request may be under way when its step says nothing about it, in seconds."""
How = Literal["retry", "accept", "abort"]


class _Doubt(NamedTuple):
    """A step in doubt."""

    state: int
    lease: int
    attempt: int
    is_lost: bool
    """Its worker went away; else the worker itself said that it does not know."""
    is_dead: bool
    """That worker's process is gone for certain, and with it whatever it could still send."""
    age: float | None


@dataclass(frozen=True, slots=True)
class _Case:
    """One resolution."""

    desk: Desk
    execution_id: int
    node: Node
    item: int
    step: str
    by: By
    reason: str | None

    @property
    def key(self) -> dict[str, int]:
        return {"id": self.execution_id, "idx": self.node.idx, "item": self.item}

    @property
    def said(self) -> str:
        """Who decided, and why."""
        return f"{self.by.who}" + (f": {self.reason}" if self.reason else "")


def resolve(
    desk: Desk,
    execution_id: int,
    step: str,
    how: How,
    *,
    by: By,
    value: Any = None,
    reason: str | None = None,
    force: bool = False,
    lease: int | None = None,
) -> None:
    """Settle a doubt: `accept` takes `value` as the result, `abort` fails the step.

    `retry` does it again, once the former request cannot arrive any more; `force` does not wait for
    that. `lease` is the number of the doubt, as `show` tells it.
    """
    node, item = place(desk.program(desk.context(execution_id).plan), step)
    case = _Case(desk, execution_id, node, item, step, by, reason)
    keys = [name for name, said in (("value", how == "accept"), ("force", force)) if said]
    with desk.audited(by, f"resolve {how}", f"{execution_id}/{step}", keys, reason):
        is_halted = desk.once(lambda: _resolve(case, how, value, force, lease))
    if is_halted:
        desk.close(execution_id)


def _resolve(case: _Case, how: How, value: Any, force: bool, lease: int | None) -> bool:
    """Settle a doubt in one transaction; say whether the execution is being ended."""
    standing = case.desk.standing(case.execution_id)
    if standing.status != Status.RUNNING:
        raise NotAllowed(f"execution {case.execution_id} is {standing.word}; nothing is in doubt")
    is_ending = standing.halt is not None and standing.halt > Halt.PAUSED
    doubt = _doubt(case, lease)
    if how == "accept":
        _accept(case, doubt, value)
    elif how == "retry":
        if is_ending:
            raise NotAllowed(
                f"execution {case.execution_id} is being ended, so '{case.step}' is not done"
                " again; accept or abort"
            )
        _retry(case, doubt, force)
    else:
        is_ending = _abort(case, doubt, is_ending)
    case.desk.ask(SQL, "free", **case.key)
    return is_ending


def _doubt(case: _Case, lease: int | None) -> _Doubt:
    rows = case.desk.ask(SQL, "doubt", **case.key)
    doubt = _Doubt(*rows[0]) if rows else None
    if doubt is None:
        demand_item(case.desk, case.execution_id, case.node, case.item, case.step)
    if doubt is None or doubt.state != State.IN_DOUBT:
        word = State(doubt.state).name.lower().replace("_", " ") if doubt else "waiting"
        raise NotAllowed(f"'{case.step}' is not in doubt; it is {word}")
    if lease is not None and lease != doubt.lease:
        raise NotAllowed(
            f"doubt {lease} of '{case.step}' is over; there is a new one, number {doubt.lease}"
        )
    return doubt


def _accept(case: _Case, doubt: _Doubt, value: Any) -> None:
    try:
        text = case.desk.records.keep(encode(value))
    except NotJson as problem:
        raise NotAllowed(f"the result cannot be kept: {problem}") from None
    is_kept_apart = text.startswith("@")
    told = {"answer_ref": text[1:]} if is_kept_apart else {"answer": value}
    _settle(case, doubt, State.READY, answer=text)
    _tell(case, doubt, "accept", State.READY, **told)
    _queue(case)


def _retry(case: _Case, doubt: _Doubt, force: bool) -> None:
    left = _still_arrives(case, doubt)
    if left > 0 and not force:
        raise NotAllowed(
            f"the request of '{case.step}' may still arrive: its worker was lost, and it is"
            f" certain only in {left:.0f} s that nothing comes any more; wait, or say --force"
        )
    _settle(case, doubt, State.READY)
    _tell(case, doubt, "retry", State.READY, force=force or None)
    _queue(case)


def _still_arrives(case: _Case, doubt: _Doubt) -> float:
    """Return the seconds in which a lost worker's request can still arrive."""
    if not doubt.is_lost or doubt.is_dead or doubt.age is None:
        return 0.0
    said = case.node.more.get("timeout")
    request = float(said) if isinstance(said, (int, float)) else LONGEST_REQUEST
    return case.desk.lease.total_seconds() + request - float(doubt.age)


def _abort(case: _Case, doubt: _Doubt, is_ending: bool) -> bool:
    """Fail the step; say whether the execution is being ended."""
    message = f"aborted by {case.said}"
    if not is_ending and _has_ways(case.node):
        answer = encode(verdict("aborted", message))
        _settle(case, doubt, State.READY, answer=answer)
        _tell(case, doubt, "abort", State.READY, answer=decode(answer))
        _queue(case)
        return False
    told = {"code": "aborted", "message": message, "step": case.node.name}
    error = {**told, "attempt": doubt.attempt}
    _settle(case, doubt, State.FAILED, error=encode(error))
    _tell(case, doubt, "abort", State.FAILED, error=error)
    if case.item:
        _count_item(case, is_ending)
        return is_ending
    case.desk.ask(SQL, "fail", id=case.execution_id, reason=encode(error), by=case.by.who)
    case.desk.tell_halted([case.execution_id])
    return True


def _has_ways(node: Node) -> bool:
    """Whether somebody hears of a failure, or makes up for it."""
    return bool(node.more.get("goes_on")) or any(
        way.kind in ("error", "failed") for way in node.ways
    )


def _count_item(case: _Case, is_ending: bool) -> None:
    """Tell the iterator that one of its items failed."""
    within = case.node.within
    assert within is not None
    lanes = case.desk.lanes(case.desk.context(case.execution_id))
    values = {"id": case.execution_id, "idx": within, "item": case.item // WIDTH}
    rows = case.desk.ask(SQL, "item_over", **values, lane=lanes[within], halted=is_ending)
    case.desk.wake(rows[0][0] or 0)


def _settle(
    case: _Case, doubt: _Doubt, state: State, *, answer: str | None = None, error: str | None = None
) -> None:
    values = {"state": int(state), "lease": doubt.lease, "answer": answer, "error": error}
    values |= {"lane": None, "attempt": doubt.attempt}
    if answer is not None:
        desk = case.desk
        lane = desk.judging_lane(desk.context(case.execution_id), case.node)
        values |= {"lane": lane, "attempt": _before(doubt)}
    if not case.desk.ask(SQL, "settle", **case.key, **values):
        raise NotAllowed(f"the doubt of '{case.step}' is over already")


def _before(doubt: _Doubt) -> int:
    """Return how many attempts there were before the one in doubt, which goes on."""
    return doubt.attempt - 1


def _tell(case: _Case, doubt: _Doubt, how: str, state: State, **more: Any) -> None:
    goes_on = more.keys() & {"answer", "answer_ref"}
    said = {"how": how, "state": int(state), "lease": doubt.lease, "by": case.by.who}
    case.desk.tell(
        "step_resolved",
        case.execution_id,
        {**said, "reason": case.reason, **more},
        idx=case.node.idx,
        item=case.item,
        attempt=_before(doubt) if goes_on else doubt.attempt,
    )


def _queue(case: _Case) -> None:
    case.desk.ask(SQL, "queue", **case.key)
    case.desk.wake(1)


__all__ = ["LONGEST_REQUEST", "How", "resolve"]
