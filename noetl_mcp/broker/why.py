"""Say what an execution, or one step of it, waits for: as data, and in a sentence.

A token of another step, a permit, a time, a person, an answer, a child, a worker, somebody who
paused it; or nothing, because it is done right now. Changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from noetl_mcp.broker.desk import Desk, word_of
from noetl_mcp.broker.end_calls import SQL as END_CALLS
from noetl_mcp.broker.end_calls import place_of
from noetl_mcp.broker.forsaken import heard_within
from noetl_mcp.broker.places import place, written
from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.recount import Stand, stand_of, undecided
from noetl_mcp.broker.show import at_clock, demand_item, moment
from noetl_mcp.broker.typed import typed
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import WIDTH, Halt, State, Status
from noetl_mcp.queue.pools import ASIDE_POOL, FIRST_FORM, form_of, pool_of, pools_of

SQL = statements(__file__, "why.sql")
MOST = 200


class Up(NamedTuple):
    """A worker that is up."""

    id: int
    name: str | None
    pools: tuple[str, ...]


class _Step(NamedTuple):
    """A step that is not settled."""

    idx: int
    item: int
    state: int
    note: str | None = None
    owner: int | None = None
    ready_at: datetime | None = None
    leased_at: datetime | None = None
    lane: int = 0
    crashes: int = 0
    error: str | None = None
    due: datetime | None = None
    listens: bool | None = None
    is_answered: bool = False
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """What one step waits for: the kind of it, a sentence, and what the sentence is made of."""

    step: str | None
    kind: str
    says: str
    more: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        return {"step": self.step, "waits_for": self.kind, "says": self.says, **self.more}


@dataclass(slots=True)
class _Look:
    """One look at an execution."""

    desk: Desk
    id: int
    program: Program
    halt: tuple[int, str | None, str | None, datetime] | None
    workers: Sequence[Up]
    tells_tokens: bool

    def reason(self, step: _Step, kind: str, says: str, **more: Any) -> Reason:
        name = written(self.program, step.idx, step.item)
        return Reason(name, kind, f"'{name}' {says}", more)


def why(
    desk: Desk, execution_id: int, step: str | None = None, *, tokens: bool = False
) -> list[Reason]:
    """Return what an execution waits for; of one step also when it is another that it waits for.

    With `tokens` also the addresses at which steps can be answered: whoever knows one may answer.
    """
    context = desk.context(execution_id)
    program = desk.program(context.plan)
    standing = desk.standing(execution_id)
    if step is None and standing.status != Status.RUNNING:
        return _after_its_end(desk, execution_id, standing.word)
    halts = desk.ask(SQL, "halt", id=execution_id)
    halt = (halts[0][0], halts[0][1], halts[0][2], halts[0][3]) if halts else None
    look = _Look(desk, execution_id, program, halt, _workers(desk), tokens)
    rows = [_Step(*row) for row in desk.ask(SQL, "steps", id=execution_id, most=MOST)]
    if step is not None:
        node, item = place(program, step)
        demand_item(desk, execution_id, node, item, step)
        return _of_step(look, node, item, {(r.idx, r.item): r for r in rows})
    found = [] if look.halt is None else [_halted(look)]
    found += [_waits(look, row) for row in rows if row.state != State.WAITING]
    if not any(row.state != State.WAITING for row in rows):
        found += [_waits(look, row) for row in rows]
    return found


def _after_its_end(desk: Desk, execution_id: int, word: str) -> list[Reason]:
    """Say who is still to be told of an end."""
    says = f"execution {execution_id} is {word}; it waits for nothing"
    found = []
    for number, url, due, tries, said in desk.ask(END_CALLS, "waiting", id=execution_id):
        last = f" after try {tries}{': ' + said if said else ''}" if tries else ""
        told = (
            f"execution {execution_id} is {word};"
            f" {place_of(url)} is called at {at_clock(due)}{last}"
        )
        more = {"round": number, "tries": tries, "until": moment(due)}
        found.append(Reason(None, "call", told, more))
    return found or [Reason(None, "nothing", says, {})]


def _workers(desk: Desk) -> list[Up]:
    rows = desk.ask(SQL, "workers", lease=heard_within(desk))
    return [Up(number, name, tuple(pools)) for number, name, pools in rows]


def _of_step(
    look: _Look, node: Node, item: int, rows: Mapping[tuple[int, int], _Step]
) -> list[Reason]:
    """Follow what a step waits for back to where something happens, or should."""
    pending, seen, found = [(node.idx, item)], set[tuple[int, int]](), list[Reason]()
    stands = _stands(look, item)
    if look.halt is not None:
        found.append(_halted(look))
    while pending and len(found) < MOST:
        key = pending.pop(0)
        if key in seen:
            continue
        seen.add(key)
        row = rows.get(key)
        if row is None and key[0] in stands and stands[key[0]].state != State.WAITING:
            found.append(_settled(look, key, stands[key[0]]))
            continue
        row = row or _Step(*key, State.WAITING)
        found.append(_waits(look, row, stands))
        if row.state == State.WAITING:
            sources = undecided(look.program, stands, key[0])
            pending += [(source, item) for source in sources]
            within = look.program.nodes[key[0]].within
            if not sources and within is not None:
                pending.append((within, item // WIDTH))
    return found


def _stands(look: _Look, item: int) -> dict[int, Stand]:
    rows = look.desk.ask(SQL, "own", id=look.id, item=item)
    return {idx: stand_of(state, extra, error) for idx, state, error, extra in rows}


def _settled(look: _Look, key: tuple[int, int], stand: Stand) -> Reason:
    word = State(stand.state).name.lower()
    return look.reason(_Step(*key, stand.state), "nothing", f"is {word}; it waits for nothing")


def _halted(look: _Look) -> Reason:
    assert look.halt is not None
    kind, reason, said_by, at = look.halt
    who, since = f" by {said_by}" if said_by else "", moment(at)
    if kind == Halt.PAUSED:
        says = (
            f"execution {look.id} was paused{who} at {at_clock(at)};"
            f" go on with: {typed('resume', look.id)}"
        )
        return Reason(None, "paused", says, {"by": said_by, "since": since})
    message = decode(reason).get("message") if reason else None
    what = "failing" if kind == Halt.FAILING else "being cancelled"
    says = f"execution {look.id} is {what}{': ' + message if message else ''}; nothing more begins"
    return Reason(None, what.split()[-1], says, {"by": said_by, "since": since})


def _waits(look: _Look, step: _Step, stands: Mapping[int, Stand] | None = None) -> Reason:
    """Return what one step waits for."""
    if step.state == State.WAITING:
        return _for_tokens(look, step, _stands(look, step.item) if stands is None else stands)
    if step.state == State.LEASED and step.owner not in [one.id for one in look.workers]:
        return _for_another_worker(look, step)
    if step.state == State.LEASED:
        since = f" since {at_clock(step.leased_at)}" if step.leased_at is not None else ""
        says = f"runs on worker {step.owner}{since}"
        more = {"worker": step.owner, "since": moment(step.leased_at)}
        return look.reason(step, "nothing", says, **more)
    if step.state == State.IN_DOUBT:
        return _for_resolution(look, step)
    if step.state == State.RETRYING and step.due is not None:
        says = f"failed and is tried again at {at_clock(step.due)}"
        return look.reason(step, "timer", says, until=moment(step.due))
    if step.state == State.PARKED:
        return _for_what_parked(look, step)
    return _for_worker(look, step)


def _for_another_worker(look: _Look, step: _Step) -> Reason:
    """Say that the worker of a step is gone, and who is to take it over."""
    rows = look.desk.ask(SQL, "heard", id=step.owner)
    heard = rows[0][0] if rows else None
    last = f", last heard of at {at_clock(heard)}" if heard is not None else ""
    says = f"was begun by worker {step.owner}, which is gone{last};"
    if look.workers:
        says += " another one takes the step over"
    else:
        says += f" none is up to take the step over; start one with: {typed('worker')}"
    more = {"worker": step.owner, "since": moment(step.leased_at), "heard": moment(heard)}
    return look.reason(step, "worker_gone", says, **more)


def _for_tokens(look: _Look, step: _Step, stands: Mapping[int, Stand]) -> Reason:
    sources = undecided(look.program, stands, step.idx)
    names = [written(look.program, idx, step.item) for idx in sources]
    if not names:
        return look.reason(step, "begin", "has not begun")
    listed = ", ".join(f"'{name}'" for name in names)
    return look.reason(step, "steps", f"waits for {listed}", steps=names)


def _for_resolution(look: _Look, step: _Step) -> Reason:
    said = decode(step.error) if step.error else {}
    message = said.get("message") or "its worker was lost while it wrote"
    name = written(look.program, step.idx, step.item)
    says = (
        f"is in doubt ({message}): look whether it was done, then"
        f" {typed('resolve', look.id, name)} --accept JSON, --retry or --abort"
    )
    return look.reason(step, "in_doubt", says, message=message)


def _for_what_parked(look: _Look, step: _Step) -> Reason:
    if step.is_answered:
        return _for_worker(look, step, "has its answer and ")
    kept = None
    if not look.program.nodes[step.idx].hands_out and step.note is not None:
        kept = decode(step.note)
    note: Mapping[str, Any] = kept if isinstance(kept, dict) else {}
    end = datetime.fromisoformat(note["until"]) if note.get("until") else None
    until, bound = moment(end), f", until {at_clock(end)} at the latest" if end else ""
    if "approve" in note:
        return _for_person(look, step, note["approve"], bound, until)
    if "callback" in note:
        return _for_answer(look, step, note["callback"].get("message"), bound, until)
    if "event" in note:
        told = typed("signal", look.id, note["event"])
        says = f"waits for the event '{note['event']}'{bound}; tell of it with: {told}"
        return look.reason(step, "event", says, event=note["event"], until=until)
    if "child" in note:
        return _for_child(look, step, int(note["child"]))
    if end is not None:
        return look.reason(step, "timer", f"waits until {at_clock(end)}", until=until)
    return _for_items(look, step)


def _for_person(
    look: _Look, step: _Step, asked: Mapping[str, Any], bound: str, until: str | None
) -> Reason:
    who = asked.get("who") or []
    person = " or ".join(who) or "a person"
    told = typed("approve", look.id, written(look.program, step.idx, step.item))
    says = (
        f"waits for {person} to say yes or no{bound} ({asked.get('message')});"
        f" answer with: {told}, or with --reject"
    )
    more = {"who": who, "message": asked.get("message"), "until": until}
    return look.reason(step, "person", says, **more)


def _for_answer(
    look: _Look, step: _Step, message: str | None, bound: str, until: str | None
) -> Reason:
    told = typed("answer", look.id, written(look.program, step.idx, step.item))
    says = f"waits for an answer from outside{bound}{f' ({message})' if message else ''};"
    says += f" give it with: {told} --value JSON"
    more: dict[str, Any] = {"message": message, "until": until}
    if look.tells_tokens and step.token is not None:
        more |= {"token": step.token, "path": f"/api/callbacks/{step.token}"}
        says += f", or POST it to {more['path']}"
    return look.reason(step, "callback", says, **more)


def _for_child(look: _Look, step: _Step, child: int) -> Reason:
    rows = look.desk.ask(SQL, "child", id=child)
    word = word_of(*rows[0]) if rows else "gone"
    says = f"waits for its child, execution {child}, which is {word}: {typed('why', child)}"
    return look.reason(step, "child", says, child=str(child), status=word)


def _for_items(look: _Look, step: _Step) -> Reason:
    rows = look.desk.ask(SQL, "fan", id=look.id, idx=step.idx, item=step.item)
    if not rows:
        return _for_worker(look, step)
    total, handed, live = rows[0]
    if live <= 0:
        return _for_worker(look, step, "has all its items and ")
    says = f"waits for its items: {handed - live} of {total} are over, {live} are at work"
    return look.reason(step, "items", says, total=total, over=handed - live, at_work=live)


def _for_worker(look: _Look, step: _Step, done: str = "") -> Reason:
    """Say why nobody does a step that could be done."""
    since = moment(step.ready_at)
    if look.halt is not None:
        what = {Halt.PAUSED: "is paused", Halt.FAILING: "is failing"}
        how = what.get(Halt(look.halt[0]), "is being cancelled")
        says = f"{done}could begin, but the execution {how}"
        return look.reason(step, "halt", says, since=since)
    lanes = look.desk.ask(SQL, "lanes", ids=[step.lane])
    _, queue, limits, maxes = lanes[0] if lanes else (0, "", [], [])
    pool = queue.rpartition("@")[2] if limits else queue
    serving = [one for one in look.workers if pool in one.pools]
    named = pool_of(pool)
    if not serving:
        form = form_of(pool)
        if form > FIRST_FORM and any(named in pools_of(one.pools) for one in look.workers):
            says = f"{done}waits for a newer worker: none that is up knows plans of form {form}"
            return look.reason(step, "worker", says, pool=named, since=since)
        if named == ASIDE_POOL:
            says = (
                f"{done}waits for the 'run' that recorded or played back this execution, and"
                f" that is gone; end it with: {typed('cancel', look.id, '--force')}"
            )
            return look.reason(step, "worker", says, pool=named, since=since)
        which = f"takes steps of pool '{named}'" if named else "is up"
        option = ("--pool", named) if named else ()
        says = f"{done}waits for a worker: none {which}; start one with: {typed('worker', *option)}"
        says += "" if named else f", or do it here with: {typed('watch', look.id)}"
        return look.reason(step, "worker", says, pool=named, since=since)
    if limits:
        return _for_permit(look, step, limits, maxes)
    if step.state == State.READY and step.crashes >= 2:
        says = f"{done}ended {step.crashes} workers and waits for one that does nothing else"
        return look.reason(step, "worker", says, pool=named, since=since)
    count = len(serving)
    says = f"{done}is ready and waits for its turn; {count} worker{'s' * (count > 1)} may take it"
    return look.reason(step, "turn", says, pool=named, since=since)


def _for_permit(look: _Look, step: _Step, limits: Sequence[str], maxes: Sequence[int]) -> Reason:
    rows = look.desk.ask(SQL, "holders", names=list(limits))
    held: dict[str, list[str]] = {name: [] for name in limits}
    for name, execution_id, idx, _, step_name in rows:
        held[name].append(f"'{step_name or idx}' of execution {execution_id}")
    full = [name for name, most in zip(limits, maxes, strict=True) if len(held[name]) >= most]
    if not full:
        return look.reason(step, "turn", "is ready and waits for its turn", limits=list(limits))
    holders = [one for name in full for one in held[name]]
    listed = ", ".join(holders[:5]) + (", …" if len(holders) > 5 else "")
    says = f"waits for limit {', '.join(map(repr, full))}, held by {listed}"
    return look.reason(step, "permit", says, limits=full, held_by=holders)


__all__ = ["Reason", "Up", "why"]
