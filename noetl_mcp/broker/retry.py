"""Retry an execution that failed or was cancelled: in itself, as a further round.

What is done stays done; what failed begins again. Each round ends in exactly one terminal event. A
failed child is retried in place. Writes that were made are made again only when they are named.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.lanes import demand_open
from noetl_mcp.broker.operate import SQL as OPERATE
from noetl_mcp.broker.operate import fill
from noetl_mcp.broker.past import past_of
from noetl_mcp.broker.places import body_of, place, written
from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.recount import Count
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.reset import Again, Past, Reset, is_final
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import State, Status

SQL = statements(__file__, "retry.sql")


@dataclass(frozen=True, slots=True)
class Retried:
    """A further round of an execution: which steps begin with it, and which children too."""

    execution_id: int
    round: int
    steps: tuple[str, ...]
    children: tuple[int, ...]


class _Wish(NamedTuple):
    """What is asked for."""

    by: By
    from_step: str | None = None
    confirmed: Collection[str] = ()
    reason: str | None = None
    parent: int | None = None


@dataclass(slots=True)
class _Work:
    """A reset, as it is written down."""

    desk: Desk
    execution_id: int
    program: Program
    lanes: Sequence[int]
    past: Past
    reset: Reset
    parked: list[Again] = field(default_factory=list)
    """Steps that wait for their child again."""
    children: list[int] = field(default_factory=list)


def retry(
    desk: Desk,
    execution_id: int,
    *,
    by: By,
    from_step: str | None = None,
    confirm_writes: Collection[str] = (),
    reason: str | None = None,
) -> Retried:
    """Begin a further round: with what failed, and with `from_step` and all behind it.

    Steps that wrote already and would write again must be named in `confirm_writes`.
    """
    wish = _Wish(by, from_step, confirm_writes, reason)
    keys = [name for name, said in (("from", from_step), ("confirm", confirm_writes)) if said]
    with desk.audited(by, "retry", str(execution_id), keys, reason):
        return desk.once(lambda: _retry(desk, execution_id, wish))


def _retry(desk: Desk, execution_id: int, wish: _Wish) -> Retried:
    context = desk.context(execution_id)
    demand_open(execution_id, context.priority)
    _demand_over(desk, execution_id)
    context = desk.context(execution_id)
    program = desk.program(context.plan)
    past = past_of(desk, execution_id, program)
    begin = None
    if wish.from_step is not None:
        begin = _begin(desk, execution_id, past, wish.from_step)
    reset = past.reset(None if begin is None else begin.idx)
    if begin is not None:
        _demand_confirmed(desk, execution_id, program, begin, reset, wish.confirmed)
    work = _Work(desk, execution_id, program, desk.lanes(context), past, reset)
    _look_after_children(work, wish)
    round_number = _write(work, wish)
    steps = [(one.idx, one.item) for one in (*reset.ready, *work.parked)]
    names = tuple(written(program, idx, item) for idx, item in sorted(steps))
    return Retried(execution_id, round_number, names, tuple(work.children))


def _demand_over(desk: Desk, execution_id: int) -> None:
    standing = desk.standing(execution_id, lock=True)
    if standing.status == Status.RUNNING:
        more = "'resume' lets it go on" if standing.word == "paused" else "it is not over yet"
        raise NotAllowed(f"execution {execution_id} is {standing.word}; {more}")
    if standing.status == Status.COMPLETED:
        raise NotAllowed(
            f"execution {execution_id} is completed and has nothing to retry;"
            " 'rerun' starts the same once more"
        )


def _begin(desk: Desk, execution_id: int, past: Past, step: str) -> Node:
    """Return the step to begin from; refuse one that cannot be begun from."""
    node, item = place(past.program, step)
    if item:
        raise NotAllowed(f"'{step}' is done for an item; name the iterator instead")
    if is_final(past.program, node):
        raise NotAllowed(f"'{step}' is a `finally` step; those run in every round")
    row = past.rows.get((node.idx, 0))
    if row is None or row.stand.state == State.WAITING:
        raise NotAllowed(f"'{step}' did not begin, so nothing can begin from it")
    if row.stand.state == State.SKIPPED:
        raise NotAllowed(f"'{step}' was skipped; begin from a step that decides about it")
    return node


def _demand_confirmed(
    desk: Desk,
    execution_id: int,
    program: Program,
    begin: Node,
    reset: Reset,
    confirmed: Collection[str],
) -> None:
    """Refuse to write again what was written, unless a person named it."""
    idxs = {begin.idx, *(idx for idx, _ in reset.behind)}
    for idx in list(idxs):
        if program.nodes[idx].hands_out:
            idxs |= {node.idx for node, _ in body_of(program, program.nodes[idx])}
    rows = desk.ask(SQL, "wrote", id=execution_id, idxs=list(idxs))
    rows += desk.ask(SQL, "children_wrote", id=execution_id, idxs=list(idxs))
    names = dict.fromkeys(_said_name(program, program.nodes[idx]) for (idx,) in sorted(rows))
    missing = [name for name in names if name not in confirmed]
    if missing:
        listed = ", ".join(f"'{name}'" for name in missing)
        options = " ".join(f"--confirm-write {name}" for name in missing)
        raise NotAllowed(
            f"this would write again what was written by {listed}; if that is meant: {options}"
        )


def _said_name(program: Program, node: Node) -> str:
    """Return the name under which a person knows a step: that of the step it belongs to."""
    while "speaks_for" in node.more:
        node = program.nodes[node.more["speaks_for"]]
    while node.within is not None:
        node = program.nodes[node.within]
    return node.name


def _look_after_children(work: _Work, wish: _Wish) -> None:
    """Retry failed children first; the steps that started them wait for them again."""
    left: list[Again] = []
    for one in work.reset.ready:
        row = work.past.rows.get((one.idx, one.item))
        is_child = work.program.nodes[one.idx].type == "playbook"
        if not is_child or one.fresh or row is None or row.is_answered:
            left.append(one)
            continue
        child = _child(work, one)
        if child is None:
            left.append(one._replace(fresh=True, note=None))
            continue
        again = one._replace(note=encode({"child": child}))
        if _goes_on(work, child, wish):
            work.parked.append(again)
        else:
            left.append(again)
    work.reset.ready = left


def _child(work: _Work, one: Again) -> int | None:
    """Return the child that a step had started."""
    row = work.past.rows[one.idx, one.item]
    error = decode(row.error) if row.error else {}
    details = error.get("details")
    told = details.get("child") if isinstance(details, dict) else None
    found = _child_of(row.note) or told
    if found is None and "repeat" not in work.program.nodes[one.idx].care:
        rows = work.desk.ask(SQL, "child_of", id=work.execution_id, idx=one.idx, item=one.item)
        found = rows[0][0] if rows else None
    try:
        return None if found is None else work.desk.context(int(found)).id
    except Unknown:
        return None


def _goes_on(work: _Work, child: int, wish: _Wish) -> bool:
    """Retry a child that failed; say whether it runs now, so that it must be waited for."""
    standing = work.desk.standing(child, lock=True)
    if standing.status == Status.COMPLETED:
        return False
    if standing.status != Status.RUNNING:
        inner = _Wish(wish.by, reason=wish.reason, parent=work.execution_id)
        found = _retry(work.desk, child, inner)
        work.children += [child, *found.children]
    return True


# Writing it down


def _write(work: _Work, wish: _Wish) -> int:
    desk, number = work.desk, work.execution_id
    for name in ("forget_hints", "forget_timers", "unhalt"):
        desk.ask(SQL, name, id=number)
    _forget(work)
    _put(work, [one for one in work.reset.ready if one.fresh], State.READY, keeps=False)
    _put(work, [one for one in work.reset.ready if not one.fresh], State.READY, keeps=True)
    _put(work, work.parked, State.PARKED, keeps=True)
    waiting = [Again(idx, item, counted) for idx, item, counted in work.reset.waiting]
    _put(work, waiting, State.WAITING, keeps=False)
    windows = work.reset.windows
    opened = [Again(w.idx, w.item, Count(0, 1), note=w.note) for w in windows]
    _put(work, opened, State.PARKED, keeps=True)
    keys = {"idxs": [w.idx for w in windows], "items": [w.item for w in windows]}
    desk.ask(SQL, "open_windows", id=number, **keys, lives=[w.live for w in windows])
    _listen(work)
    round_number = int(desk.ask(SQL, "begin", id=number)[0][0])
    desk.ask(SQL, "mark_waiting", id=number)
    seconds = work.program.plan["options"].get("timeout")
    if isinstance(seconds, (int, float)):
        desk.ask(SQL, "limit", id=number, seconds=seconds)
    _tell(work, wish, round_number)
    fill(desk, [number])
    desk.wake(desk.ask(OPERATE, "requeue", ids=[number])[0][0])
    return round_number


def _forget(work: _Work) -> None:
    """Remove what nothing is kept of, and signals that count no more."""
    reset = work.reset
    begun_anew = [(one.idx, one.item) for one in reset.ready if one.fresh]
    undone = [(idx, item) for idx, item, _ in reset.waiting] + begun_anew
    failed = {(one.idx, one.item) for one in reset.ready if not one.fresh} - reset.kept
    ranges = list(dict.fromkeys(reset.gone))
    _delete(work, "forget_steps", ranges)
    ranges += [(idx, item, item) for idx, item in undone]
    _delete(work, "forget_fans", ranges)
    ranges += [(idx, item, item) for idx, item in failed]
    _delete(work, "forget_signals", ranges)


def _delete(work: _Work, name: str, ranges: Sequence[tuple[int, int, int]]) -> None:
    idxs, firsts, lasts = zip(*ranges, strict=True) if ranges else ((), (), ())
    keys = {"idxs": list(idxs), "firsts": list(firsts), "lasts": list(lasts)}
    work.desk.ask(SQL, name, id=work.execution_id, **keys)


def _put(work: _Work, rows: Sequence[Again], state: State, *, keeps: bool) -> None:
    nodes = work.program.nodes
    work.desk.ask(
        SQL,
        "put",
        id=work.execution_id,
        idxs=[one.idx for one in rows],
        items=[one.item for one in rows],
        states=[int(state)] * len(rows),
        lanes=[_lane(work, one, keeps=keeps) for one in rows],
        waits=[nodes[one.idx].waits_signed for one in rows],
        towards=[one.counted.toward for one in rows],
        lives=[one.counted.live for one in rows],
        notes=[one.note for one in rows],
        keeps=keeps,
    )


def _lane(work: _Work, one: Again, *, keeps: bool) -> int:
    row = work.past.rows.get((one.idx, one.item))
    if not (keeps and row is not None and row.is_answered):
        return work.lanes[one.idx]
    context = work.desk.context(work.execution_id)
    return work.desk.judging_lane(context, work.program.nodes[one.idx])


def _listen(work: _Work) -> None:
    work.desk.ask(
        SQL,
        "listen",
        id=work.execution_id,
        idxs=[one.idx for one in work.parked],
        items=[one.item for one in work.parked],
        lanes=[work.lanes[one.idx] for one in work.parked],
    )


def _tell(work: _Work, wish: _Wish, round_number: int) -> None:
    """Write down what was reset, so that whoever reads the log knows how every step stands."""
    reset = work.reset
    told: dict[str, Any] = {
        "round": round_number,
        "by": wish.by.who,
        "reason": wish.reason,
        "from": wish.from_step,
        "parent": wish.parent,
        "ready": [[one.idx, one.item, *one.counted] for one in reset.ready],
        "parked": [[one.idx, one.item, *one.counted] for one in work.parked]
        + [[one.idx, one.item, 0, 1] for one in reset.windows],
        "waiting": [[idx, item, *counted] for idx, item, counted in reset.waiting],
        "gone": [list(one) for one in dict.fromkeys(reset.gone)],
        # All that begins again and is not fresh keeps its note and its answer; with an answer it
        # makes no further attempt.
        "fresh": [[one.idx, one.item] for one in reset.ready if one.fresh],
        "judged": [list(one) for one in work.desk.ask(SQL, "judged", id=work.execution_id)],
        "children": [[one.idx, one.item, _child_of(one.note)] for one in work.parked],
    }
    work.desk.tell("execution_retried", work.execution_id, told)


def _child_of(note: str | None) -> int | None:
    """Return the child that a note names."""
    said = decode(note) if note else None
    return said.get("child") if isinstance(said, dict) else None


__all__ = ["Retried", "retry"]
