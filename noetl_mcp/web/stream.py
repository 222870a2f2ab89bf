"""The events of an execution: a list, or one after another as they come. Writes nothing."""

import asyncio
import time
from collections.abc import AsyncIterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from noetl_mcp.broker.progress import Progress, names_in_log
from noetl_mcp.broker.refusals import Unknown
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.events.event import Event
from noetl_mcp.events.log import MOST_AT_ONCE, Following, Log
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import Talk, whole

PAGE = 1_000
_PAUSE = 0.25
_SIGN_OF_LIFE = 15.0
_TRUST = 2.0
"""After so many seconds a token is looked at again."""
STREAM = "text/event-stream"


async def events(talk: Talk) -> Response:
    """Return events; as a stream when the client takes one."""
    query = talk.query("after", "limit", "kind", "step")
    number, step = talk.number, query.get("step")
    kinds = talk.request.query_params.getlist("kind")
    if await talk.ask(lambda at: Log(at.connection).status(number)) is None:
        raise Unknown(f"there is no execution {number}")
    if kinds:
        known = await talk.ask(lambda at: Log(at.connection).kinds())
        for kind in kinds:
            if kind not in known:
                raise Fault(400, "wrong-value", f"there is no kind '{kind[:100]}'", allowed=known)
    steps = () if step is None else await talk.ask(lambda at: _names(at, number, step))
    headers = talk.request.headers
    after = query.get("after", headers.get("last-event-id", "0"))
    start = whole(after, "'after'", least=0)
    if STREAM in headers.get("accept", ""):
        following = _Kept(number, steps, kinds, start)
        return StreamingResponse(
            _stream(talk, following),
            media_type=STREAM,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
    most = whole(query.get("limit", PAGE), "'limit'", most=MOST_AT_ONCE)

    def read(at: Station) -> list[dict[str, Any]]:
        log = Log(at.connection)
        listed = (
            log.events(number, step=one, kinds=kinds, after=start) for one in steps or (None,)
        )
        found = merge(*listed, key=attrgetter("id"))
        return [event.as_json() for event in islice(found, most)]

    return told(await talk.ask(read))


class _Kept:
    """A following that outlives the desk it was last asked at."""

    def __init__(self, number: int, steps: tuple[str, ...], kinds: list[str], after: int) -> None:
        self._number = number
        self._steps = steps
        self._kinds = kinds
        self._after = after
        self._following: Following | None = None

    def more(self, at: Station) -> list[Event]:
        """Return what is new; what the client has seen before it came is left out."""
        log = Log(at.connection)
        if self._following is None:
            step = self._steps[0] if len(self._steps) == 1 else None
            self._following = Following(log, self._number, step=step, kinds=self._kinds)
        self._following.log = log
        return [
            event
            for event in self._following.more()
            if event.id > self._after and self._is_wanted(event)
        ]

    def _is_wanted(self, event: Event) -> bool:
        steps = self._steps
        return len(steps) < 2 or event.step in steps or event.where in steps

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self._following is not None and self._following.is_over


def _names(at: Station, number: int, step: str) -> tuple[str, ...]:
    return names_in_log(Progress(at.connection, number), step)


async def _stream(talk: Talk, following: _Kept) -> AsyncIterator[bytes]:
    """Yield events until the execution is over, with a sign of life in between."""
    silent, asked = 0.0, time.monotonic()
    while True:
        try:
            if time.monotonic() - asked >= _TRUST:
                asked = time.monotonic()
                if not await talk.holds():
                    yield b"event: revoked\ndata: {}\n\n"
                    return
            found = await talk.desks.ask(following.more, reads=True)
        except (Error, NotReachable):
            yield b"event: away\ndata: {}\n\n"
            return  # the client comes again with the number of the last event
        for event in found:
            data = orjson.dumps(event.as_json())
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), data)
        if following.is_over:
            yield b"event: end\ndata: {}\n\n"
            return
        silent = 0.0 if found else silent + _PAUSE
        if silent >= _SIGN_OF_LIFE:
            silent = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(_PAUSE)


__all__ = ["PAGE", "STREAM", "events"]
