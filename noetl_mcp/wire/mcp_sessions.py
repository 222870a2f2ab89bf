"""The MCP sessions of a process: one for each server and way to reach it, shared by its calls.

A session that no call uses is closed after a while, the longest unused one earlier when there are
many. Lives in one event loop; whoever closes this closes all of them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from noetl_mcp.wire.mcp_session import Session


@dataclass(slots=True, eq=False)
class _Seat:
    """A session in the room, and how many calls use it."""

    key: Hashable
    session: Session
    opening: asyncio.Task[None]
    users: int = 0
    was_used: bool = False
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Lent:
    """A session lent to a call; `is_kept` says that others had it before, so it may have aged."""

    session: Session
    is_kept: bool


class Sessions:
    """Lends sessions out and takes them back."""

    def __init__(self, *, idle_seconds: float = 60.0, most_idle: int = 16) -> None:
        self._idle_seconds = idle_seconds
        self._most_idle = most_idle
        self._seats: dict[Hashable, _Seat] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lend(self, key: Hashable, make: Callable[[], Session]) -> AsyncIterator[Lent]:
        """Yield an open session; raise what opening one raises."""
        seat = self._seat(key, make)
        seat.users += 1
        if seat.timer is not None:
            seat.timer.cancel()
        try:
            await asyncio.shield(seat.opening)
            is_kept, seat.was_used = seat.was_used, True
            yield Lent(seat.session, is_kept)
        finally:
            seat.users -= 1
            if seat.users == 0:
                self._rest(seat)

    async def close(self) -> None:
        """Close every session, those too that are just being opened."""
        for seat in list(self._seats.values()):
            self._drop(seat)
        while self._closing:
            await asyncio.wait(self._closing)

    def _seat(self, key: Hashable, make: Callable[[], Session]) -> _Seat:
        found = self._seats.get(key)
        if found is not None and (not found.opening.done() or found.session.is_usable):
            return found
        if found is not None:
            self._leave(found)
        session = make()
        opening = asyncio.create_task(session.open(), name="mcp opening")
        opening.add_done_callback(_looked_at)
        self._seats[key] = seat = _Seat(key, session, opening)
        return seat

    def _rest(self, seat: _Seat) -> None:
        """Keep a session that nobody uses for a while, if it is any good."""
        if self._seats.get(seat.key) is not seat or not seat.session.is_usable:
            self._drop(seat)
            return
        loop = asyncio.get_running_loop()
        seat.timer = loop.call_later(self._idle_seconds, self._drop, seat)
        del self._seats[seat.key]
        self._seats[seat.key] = seat  # the last one is that which was used last
        idle = [one for one in self._seats.values() if one.users == 0]
        for one in idle[: max(0, len(idle) - self._most_idle)]:
            self._drop(one)

    def _leave(self, seat: _Seat) -> None:
        """Lend a session to nobody else; it is closed when its last call is over."""
        self._seats.pop(seat.key, None)
        if seat.users == 0:
            self._drop(seat)

    def _drop(self, seat: _Seat) -> None:
        if self._seats.get(seat.key) is seat:
            del self._seats[seat.key]
        if seat.timer is not None:
            seat.timer.cancel()
        closing = asyncio.create_task(_closed(seat))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


async def _closed(seat: _Seat) -> None:
    if not seat.opening.done():
        seat.opening.cancel()
        await asyncio.wait((seat.opening,))
    await seat.session.close()


def _looked_at(opening: asyncio.Task[None]) -> None:
    """Whoever waits for it is told; when nobody does any more, nobody needs to know."""
    if not opening.cancelled():
        opening.exception()


__all__ = ["Lent", "Sessions"]
