"""Start executions over the web, one or many, and look at them."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from noetl_mcp.broker import listing, show, why
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.end_calls import wrong_address
from noetl_mcp.broker.givable import wrong_key
from noetl_mcp.catalog.access import may
from noetl_mcp.catalog.catalog import Kept
from noetl_mcp.playbook.load import load
from noetl_mcp.starting import (
    LEAST_PRIORITY,
    MOST_PRIORITY,
    Order,
    Started,
    Starting,
)
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, of_entry, told
from noetl_mcp.web.stream import events
from noetl_mcp.web.talk import MOST_BATCH, Door, Talk, Which, sets_of, which_of, whole, word, yes

MOST_AT_ONCE = 100_000
_ORDER = ("payload", "key", "priority", "labels", "on_end", "set")
_WHICH = ("path", "content", "version")


async def start(talk: Talk) -> Response:
    """Start one execution."""
    body = await talk.body(*_WHICH, *_ORDER)
    order = order_of(body)
    pools: set[str] = set()

    def work(station: Station) -> Started:
        starting = station.starting
        with _audited(talk, station.desk, "start", body), station.connection.transaction():
            found = starting.start(playbook_of(starting, which_of(body)), [order])[0]
        pools.update(starting.pools)
        return found

    started = await talk.ask(work)
    talk.desks.awaken(pools)
    where = f"/api/executions/{started.id}"
    return told(
        {
            "execution_id": str(started.id),
            "playbook": started.path,
            "version": started.version,
            "is_new": started.is_new,
            "is_same": started.is_same,
            "status": started.status,
        },
        201 if started.is_new else 200,
        Location=where,
    )


async def start_many(talk: Talk) -> Response:
    """Start many executions of one playbook, all or none."""
    body = await talk.body(*_WHICH, "executions", most=MOST_BATCH)
    asked = body.get("executions")
    if not isinstance(asked, list) or not asked:
        raise Fault(400, "missing", "'executions' must be a list that is not empty")
    if len(asked) > MOST_AT_ONCE:
        raise Fault(413, "too-many", f"at most {MOST_AT_ONCE:,} executions are started at once")
    pools: set[str] = set()

    def work(station: Station) -> list[Started]:
        orders = [_entry(n, one) for n, one in enumerate(asked)]
        starting = station.starting
        with _audited(talk, station.desk, "start", body), station.connection.transaction():
            found = starting.start(playbook_of(starting, which_of(body)), orders, apart=True)
        pools.update(starting.pools)
        return found

    started = await talk.ask(work)
    talk.desks.awaken(pools)
    return told(
        {
            "playbook": started[0].path,
            "version": started[0].version,
            "execution_ids": [str(one.id) for one in started],
            "new": sum(one.is_new for one in started),
        },
        201,
    )


async def list_all(talk: Talk) -> Response:
    """List executions, the newest first."""
    query = talk.query("status", "path", "label", "parent", "roots", "attention", "before", "limit")
    status = query.get("status")
    if status is not None and status not in listing.WORDS:
        raise Fault(400, "wrong-value", f"there is no status '{status}'", allowed=listing.WORDS)
    labels = dict(_label(one) for one in talk.request.query_params.getlist("label"))
    wanted = listing.Filter(
        status,
        query.get("path"),
        labels,
        whole(query["parent"], "'parent'") if "parent" in query else None,
        yes(query.get("roots"), "roots"),
        yes(query.get("attention"), "attention"),
    )
    before = whole(query["before"], "'before'") if "before" in query else None
    most = whole(query.get("limit", listing.PAGE), "'limit'", most=listing.MOST)
    found = await talk.ask(lambda at: listing.executions(at.desk, wanted, before=before, most=most))
    return told(found)


async def look(talk: Talk) -> Response:
    """Show one execution with its steps."""
    items = yes(talk.query("items").get("items"), "items")
    number = talk.number
    return told(await talk.ask(lambda at: show.show(at.desk, number, items=items)))


async def look_at_step(talk: Talk) -> Response:
    """Show everything that is known of one step."""
    items = yes(talk.query("items").get("items"), "items")
    number, step = talk.number, str(talk.request.path_params["step"])
    return told(await talk.ask(lambda at: show.show_step(at.desk, number, step, items=items)))


async def reasons(talk: Talk) -> Response:
    """Say what an execution, or one step of it, waits for; a viewer may answer nothing of it."""
    number, step = talk.number, talk.query("step").get("step")
    tokens = may(talk.caller.role, "operator")
    found = await talk.ask(lambda at: why.why(at.desk, number, step, tokens=tokens))
    return told([one.as_json() for one in found])


def order_of(body: Mapping[str, Any]) -> Order:
    """Return what is to be started with what; refuse values of the wrong kind."""
    for name in body:
        if name not in (*_ORDER, *_WHICH):
            raise Fault(400, "unknown-field", f"there is no field '{name[:100]}'", allowed=_ORDER)
    labels = _map(body.get("labels"), "labels")
    if not all(isinstance(value, str) for value in labels.values()):
        raise Fault(400, "wrong-value", "'labels' must be a map of texts")
    key = word(body.get("key"), "key")
    wrong = wrong_key(key) if key is not None else None
    if wrong is not None:
        raise Fault(400, "wrong-value", f"'key' {wrong}")
    on_end = word(body.get("on_end"), "on_end")
    wrong = wrong_address(on_end) if on_end is not None else None
    if wrong is not None:
        raise Fault(400, "wrong-value", f"'on_end': {wrong}")
    return Order(
        _map(body.get("payload"), "payload"),
        sets_of(body.get("set")),
        key=key,
        priority=whole(
            body.get("priority", 0), "'priority'", least=LEAST_PRIORITY, most=MOST_PRIORITY
        ),
        labels=labels,
        on_end=on_end,
    )


def _entry(number: int, value: Any) -> Order:
    """Return one of many orders; what is wrong with it says which one it is."""
    try:
        if not isinstance(value, dict):
            raise Fault(400, "wrong-value", "it must be a JSON object")
        return order_of(value)
    except Fault as fault:
        raise of_entry(fault, number) from None


def playbook_of(starting: Starting, which: Which) -> Kept:
    """Return the playbook that is meant; a text is submitted."""
    if which.content is not None:
        return starting.submit(load(which.content, which.name))
    return starting.find(which.path or "", which.version)


def _audited(talk: Talk, desk: Desk, action: str, body: Mapping[str, Any]) -> Any:
    target = str(body.get("path") or "<content>")[:500]
    return desk.audited(talk.by, action, target, sorted(body))


def _map(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Fault(400, "wrong-value", f"'{what}' must be a JSON object")
    return value


def _label(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise Fault(400, "wrong-value", "'label' is written name=value")
    return name, value


_ONE = "/api/executions/{number}"
DOORS = (
    Door("GET", "/api/executions", "viewer", list_all, "List executions, the newest first."),
    Door("POST", "/api/executions", "operator", start, "Start an execution."),
    Door("POST", "/api/executions/batch", "operator", start_many, "Start many, all or none."),
    Door("GET", _ONE, "viewer", look, "Show an execution with its steps."),
    Door("GET", f"{_ONE}/steps/{{step}}", "viewer", look_at_step, "Show one step."),
    Door("GET", f"{_ONE}/why", "viewer", reasons, "Say what it waits for."),
    Door("GET", f"{_ONE}/events", "viewer", events, "Its events: a list, or as they come."),
)

__all__ = ["DOORS", "MOST_AT_ONCE", "order_of", "playbook_of"]
