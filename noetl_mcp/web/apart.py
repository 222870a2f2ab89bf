"""Have something done in a process of its own, which ends with whoever asked for it.

What may take long, or much memory, must be able to end without the server. So it is bounded in
number, in time and in the length of its answer, and it is gone when the client is, or the server.
A process that did something small may be kept for a moment, for whoever asks next.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.web.clerk import Clerk, Gone
from noetl_mcp.web.faults import Fault
from noetl_mcp.web.room import Full, Room, Turn

PARTING = 5.0
PATIENCE = 30.0
"""So many seconds one waits for his turn, where waiting is allowed."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is done in the same way, and how much of it at once."""

    name: str
    by: str
    """The module whose `done` does it."""
    most: int
    waiting: int = 0
    """So many more may wait for their turn."""
    kept: float = 0.0
    """So many seconds a process waits for the next one; only where doing it twice does no harm."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done, and how long it may take."""

    kind: Kind
    given: Mapping[str, Any]
    seconds: float


Leaves = Callable[[], Awaitable[None]]
Does = Callable[[Errand], Awaitable[Response]]


class Apart:
    """The processes that are at work for clients of one server."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._rooms: dict[str, Room] = {}
        self._requests: set[asyncio.Task[Any]] = set()
        self._idle: defaultdict[str, list[tuple[Clerk, asyncio.TimerHandle]]] = defaultdict(list)
        self._parting: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def done(self, errand: Errand, gone: Leaves) -> Response:
        """Return the answer; raise ClientDisconnect when `gone` returns before there is one."""
        async with self.place(errand.kind, gone) as done:
            return await done(errand)

    @asynccontextmanager
    async def place(self, kind: Kind, gone: Leaves) -> AsyncIterator[Does]:
        """Yield what has errands done, as soon as there is a place."""
        room = self._rooms.setdefault(kind.name, Room(kind.most, kind.waiting))
        try:
            turn = room.enter()
        except Full:
            raise _busy(kind) from None
        request = asyncio.current_task()
        assert request is not None
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        leaving = asyncio.ensure_future(gone())
        try:
            await self._let_in(turn, kind, leaving)
            yield lambda errand: self._carried(errand, leaving)
        except asyncio.CancelledError:
            # Only the server's own end cancels a request; its client is still there to be told.
            raise Fault(503, "leaving", "the server is being stopped; try again soon") from None
        finally:
            leaving.cancel()
            room.leave(turn)

    async def close(self) -> None:
        """Wait until the requests that the server cancelled have been answered; end the rest."""
        self._is_closed = True
        if self._requests:
            await asyncio.wait(self._requests, timeout=PARTING)
        for kept in self._idle.values():
            for clerk, timer in kept:
                timer.cancel()
                self._part_with(clerk)
        self._idle.clear()
        if self._parting:
            await asyncio.wait(self._parting, timeout=PARTING)

    async def _let_in(self, turn: Turn, kind: Kind, leaving: asyncio.Future[None]) -> None:
        if not turn.done():
            await _either(turn, leaving, PATIENCE)
        if leaving.done():
            raise ClientDisconnect
        if not turn.done():
            raise _busy(kind)

    async def _carried(self, errand: Errand, leaving: asyncio.Future[None]) -> Response:
        clerk = self._waiting_clerk(errand.kind)
        if clerk is not None:
            try:
                return await self._done_by(clerk, errand, leaving)
            except Gone:
                pass  # it was ended while it waited
        try:
            return await self._done_by(await Clerk.hired(self._home), errand, leaving)
        except Gone:
            said = "it ended without an answer; the server's log may say more"
            raise Fault(500, "broken", said) from None

    async def _done_by(
        self, clerk: Clerk, errand: Errand, leaving: asyncio.Future[None]
    ) -> Response:
        kind, stays = errand.kind, False
        given = {"by": kind.by, "what": kind.name, "given": errand.given}
        answering = asyncio.create_task(clerk.done(given))
        try:
            await _either(answering, leaving, errand.seconds)
            if answering.done():
                answer, stays = answering.result()
                return answer
            if leaving.done():
                raise ClientDisconnect
            raise Fault(504, "too-slow", f"it took longer than {errand.seconds:g} s")
        finally:
            answering.cancel()
            if stays and kind.kept and not self._is_closed:
                self._keep(kind, clerk)
            else:
                await clerk.dismissed()

    def _waiting_clerk(self, kind: Kind) -> Clerk | None:
        """Return a process that waits; the one that did the last errand."""
        if not self._idle[kind.name]:
            return None
        clerk, timer = self._idle[kind.name].pop()
        timer.cancel()
        return clerk

    def _keep(self, kind: Kind, clerk: Clerk) -> None:
        kept = self._idle[kind.name]

        def let_go() -> None:
            kept.remove(one)
            self._part_with(clerk)

        one = (clerk, asyncio.get_running_loop().call_later(kind.kept, let_go))
        kept.append(one)

    def _part_with(self, clerk: Clerk) -> None:
        parting = asyncio.ensure_future(clerk.dismissed())
        self._parting.add(parting)
        parting.add_done_callback(self._parting.discard)


async def _either(one: asyncio.Future[Any], other: asyncio.Future[Any], seconds: float) -> None:
    """Wait until one of two has come, but no longer than so many seconds."""
    await asyncio.wait({one, other}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def _busy(kind: Kind) -> Fault:
    said = f"{kind.most} requests of this kind are at work, which is all there may be"
    return Fault(503, "busy", f"{said}; try again soon")


__all__ = ["Apart", "Errand", "Kind"]
