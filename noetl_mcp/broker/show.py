"""Show how an execution stands, and one step of it in detail. Changes nothing.

What is too large to be shown is replaced by a mark that says how large it is.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from noetl_mcp.broker.desk import Desk, word_of
from noetl_mcp.broker.forsaken import forsaken
from noetl_mcp.broker.places import inside, place, shown_name, written
from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.progress import SETTLED
from noetl_mcp.broker.refusals import Unknown
from noetl_mcp.broker.run import item_name
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import WIDTH, Halt, State, Status

SQL = statements(__file__, "show.sql")
MOST_SHOWN = 4_000_000
"""Longer texts are not shown but named, in characters."""
MOST_STEPS = 100_000
_BEGINNING = 1_000


def shown(
    connection: Connection[TupleRow], execution_id: int, *, items: bool = False
) -> dict[str, Any]:
    """Return what `show ID --json` prints."""
    return show(Desk(connection), execution_id, items=items)


def show(desk: Desk, execution_id: int, *, items: bool = False) -> dict[str, Any]:
    """Return how an execution stands, with its steps; with `items` those of iterators too."""
    desk.context(execution_id)
    row = desk.ask(SQL, "execution", id=execution_id)[0]
    program = desk.program(row[1])
    status, result, error = row[4], row[11], row[12]
    return {
        "execution_id": str(row[0]),
        "playbook": row[2] or program.path,
        "version": row[3],
        "status": word_of(status, row[5]),
        "attention": _attention(desk, execution_id, program) if status == Status.RUNNING else [],
        "result": whole(desk, result),
        "error": _fault_in_full(desk, row[1], error),
        "halted": halted(row[5], row[15], row[16]),
        "round": row[6],
        "parent": None if row[7] is None else str(row[7]),
        "rerun_of": None if row[8] is None else str(row[8]),
        "key": row[9],
        "labels": decode(row[10]) if row[10] else {},
        "started": moment(row[13]),
        "ended": moment(row[14]),
        "steps": _steps(desk, execution_id, program, items=items),
    }


class _Began(NamedTuple):
    """By whom a step was done last, and when it began."""

    worker: int | None = None
    at: datetime | None = None


def _steps(desk: Desk, execution_id: int, program: Program, *, items: bool) -> list[dict[str, Any]]:
    rows = desk.ask(SQL, "steps", id=execution_id, items=items, most=MOST_STEPS)
    began = {
        (idx, item): _Began(worker, at)
        for idx, item, worker, at in desk.ask(SQL, "began", id=execution_id, items=items)
    }
    return [
        _step(program, row, began.get((row[0], row[1]), _Began()))
        for row in rows
        if not program.nodes[row[0]].name.startswith("$")
    ]


def _step(program: Program, row: Sequence[Any], began: _Began) -> dict[str, Any]:
    idx, item, state, attempt, ready_at, leased_at, ended_at, owner, is_answered = row[:9]
    node = program.nodes[idx]
    told: dict[str, Any] = {
        "name": written(program, idx, item),
        "type": node.type,
        "state": word_of_state(state),
        "attempts": attempt,
        "worker": began.worker if owner is None else owner,
        "ready_at": moment(ready_at),
        "started": moment(began.at or leased_at),
        "ended": moment(ended_at),
    }
    if node.hidden:
        told["hidden"] = True
    if is_answered and state == State.CANCELLED:
        told["answered"] = True  # it is not done again: a retry takes the answer
    return told


def _attention(desk: Desk, execution_id: int, program: Program) -> list[dict[str, Any]]:
    """Return what a person is to decide, or to provide."""
    found = []
    for idx, item, state, lease, note, error, answered in desk.ask(
        SQL, "attention", id=execution_id, most=MOST_STEPS
    ):
        if not answered:
            found.append(about(program, idx, item, state, lease, note, error))
    return found + [one.told(program) for one in forsaken(desk, [execution_id])]


def about(
    program: Program,
    idx: int,
    item: int,
    state: int,
    lease: int,
    note: str | None,
    error: str | None,
) -> dict[str, Any]:
    """Return what somebody is to decide about a step: a doubt, an approval or an answer."""
    name = written(program, idx, item)
    if state == State.IN_DOUBT:
        said = decode(error) if error else {}
        message = said.get("message") or "the worker that did it was lost"
        return {"step": name, "what": "in_doubt", "message": message, "lease": lease}
    asked = decode(note) if note else {}
    if "approve" in asked:
        return {"step": name, "what": "approval", **asked["approve"]}
    return {"step": name, "what": "callback", "message": asked["callback"].get("message")}


# One step


def show_step(desk: Desk, execution_id: int, step: str, *, items: bool = False) -> dict[str, Any]:
    """Return everything that is known of one step; of an iterator how its items stand."""
    context = desk.context(execution_id)
    program = desk.program(context.plan)
    node, item = place(program, step)
    rows = desk.ask(SQL, "step", id=execution_id, idx=node.idx, item=item)
    if not rows:
        if item:
            raise Unknown(f"there is no '{step}' in execution {execution_id} so far")
        return _undecided(execution_id, node)
    row = rows[0]
    began = {
        (idx, at): _Began(worker, when)
        for idx, at, worker, when in desk.ask(SQL, "began", id=execution_id, items=bool(item))
    }
    told = _step(program, row, began.get((node.idx, item), _Began()))
    lease, crashes, toward, live, result, error, extra, note, answer = row[9:]
    told |= {
        "execution_id": str(execution_id),
        "writes": node.writes,
        "lease": lease,
        "crashes": crashes,
        "joined": {"ways": node.waits, "undecided": toward, "live": live},
        "result": whole(desk, result),
        "error": decode(error) if error else None,
        "left": decode(extra) if extra else {},
        "note": whole(desk, note),
        "answer": whole(desk, answer),
    }
    if node.hands_out:
        told["items"] = _items(desk, execution_id, program, node, item, listed=items)
    return told


def demand_item(desk: Desk, execution_id: int, node: Node, item: int, step: str) -> None:
    """Refuse an item that there cannot be; of one whose iterator has not begun nobody knows."""
    if node.within is None:
        return
    program = desk.program(desk.context(execution_id).plan)
    iterator, around = program.nodes[node.within], item // WIDTH
    demand_item(desk, execution_id, iterator, around, step)
    key = {"id": execution_id, "idx": iterator.idx, "item": around}
    fans, rows = desk.ask(SQL, "fan", **key), desk.ask(SQL, "step", **key)
    total = fans[0][0] if fans else 0
    is_over = bool(rows) and State(rows[0][2]) in SETTLED
    is_beyond = 0 < total <= item % WIDTH - 1
    if not (is_beyond or is_over):
        return
    if not desk.ask(SQL, "item", id=execution_id, idxs=list(iterator.body), item=item):
        more = f"; '{iterator.name}' has {total} items" if is_beyond else ""
        raise Unknown(f"there is no '{step}' in execution {execution_id}{more}")


def _undecided(execution_id: int, node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "type": node.type,
        "state": "waiting",
        "attempts": 0,
        "execution_id": str(execution_id),
        "writes": node.writes,
    }


def _items(
    desk: Desk, execution_id: int, program: Program, node: Node, item: int, *, listed: bool
) -> dict[str, Any]:
    """Return how the items of an iterator stand."""
    idxs = [idx for idx in node.body if program.nodes[idx].within == node.idx]
    first, last = inside(item, 1)
    values = {"id": execution_id, "idxs": idxs, "first": first, "last": last}
    fans = desk.ask(SQL, "fan", id=execution_id, idx=node.idx, item=item)
    names = ("total", "handed_out", "at_work", "failed", "tolerated")
    told: dict[str, Any] = dict(zip(names, fans[0], strict=True)) if fans else {"total": 0}
    told["states"] = {
        shown_name(program, program.nodes[idx]): {} for idx in idxs if not program.nodes[idx].bare
    }
    for idx, state, count in desk.ask(SQL, "item_states", **values):
        by_state = told["states"].setdefault(shown_name(program, program.nodes[idx]), {})
        by_state[word_of_state(state)] = count
    if listed:
        rows = desk.ask(SQL, "item_steps", **values, most=MOST_STEPS)
        told["steps"] = [_step(program, row, _Began()) for row in rows]
    return told


# Words


def word_of_state(state: int) -> str:
    """Return the one word for how a step stands."""
    return State(state).name.lower()


def moment(at: datetime | None) -> str | None:
    """Return a time as it is printed."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def at_clock(at: datetime) -> str:
    """Return a time as it stands in a sentence."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def whole(desk: Desk, text: str | None) -> Any:
    """Return the value of a kept text; a very large one is named and not shown."""
    if text is None:
        return None
    text = desk.records.whole(text)
    if len(text) <= MOST_SHOWN:
        return decode(text)
    begins = text[:_BEGINNING]
    return {"not_shown": f"{len(text):,} characters are too many", "begins": begins}


def fault(desk: Desk, plan: int, error: str | None) -> Mapping[str, Any] | None:
    """Return an execution's error: step, code, message and attempt."""
    if error is None:
        return None
    said = decode(error)
    step = said.get("step")
    if step is None and isinstance(said.get("idx"), int):
        step = desk.program(plan).nodes[said["idx"]].name
    if step is not None and said.get("item"):
        step = f"{step}[{item_name(said['item'])}]"
    return {
        "step": step,
        "code": said.get("code"),
        "message": said.get("message"),
        "attempt": said.get("attempt"),
    }


def halted(kind: int | None, said_by: str | None, reason: str | None) -> dict[str, Any] | None:
    """Return why nothing further of an execution begins; None when nothing is in its way."""
    if kind is None:
        return None
    said = decode(reason) if reason else None
    message = said.get("message") if isinstance(said, dict) else None
    return {"how": Halt(kind).name.lower(), "by": said_by, "message": message}


def _fault_in_full(desk: Desk, plan: int, error: str | None) -> Mapping[str, Any] | None:
    """Return an execution's error with what else is known of it."""
    found = fault(desk, plan, error)
    details = decode(error).get("details") if error else None
    return found if found is None or details is None else {**found, "details": details}


__all__ = [
    "MOST_SHOWN",
    "about",
    "at_clock",
    "demand_item",
    "fault",
    "halted",
    "moment",
    "show",
    "show_step",
    "shown",
    "whole",
    "word_of_state",
]
