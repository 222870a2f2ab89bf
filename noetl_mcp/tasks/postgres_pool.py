"""Keep connections for a while, so many for each target. Knows no driver and opens none itself.

A connection that anything went wrong on is closed, never used again.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Link(Protocol):
    """A connection that can be closed."""

    async def close(self) -> None:
        """Let go of it; closing twice is fine."""


L = TypeVar("L", bound=Link)


@dataclass(slots=True)
class _Target(Generic[L]):
    """The connections to one target: how many may be out, and those that wait to be used."""

    places: asyncio.Semaphore
    users: int = 0
    free: list[tuple[float, L]] = field(default_factory=list)


class Connections(Generic[L]):
    """The connections of a process, by target. Give `opened`, `works` and `cleaned` to handle one.

    `works` says whether a kept connection still answers, `cleaned` forgets what its last user did
    and says whether that went well; neither raises.
    """

    def __init__(
        self,
        *,
        opened: Callable[[str], Awaitable[L]],
        works: Callable[[L], Awaitable[bool]],
        cleaned: Callable[[L], Awaitable[bool]],
        most: int,
        idle: float,
    ) -> None:
        self._opened = opened
        self._works = works
        self._cleaned = cleaned
        self._most = most
        self._idle = idle
        self._targets: dict[str, _Target[L]] = {}
        self._sweeping: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def lease(self, target: str) -> AsyncIterator[L]:
        """Yield a connection that nobody else uses; wait for one when all places are taken."""
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        known = self._targets.get(target)
        if known is None:
            known = self._targets[target] = _Target(asyncio.Semaphore(self._most))
        known.users += 1
        try:
            async with self._placed(target, known) as link:
                yield link
        finally:
            known.users -= 1

    @asynccontextmanager
    async def _placed(self, target: str, known: _Target[L]) -> AsyncIterator[L]:
        async with known.places:
            link = await self._taken(target, known)
            try:
                yield link
            except BaseException:
                await link.close()
                raise
            if await self._cleaned(link):
                known.free.append((time.monotonic(), link))
            else:
                await link.close()

    async def _taken(self, target: str, known: _Target[L]) -> L:
        while known.free:
            _, link = known.free.pop()
            fits = False
            try:
                fits = await self._works(link)
            finally:
                if not fits:
                    await link.close()
            if fits:
                return link
        return await self._opened(target)

    async def _sweep(self) -> None:
        """Close what was not used for a while, again and again."""
        while True:
            await asyncio.sleep(self._idle / 2)
            oldest = time.monotonic() - self._idle
            for target, known in list(self._targets.items()):
                stale = [link for since, link in known.free if since < oldest]
                known.free = [one for one in known.free if one[0] >= oldest]
                for link in stale:
                    await link.close()
                if not known.free and not known.users:
                    del self._targets[target]

    async def close(self) -> None:
        """Close every connection that is not out."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
            self._sweeping = None
        for known in self._targets.values():
            for _, link in known.free:
                await link.close()
            known.free.clear()


__all__ = ["Connections", "Link"]
