"""Say what a waiting step waits for: a person's yes or no, an answer from outside, an event.

An answer counts once; a second one is refused. One that comes early is kept, but for approvals:
nobody says yes to what was not asked yet.
"""

import hmac
from collections.abc import Collection, Mapping
from typing import Any

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.places import place, written
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.records import Key
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.show import demand_item
from noetl_mcp.broker.tokens import token as token_of
from noetl_mcp.compiler.fitting import MOST_BYTES, Fitting, unfit
from noetl_mcp.compiler.plan import TEMPLATE_MARK
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import NotJson, decode, encode
from noetl_mcp.queue.lease import Halt, State, Status

SQL = statements(__file__, "answers.sql")
_OPEN = (State.READY, State.LEASED, State.PARKED)


def approve(
    desk: Desk,
    execution_id: int,
    step: str,
    *,
    by: By,
    approved: bool = True,
    comment: str | None = None,
    may: Collection[str] | None = None,
) -> None:
    """Answer a step that asks a person; `may` are the names and roles of who answers.

    Without `may` whoever has come so far may answer.
    """
    node, item = _place(desk, execution_id, step, "approve")
    key = (execution_id, node.idx, item)
    text = encode({"approved": approved, "comment": comment})
    action = "approve" if approved else "reject"
    with desk.audited(by, action, f"{execution_id}/{step}", (), comment):
        desk.once(lambda: _approve(desk, key, step, text, by, may))


def answer(
    desk: Desk, where: str | tuple[int, str], value: Any, *, by: By, token: str | None = None
) -> Key:
    """Answer a step of type `callback`, by its token or by execution and step.

    By execution and step the answer may come before the step waits; a `token` that is given too
    must be that step's own.
    """
    if isinstance(where, str):
        key, step = _by_token(desk, where)
    else:
        step = where[1]
        node, item = _place(desk, where[0], step, "callback")
        demand_item(desk, where[0], node, item, step)
        key = (where[0], node.idx, item)
        _demand_token(desk, key, token)
    with desk.audited(by, "answer", f"{key[0]}/{step}"):
        desk.once(lambda: _answer(desk, key, step, value, by))
    return key


def send_event(desk: Desk, execution_id: int, name: str, value: Any = None, *, by: By) -> list[str]:
    """Tell the steps that wait for an event; return them. One that comes early is kept."""
    with desk.audited(by, "event", f"{execution_id}/{name}"):
        return desk.once(lambda: _send(desk, execution_id, name, value, by))


def _place(desk: Desk, execution_id: int, step: str, kind: str) -> tuple[Node, int]:
    node, item = place(desk.program(desk.context(execution_id).plan), step)
    if node.type != kind:
        verb = "asks nobody" if kind == "approve" else "waits for no answer from outside"
        raise NotAllowed(f"'{step}' is of type '{node.type}' and {verb}")
    return node, item


def _by_token(desk: Desk, token: str) -> tuple[Key, str]:
    """Return the callback behind a token; whatever else has one is answered in other ways."""
    for execution_id, idx, item in desk.ask(SQL, "by_token", token=token):
        program = desk.program(desk.context(execution_id).plan)
        if program.nodes[idx].type == "callback":
            return (execution_id, idx, item), written(program, idx, item)
    raise Unknown("nothing waits for this token")


def _demand_token(desk: Desk, key: Key, token: str | None) -> None:
    if token is None:
        return
    own = token_of(desk.seal, *key, desk.context(key[0]).round)
    if not hmac.compare_digest(own.encode(), token.encode()):
        raise Unknown("nothing waits for this token")


def _approve(
    desk: Desk, key: Key, step: str, text: str, by: By, may: Collection[str] | None
) -> None:
    _demand_open(desk, key[0])
    found = _standing(desk, key, step)
    if found is None:
        raise NotAllowed(f"'{step}' does not ask yet; 'why {key[0]} {step}' says what it waits for")
    note = found[1]
    who = note.get("approve", {}).get("who") or []
    if may is not None and who and not set(who) & set(may):
        raise NotAllowed(f"'{step}' may be answered by {', '.join(who)}, not by {by.who}")
    _keep(desk, key, step, text, by)


def _answer(desk: Desk, key: Key, step: str, value: Any, by: By) -> None:
    _demand_open(desk, key[0])
    found = _standing(desk, key, step)
    if found is not None and "callback" in found[1]:
        schema = found[1]["callback"].get("schema")
    else:
        node = desk.program(desk.context(key[0]).plan).nodes[key[1]]
        schema = node.more.get("settings", {}).get("answer_schema")
    _demand_fit(value, schema)
    _keep(desk, key, step, _text(value), by)


def _demand_open(desk: Desk, execution_id: int) -> None:
    """Refuse answers to an execution that is over or is being ended."""
    standing = desk.standing(execution_id)
    if standing.status != Status.RUNNING:
        raise NotAllowed(f"execution {execution_id} is {standing.word}; nothing waits in it")
    if standing.halt is not None and standing.halt > Halt.PAUSED:
        raise NotAllowed(f"execution {execution_id} is being ended; nothing waits in it")


def _standing(desk: Desk, key: Key, step: str) -> tuple[int, Mapping[str, Any]] | None:
    """Return state and note of a step that may be answered; None when it has not begun."""
    rows = desk.ask(SQL, "step", id=key[0], idx=key[1], item=key[2])
    if not rows or rows[0][0] == State.WAITING:
        return None
    state, note, is_answered, said_by, at = rows[0]
    if is_answered:
        raise _twice(step, said_by, at)
    if state not in _OPEN:
        word = State(state).name.lower().replace("_", " ")
        raise NotAllowed(f"'{step}' is {word} and waits for nobody any more")
    kept = decode(note) if note else {}
    return state, kept if isinstance(kept, dict) else {}


def _twice(step: str, said_by: str | None, at: Any) -> NotAllowed:
    who = f" by {said_by}" if said_by else ""
    when = f" at {at:%Y-%m-%d %H:%M:%S} UTC" if at is not None else ""
    return NotAllowed(f"'{step}' was answered already{who}{when}")


def _keep(desk: Desk, key: Key, step: str, text: str, by: By) -> None:
    """Keep an answer once, before or after the step waits for it."""
    values = {"id": key[0], "idx": key[1], "item": key[2]}
    if desk.ask(SQL, "answer", **values, text=text, by=by.who)[0][0] is None:
        raise _twice(step, None, None)


def _send(desk: Desk, execution_id: int, name: str, value: Any, by: By) -> list[str]:
    context = desk.context(execution_id)
    _demand_open(desk, execution_id)
    program = desk.program(context.plan)
    text = _text(value)
    listening = desk.ask(SQL, "listening", id=execution_id)
    found = [(idx, item) for idx, item, token, _ in listening if token == f"event:{name}"]
    if not found:
        found = [(node.idx, 0) for node in _to_come(desk, execution_id, name)]
    told = []
    for idx, item in found:
        step = written(program, idx, item)
        _keep(desk, (execution_id, idx, item), step, text, by)
        told.append(step)
    if not told:
        others = sorted({token.removeprefix("event:") for _, _, token, _ in listening})
        more = f"; it waits for {', '.join(map(repr, others))}" if others else ""
        raise NotAllowed(f"nothing in execution {execution_id} waits for event '{name}'{more}")
    return told


def _to_come(desk: Desk, execution_id: int, name: str) -> list[Node]:
    """Return the steps that will wait for an event and have not come so far."""
    program = desk.program(desk.context(execution_id).plan)
    nodes = [node for node in program.nodes if not node.depth and _event_of(node) == name]
    states = dict(desk.ask(SQL, "began", id=execution_id, idxs=[node.idx for node in nodes]))
    early = (State.WAITING, State.READY, State.LEASED)
    return [node for node in nodes if states.get(node.idx, State.WAITING) in early]


def _event_of(node: Node) -> str | None:
    wait = node.more.get("settings", {}).get("wait") if node.type == "wait" else None
    event = wait.get("event") if isinstance(wait, dict) else None
    return event if isinstance(event, str) else None


def _text(value: Any) -> str:
    wrong = next(unfit({"answer": value}), None)
    if wrong is not None:
        raise NotAllowed(f"the answer cannot be kept: {wrong.says}")
    try:
        text = encode(value)
    except NotJson as problem:
        raise NotAllowed(f"the answer cannot be kept: {problem}") from None
    if len(text) > MOST_BYTES:
        raise NotAllowed(f"the answer is longer than {MOST_BYTES:,} bytes")
    return text


def _demand_fit(value: Any, schema: Any) -> None:
    """Refuse an answer that does not fit the step's schema; says all that is wrong."""
    if not isinstance(schema, dict) or TEMPLATE_MARK in schema:
        return
    fitting = Fitting()
    fitting.value(value, schema, ("answer",))
    _demand_names(value, schema, ("answer",), fitting)
    if fitting.problems:
        told = "; ".join(problem.text for problem in fitting.problems)
        raise NotAllowed(f"the answer does not fit: {told}")


def _demand_names(
    value: Any, schema: Mapping[str, Any], path: tuple[str | int, ...], fitting: Fitting
) -> None:
    """Say which names are missing that a schema lists as `required`."""
    if isinstance(value, list):
        inner = schema.get("items")
        for number, one in enumerate(value if isinstance(inner, dict) else ()):
            _demand_names(one, inner or {}, (*path, number), fitting)
    if not isinstance(value, dict):
        return
    wanted = schema.get("required")
    for name in wanted if isinstance(wanted, list) else ():
        if name not in value:
            fitting.say("missing", (*path, name), "it is needed")
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if name in value and isinstance(inner, dict):
            _demand_names(value[name], inner, (*path, name), fitting)


__all__ = ["answer", "approve", "send_event"]
