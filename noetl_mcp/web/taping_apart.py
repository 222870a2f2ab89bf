"""Do one execution through a cassette for one client of the web, in a process of its own."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.broker.desk import By
from noetl_mcp.broker.show import shown
from noetl_mcp.decks import Deck, NoDeck, Playing, Recording
from noetl_mcp.looking import Looking, Seen
from noetl_mcp.queue.lease import Status
from noetl_mcp.settings import Settings
from noetl_mcp.starting import Order, Started
from noetl_mcp.web.answering import answer_of
from noetl_mcp.web.faults import Fault
from noetl_mcp.web.taping import NAME
from noetl_mcp.worker.cassette import tape_of
from noetl_mcp.worker.placed import loop_factory

_SOONEST, _LATEST = 0.01, 0.25


def done(orders: Mapping[str, Any]) -> Response:
    """Do what is asked and return the answer."""
    given = orders["given"]
    home = Home(Settings.load(os.environ), orders["dsn"], embedded=orders["embedded"])
    file = Path(orders["folder"]) / "cassette.jsonl"
    deck = _deck(file, given)
    try:
        return answer_of(lambda: _done(deck, deck.furnished(home), given))
    finally:
        deck.close()


def _deck(file: Path, given: Mapping[str, Any]) -> Deck:
    by = By(given["who"], "web")
    if given["cassette"] is None:
        return Recording(file, by, long=sys.maxsize)
    return Playing(file, tape_of(given["cassette"].encode(), NAME), by)


def _done(deck: Deck, home: Home, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        deck.begin(home, Started(*given["started"]), Order(given["payload"], given["sets"]))
    except NoDeck as problem:
        raise Fault(422, "no-cassette", str(problem)) from None
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        seen = runner.run(_until_over(deck, given["seconds"]))
    if seen is None:
        number = deck.execution_id
        said = f"it took longer than {given['seconds']} s; execution {number} was cancelled"
        raise Fault(504, "too-slow", said, more={"execution_id": str(number)})
    more = dict(deck.ended(seen))
    if isinstance(deck, Recording):
        more = {"recorded_calls": deck.writer.calls, "cassette": _text(deck)}
    else:
        del more["played_back"]
    with home.connect("show") as connection:
        return {**shown(connection, deck.execution_id), **more}


async def _until_over(deck: Deck, seconds: float) -> Seen | None:
    """Work until the execution is over; None when that took too long, and it was cancelled."""
    looking = Looking(deck.home, deck.execution_id)
    begun, is_late = time.monotonic(), False
    async with deck.crew():
        while True:
            seen = await asyncio.to_thread(looking.look)
            assert seen is not None
            await asyncio.to_thread(deck.looked, seen)
            if seen.standing.is_over:
                is_cut = is_late and seen.standing.status == Status.CANCELLED
                return None if is_cut else seen
            passed = time.monotonic() - begun
            if passed > seconds and not is_late:
                is_late = True
                await asyncio.to_thread(deck.cancel)
            await asyncio.sleep(min(_LATEST, max(_SOONEST, passed / 20)))


def _text(deck: Recording) -> str:
    if deck.writer.trouble is not None:
        said = f"the cassette is not whole: {deck.writer.trouble}"
        number = str(deck.execution_id)
        raise Fault(500, "broken", said, more={"execution_id": number})
    return deck.path.read_text()


__all__ = ["done"]
