"""Cancel, pause and resume executions. Ends no step itself: only its holder does.

A halted execution is a row in `halt`; workers are told at once and look with every beat. What is
not allowed is refused with a sentence before anything is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.forsaken import forsaken
from noetl_mcp.broker.places import written
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import encode
from noetl_mcp.queue.lease import Halt, State, Status

SQL = statements(__file__, "operate.sql")


class _Member(NamedTuple):
    """One running execution of a family."""

    id: int
    plan: int
    outcome: int
    halt: int | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel came to: which executions are to end, and whether this one is over."""

    executions: tuple[int, ...]
    is_over: bool
    waits_for: tuple[str, ...] = ()


def cancel(
    desk: Desk, execution_id: int, *, by: By, reason: str | None = None, force: bool = False
) -> Cancelled:
    """End an execution and all that it started; `finally` steps still run.

    A step in doubt is waited for. With `force` the `finally` steps end too.
    """
    keys = ("force",) if force else ()
    with desk.audited(by, "cancel", str(execution_id), keys, reason):
        ids = desk.once(lambda: _cancelled(desk, execution_id, by, reason, force))
    for one in reversed(ids):
        desk.close(one)
    if desk.standing(execution_id).ended:
        return Cancelled(tuple(ids), is_over=True)
    return Cancelled(tuple(ids), is_over=False, waits_for=tuple(in_the_way(desk, execution_id)))


def pause(desk: Desk, execution_id: int, *, by: By, reason: str | None = None) -> tuple[int, ...]:
    """Let nothing further of an execution and its children begin; what runs comes to its end."""
    with desk.audited(by, "pause", str(execution_id), (), reason):
        return desk.once(lambda: _paused(desk, execution_id, by, reason))


def resume(desk: Desk, execution_id: int, *, by: By) -> tuple[int, ...]:
    """Let a paused execution go on, and the children that were paused with it."""
    with desk.audited(by, "resume", str(execution_id)):
        return desk.once(lambda: _resumed(desk, execution_id, by))


def in_the_way(desk: Desk, execution_id: int) -> list[str]:
    """Say what keeps a halted execution from its end."""
    program = desk.program(desk.context(execution_id).plan)
    found = []
    alone = {(one.idx, one.item): one for one in forsaken(desk, [execution_id])}
    for idx, item, state, owner, note in desk.ask(SQL, "in_the_way", id=execution_id):
        name = written(program, idx, item)
        if state == State.IN_DOUBT:
            found.append(f"'{name}' is in doubt: resolve it")
        elif (idx, item) in alone:
            message = alone[idx, item].told(program)["message"]
            found.append(f"'{name}' has no worker: {message}")
        elif state == State.LEASED:
            found.append(f"'{name}' runs on worker {owner}")
        else:
            found.append(f"'{name}' waits for its child {_child(note)}")
    return found


def _child(note: str) -> Any:
    from noetl_mcp.queue.encode import decode

    return decode(note).get("child")


def _family(desk: Desk, execution_id: int) -> list[_Member]:
    """Return the running ones of a family, locked, the execution itself first."""
    ids = [row[0] for row in desk.ask(SQL, "family", id=execution_id)]
    desk.ask(SQL, "lock_all", ids=ids)
    return [_Member(*row) for row in desk.ask(SQL, "family", id=execution_id)]


def _demand_running(desk: Desk, execution_id: int, doing: str) -> None:
    """Refuse an execution that is over; raise Unknown when there is none."""
    standing = desk.standing(execution_id, lock=True)
    if standing.status == Status.RUNNING:
        return
    again = {
        Status.COMPLETED: "'rerun' starts the same once more",
        Status.FAILED: "'retry' goes on from where it failed",
        Status.CANCELLED: "'retry' goes on from where it stopped",
    }[Status(standing.status)]
    raise NotAllowed(f"execution {execution_id} is {standing.word} and cannot be {doing}; {again}")


def _cancelled(desk: Desk, execution_id: int, by: By, reason: str | None, force: bool) -> list[int]:
    _demand_running(desk, execution_id, "cancelled")
    family = _family(desk, execution_id)
    me = family[0]
    if not force:
        if me.halt == Halt.CANCELLED:
            raise NotAllowed(f"execution {execution_id} is being cancelled already")
        if _at_its_end(desk, me):
            raise NotAllowed(
                f"only the `finally` steps of execution {execution_id} are left, and they run on;"
                " --force ends them too"
            )
    ids = [one.id for one in family if force or not _at_its_end(desk, one)]
    error = encode({"code": "cancelled", "message": _why(by, reason)})
    halted = _halt(desk, ids, Halt.CANCELLED, by, error)
    for one in halted:
        cause = None if one == execution_id else execution_id
        said = {"text": f"it is to end: {_why(by, reason)}", "by": by.who, "with": cause}
        desk.tell("log", one, {**said, "stream": "noetl"})
    desk.tell_halted(halted)
    return ids


def _why(by: By, reason: str | None) -> str:
    return f"cancelled by {by.who}" + (f": {reason}" if reason else "")


def _at_its_end(desk: Desk, member: _Member) -> bool:
    """Whether nothing but `finally` steps are left."""
    if member.outcome:
        return True
    finals = desk.program(member.plan).finals
    return bool(finals) and bool(desk.ask(SQL, "any_begun", id=member.id, idxs=finals))


def _paused(desk: Desk, execution_id: int, by: By, reason: str | None) -> tuple[int, ...]:
    _demand_running(desk, execution_id, "paused")
    family = _family(desk, execution_id)
    _demand_not_halted(execution_id, family[0].halt, "paused")
    if family[0].halt == Halt.PAUSED:
        raise NotAllowed(f"execution {execution_id} is paused already; 'resume' lets it go on")
    ids = [one.id for one in family if one.halt is None]
    halted = _halt(desk, ids, Halt.PAUSED, by, None)
    for one in halted:
        cause = None if one == execution_id else execution_id
        desk.tell("execution_paused", one, {"by": by.who, "reason": reason, "with": cause})
    desk.tell_halted(halted)
    return tuple(halted)


def _demand_not_halted(execution_id: int, halt: int | None, doing: str) -> None:
    if halt is not None and halt > Halt.PAUSED:
        what = "failing" if halt == Halt.FAILING else "being cancelled"
        raise NotAllowed(f"execution {execution_id} is {what} and cannot be {doing}")


def _halt(desk: Desk, ids: Sequence[int], kind: Halt, by: By, reason: str | None) -> list[int]:
    """Halt executions at one moment, which tells later what was halted together."""
    at = desk.ask(SQL, "now")[0][0]
    values = {"kind": int(kind), "reason": reason, "by": by.who, "at": at}
    return sorted(row[0] for row in desk.ask(SQL, "halt", ids=list(ids), **values))


def _resumed(desk: Desk, execution_id: int, by: By) -> tuple[int, ...]:
    _demand_running(desk, execution_id, "resumed")
    family = _family(desk, execution_id)
    me = family[0]
    _demand_not_halted(execution_id, me.halt, "resumed")
    if me.halt is None:
        raise NotAllowed(f"execution {execution_id} is not paused; it runs")
    together = [one.id for one in family if one.halt == Halt.PAUSED and one.at == me.at]
    ids = sorted(row[0] for row in desk.ask(SQL, "unhalt", ids=together))
    for one in ids:
        cause = None if one == execution_id else execution_id
        desk.tell("execution_resumed", one, {"by": by.who, "with": cause})
    fill(desk, ids)
    desk.wake(desk.ask(SQL, "requeue", ids=ids)[0][0])
    return tuple(ids)


def fill(desk: Desk, ids: Sequence[int]) -> None:
    """Hand out items of iterators whose windows have room."""
    room: dict[int, list[tuple[int, int, int]]] = {}
    for one, idx, item, live in desk.ask(SQL, "fans", ids=list(ids)):
        room.setdefault(one, []).append((idx, item, live))
    for one, fans in room.items():
        context = desk.context(one)
        lanes, nodes = desk.lanes(context), desk.program(context.plan).nodes
        desk.ask(
            SQL,
            "fill",
            id=one,
            idxs=[idx for idx, _, _ in fans],
            items=[item for _, item, _ in fans],
            windows=[window(nodes[idx]) or max(1, live) for idx, _, live in fans],
            lanes=[lanes[idx] for idx, _, _ in fans],
        )


def window(node: Node) -> int | None:
    """Return how many items of an iterator are at work at once; None when a template says it."""
    settings = node.more.get("settings", {})
    mode, many = settings.get("mode", "sequential"), settings.get("concurrency")
    if mode == "sequential":
        return 1
    if not isinstance(mode, str) or not isinstance(many, int | None):
        return None
    return many or 8


__all__ = ["Cancelled", "cancel", "fill", "in_the_way", "pause", "resume", "window"]
