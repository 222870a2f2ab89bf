"""Decide about executions over the web: what the command line does, under the same rules."""

from collections.abc import Callable
from typing import Any, Literal

from starlette.responses import Response

from noetl_mcp.broker import answers, dead_letters, operate
from noetl_mcp.broker.rerun import rerun as start_again
from noetl_mcp.broker.resolve import resolve as settle
from noetl_mcp.broker.retry import retry as try_again
from noetl_mcp.catalog.access import RESERVED, ROLES
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import MOST_NAME, Door, Talk, needed, sets_of, whole, word, yes

_HOWS = ("accept", "retry", "abort")


async def cancel(talk: Talk) -> Response:
    """End an execution and all that it started."""
    body = await talk.body("reason", "force")
    reason, force = word(body.get("reason"), "reason"), yes(body.get("force"), "force")
    number, by = talk.number, talk.by
    done = await talk.ask(
        lambda at: operate.cancel(at.desk, number, by=by, reason=reason, force=force)
    )
    return told(
        {
            "executions": [str(one) for one in done.executions],
            "is_over": done.is_over,
            "waits_for": list(done.waits_for),
        },
        202 if not done.is_over else 200,
    )


async def pause(talk: Talk) -> Response:
    """Let nothing further of an execution begin."""
    reason = word((await talk.body("reason")).get("reason"), "reason")
    number, by = talk.number, talk.by
    done = await talk.ask(lambda at: operate.pause(at.desk, number, by=by, reason=reason))
    return told({"executions": [str(one) for one in done]})


async def resume(talk: Talk) -> Response:
    """Let a paused execution go on."""
    await talk.body()
    number, by = talk.number, talk.by
    done = await talk.ask(lambda at: operate.resume(at.desk, number, by=by))
    return told({"executions": [str(one) for one in done]})


async def retry(talk: Talk) -> Response:
    """Begin a further round of an execution."""
    body = await talk.body("from", "confirm_writes", "reason")
    confirmed = body.get("confirm_writes") or []
    if not isinstance(confirmed, list):
        raise Fault(400, "wrong-value", "'confirm_writes' must be a list of steps")
    confirmed = [needed(one, f"confirm_writes[{n}]") for n, one in enumerate(confirmed)]
    number, by = talk.number, talk.by
    step, reason = (
        word(body.get("from"), "from", most=MOST_NAME),
        word(body.get("reason"), "reason"),
    )
    done = await talk.ask(
        lambda at: try_again(
            at.desk, number, by=by, from_step=step, confirm_writes=confirmed, reason=reason
        )
    )
    return told(
        {
            "execution_id": str(done.execution_id),
            "round": done.round,
            "steps": list(done.steps),
            "children": [str(one) for one in done.children],
        }
    )


async def rerun(talk: Talk) -> Response:
    """Start the same once more, as a new execution."""
    body = await talk.body("payload", "set")
    payload, sets = body.get("payload"), sets_of(body.get("set"))
    if payload is not None and not isinstance(payload, dict):
        raise Fault(400, "wrong-value", "'payload' must be a JSON object")
    number, by = talk.number, talk.by
    made = await talk.ask(
        lambda at: start_again(at.desk, number, by=by, payload=payload, sets=sets)
    )
    where = f"/api/executions/{made}"
    return told({"execution_id": str(made), "rerun_of": str(number)}, 201, Location=where)


async def resolve(talk: Talk) -> Response:
    """Settle a step in doubt."""
    body = await talk.body("step", "how", "value", "reason", "force", "lease")
    step, how = needed(body.get("step"), "step"), body.get("how")
    if how not in _HOWS:
        raise Fault(400, "wrong-value", "'how' says what is to become of it", allowed=_HOWS)
    chosen: Literal["accept", "retry", "abort"] = how
    lease = body.get("lease")
    if how == "retry" and lease is None:
        # A click that came twice would settle the doubt of the second time too, and send a third.
        raise Fault(400, "missing", "'lease' is needed: the number of the doubt that was looked at")
    given: dict[str, Any] = {
        "value": body.get("value"),
        "reason": word(body.get("reason"), "reason"),
        "force": yes(body.get("force"), "force"),
        "lease": None if lease is None else whole(lease, "'lease'"),
    }
    return await _done(
        talk, lambda at: settle(at.desk, talk.number, step, chosen, by=talk.by, **given)
    )


async def approve(talk: Talk) -> Response:
    """Say yes or no to a step that asks."""
    body = await talk.body("step", "approved", "comment")
    step, comment = needed(body.get("step"), "step"), word(body.get("comment"), "comment")
    approved = body.get("approved", True)
    if not isinstance(approved, bool):
        raise Fault(400, "wrong-value", "'approved' must be true or false, in JSON")
    # Whoever sits at the machine may answer for all; a token answers for its name and its role, and
    # one that is named like another role does not answer for that.
    caller = talk.caller
    roles = ROLES[: ROLES.index(caller.role) + 1]
    names = {caller.who} - RESERVED - set(ROLES)
    may = None if caller.is_local else {*names, *roles}

    def work(at: Station) -> None:
        answers.approve(
            at.desk, talk.number, step, by=talk.by, approved=approved, comment=comment, may=may
        )

    return await _done(talk, work)


async def answer(talk: Talk) -> Response:
    """Answer a step that waits for a callback."""
    body = await talk.body("step", "value")
    step, value = needed(body.get("step"), "step"), body.get("value")
    return await _done(
        talk, lambda at: answers.answer(at.desk, (talk.number, step), value, by=talk.by)
    )


async def call_back(talk: Talk) -> Response:
    """Answer whatever step waits for a token; nobody else knows it."""
    token, value = str(talk.request.path_params["token"]), await talk.value()
    return await _done(talk, lambda at: answers.answer(at.desk, token, value, by=talk.by))


async def event(talk: Talk) -> Response:
    """Tell an execution that something happened."""
    body = await talk.body("name", "value")
    name, value = needed(body.get("name"), "name"), body.get("value")
    number, by = talk.number, talk.by
    steps = await talk.ask(lambda at: answers.send_event(at.desk, number, name, value, by=by))
    return told({"steps": steps})


async def letters(talk: Talk) -> Response:
    """List steps that ended every worker that ran them."""
    query = talk.query("execution", "limit")
    number = whole(query["execution"], "'execution'") if "execution" in query else None
    most = whole(query.get("limit", 100), "'limit'", most=10_000)
    return told(await talk.ask(lambda at: dead_letters.dead_letters(at.desk, number, most=most)))


async def requeue(talk: Talk) -> Response:
    """Run dead steps again."""
    reason = word((await talk.body("reason")).get("reason"), "reason")
    number, by = talk.number, talk.by
    done = await talk.ask(lambda at: dead_letters.requeue(at.desk, number, by=by, reason=reason))
    return told({"execution_id": str(done.execution_id), "round": done.round})


async def drop(talk: Talk) -> Response:
    """Let dead steps go."""
    reason = word((await talk.body("reason")).get("reason"), "reason")
    number, by = talk.number, talk.by
    steps = await talk.ask(lambda at: dead_letters.drop(at.desk, number, by=by, reason=reason))
    return told({"steps": steps})


async def _done(talk: Talk, doing: Callable[[Station], object]) -> Response:
    await talk.ask(doing)
    return told({"done": True})


_ONE = "/api/executions/{number}"
DOORS = (
    Door("POST", f"{_ONE}/cancel", "operator", cancel, "End it and all that it started."),
    Door("POST", f"{_ONE}/pause", "operator", pause, "Let nothing further begin."),
    Door("POST", f"{_ONE}/resume", "operator", resume, "Let it go on."),
    Door("POST", f"{_ONE}/retry", "operator", retry, "Begin a further round of it."),
    Door("POST", f"{_ONE}/rerun", "operator", rerun, "Start the same once more."),
    Door("POST", f"{_ONE}/resolve", "operator", resolve, "Settle a step in doubt."),
    Door("POST", f"{_ONE}/approve", "operator", approve, "Say yes or no to a step that asks."),
    Door("POST", f"{_ONE}/answer", "operator", answer, "Answer a step that waits for a callback."),
    Door("POST", f"{_ONE}/events", "operator", event, "Tell it that something happened."),
    Door("POST", "/api/callbacks/{token}", None, call_back, "Answer the step behind a token."),
    Door("GET", "/api/dead-letters", "viewer", letters, "List dead steps."),
    Door("POST", "/api/dead-letters/{number}/requeue", "operator", requeue, "Run them again."),
    Door("POST", "/api/dead-letters/{number}/drop", "operator", drop, "Let them go."),
)

__all__ = ["DOORS"]
