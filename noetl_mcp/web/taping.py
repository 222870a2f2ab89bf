"""Record executions over the web, and play recordings back. No cassette is kept here.

Each is worked on by a process of its own and by nobody else, so it ends with whoever asked for it.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.responses import Response

from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.decks import Deck, NoDeck, Playing, Recording
from noetl_mcp.starting import Order, Started, Starting
from noetl_mcp.web.apart import Errand, Kind
from noetl_mcp.web.desks import Station
from noetl_mcp.web.executions import order_of, playbook_of
from noetl_mcp.web.faults import Fault
from noetl_mcp.web.talk import MOST_BATCH, Door, Talk, Which, needed, seconds_of, which_of
from noetl_mcp.worker.cassette import NoCassette, Tape, tape_of

_DOES = "noetl_mcp.web.taping_apart"
RECORDED = Kind("record", _DOES, 4)
PLAYED = Kind("play-back", _DOES, 4)
NAME = "the cassette"
GRACE = 10
"""So many seconds an execution whose time is over may take to end."""
_STARTS = ("payload", "set", "key", "labels", "on_end")
_FIELDS = ("content", "path", "version", "payload", "set", "key", "labels", "seconds")


async def record(talk: Talk) -> Response:
    """Start an execution, do it, and answer with how it ended and its cassette."""
    body = await talk.body(*_FIELDS, "on_end")
    return await _held(talk, RECORDED, body, Recording(Path(NAME), talk.by))


async def play_back(talk: Talk) -> Response:
    """Do a recorded execution again, and answer with how it ended and what was not the same."""
    body = await talk.body(*_FIELDS, "cassette", most=MOST_BATCH)
    text = needed(body.get("cassette"), "cassette", most=MOST_BATCH)
    tape = await talk.desks.think(lambda: _tape(text))
    return await _held(talk, PLAYED, body, Playing(Path(NAME), tape, talk.by))


def _tape(text: str) -> Tape:
    try:
        return tape_of(text.encode(), NAME)
    except NoCassette as problem:
        raise Fault(422, "no-cassette", f"{problem}; nothing was started") from None


async def _held(talk: Talk, kind: Kind, body: Mapping[str, Any], deck: Deck) -> Response:
    """Start an execution and have it done, and nothing of it left when that comes to nothing."""
    which, seconds = which_of(body), seconds_of(body)
    order = deck.ordered(order_of({name: body[name] for name in body if name in _STARTS}))
    async with talk.desks.apart.place(kind, talk.gone) as done:
        started = await talk.ask(lambda at: _started(talk, at, (kind, which, deck), order))
        given = {
            "started": list(started),
            "payload": order.payload,
            "sets": list(order.sets),
            "cassette": body.get("cassette"),
            "who": talk.by.who,
            "seconds": seconds,
        }
        answer = None
        try:
            answer = await done(Errand(kind, given, seconds + GRACE))
            return answer
        finally:
            if answer is None or answer.status_code != 200:
                await talk.ask(lambda at: _end(talk, at, started.id))


def _started(talk: Talk, at: Station, held: tuple[Kind, Which, Deck], order: Order) -> Started:
    kind, which, deck = held
    home = deck.furnished(talk.desks.home)
    starting = Starting(at.connection, home.world, guards=home.guards)
    keys = sorted((*order.payload, *order.labels))
    with (
        at.desk.audited(talk.by, kind.name, which.name[:500], keys),
        at.connection.transaction(),
    ):
        started = starting.start(playbook_of(starting, which), [order])[0]
    try:
        deck.demand_new(started)
    except NoDeck as problem:
        raise Fault(409, "not-allowed", str(problem)) from None
    return started


def _end(talk: Talk, at: Station, number: int) -> None:
    """End what nobody can go on with."""
    with suppress(NotAllowed):  # it is over
        cancel(at.desk, number, by=talk.by, reason="nobody works on it any more", force=True)


DOORS = (
    Door("POST", "/api/executions/record", "operator", record, "Do one, and record its calls."),
    Door("POST", "/api/executions/play-back", "operator", play_back, "Play a recording back."),
)

__all__ = ["DOORS", "GRACE", "NAME", "PLAYED", "RECORDED"]
