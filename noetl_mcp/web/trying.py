"""Try a playbook and ask the log over the web, each in a process of its own. Keeps no execution."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from noetl_mcp.diagnostics import closest
from noetl_mcp.events.questions import questions
from noetl_mcp.events.since import since
from noetl_mcp.web.apart import Errand, Kind
from noetl_mcp.web.executions import order_of
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import Door, Talk, needed, seconds_of, which_of, whole, word

_DOES = "noetl_mcp.web.trying_apart"
TRIED = Kind("dry-run", _DOES, 4)
ASKED = Kind("ask", _DOES, 2)
"""The copy of a long log takes some of the disk, and its answer some of the memory."""
MOST_ROWS = 100_000
ROWS = 1_000
MOST_QUESTION = 2**20


async def dry_run(talk: Talk) -> Response:
    """Say what a playbook would do; do what only reads, and send no write."""
    body = await talk.body("path", "content", "version", "payload", "set", "seconds")
    order = order_of({name: body[name] for name in ("payload", "set") if name in body})
    which = which_of(body)
    given = {**which._asdict(), "payload": order.payload, "set": list(order.sets)}
    errand = Errand(TRIED, given, seconds_of(body))
    async with _audited(talk, "dry_run", which.name[:500], sorted(body)):
        return await talk.desks.apart.done(errand, talk.gone)


async def ask(talk: Talk) -> Response:
    """Answer a question about the log, by its name or in SQL."""
    body = await talk.body("question", "sql", "since", "limit", "seconds")
    seconds = seconds_of(body)
    given = {
        **_question(body),
        "since": _since(body.get("since")),
        "limit": whole(body.get("limit", ROWS), "'limit'", most=MOST_ROWS),
        "seconds": seconds,
    }
    return await talk.desks.apart.done(Errand(ASKED, given, seconds), talk.gone)


async def named(talk: Talk) -> Response:
    """List the questions that have a name."""
    talk.query()
    listed = questions().values()
    return told([{"name": one.name, "says": one.says, "sql": one.sql} for one in listed])


def _question(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the SQL that is asked, and whether it is ours."""
    sql, name = word(body.get("sql"), "sql", most=MOST_QUESTION), body.get("question")
    if (sql is None) == (name is None):
        raise Fault(400, "missing", "ask either a 'question' by its name or 'sql' of your own")
    if sql is not None:
        return {"sql": sql, "is_named": False}
    found = questions().get(needed(name, "question"))
    if found is None:
        near = closest(str(name), questions())
        more = f"; did you mean '{near}'?" if near else ""
        said = f"there is no question '{str(name)[:100]}'{more}"
        raise Fault(404, "not-found", said, allowed=list(questions()))
    return {"sql": found.sql, "is_named": True}


def _since(given: Any) -> str | None:
    text = word(given, "since")
    if text is None:
        return None
    try:
        return since(text, datetime.now(UTC)).isoformat()
    except ValueError as problem:
        raise Fault(400, "wrong-value", f"'since': {problem}") from None


@asynccontextmanager
async def _audited(talk: Talk, action: str, target: str, keys: list[str]) -> AsyncIterator[None]:
    """Write down who asks for what before it is done, and what came of it; holds no desk."""
    values = {"who": talk.by.who, "whence": talk.by.whence, "action": action, "target": target}
    number = await talk.ask(lambda at: at.desk.run("audit", **values, keys=keys, reason=None)[0][0])
    outcome = "done"
    try:
        yield
    except Fault as fault:
        outcome = f"refused: {fault.message}"
        raise
    except ClientDisconnect:
        outcome = "the client left"
        raise
    finally:
        await talk.ask(lambda at: at.desk.run("audit_outcome", id=number, outcome=outcome))


DOORS = (
    Door("POST", "/api/executions/dry-run", "operator", dry_run, "Say what a playbook would do."),
    Door("GET", "/api/questions", "viewer", named, "List the questions that have a name."),
    Door("POST", "/api/ask", "operator", ask, "Answer a question about the log."),
)

__all__ = ["ASKED", "DOORS", "TRIED"]
