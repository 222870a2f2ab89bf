"""Count the bytes that stand in memory for clients, and refuse what would be too many of them."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from noetl_mcp.web.headless.jobs import Full

MOST_COMING = 64 * 1024 * 1024
"""Bytes of all bodies that are coming or being read."""
MOST_LEAVING = 256 * 1024 * 1024
"""Bytes of all answers that clients have not taken yet."""
SMALL = 64 * 1024
"""What is no larger always has room: connections are counted elsewhere."""


class Room:
    """How much there is of one kind, and how much there may be."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken = 0

    def take(self, many: int) -> None:
        """Count so many bytes; raise Full when there is no room for them."""
        if self._taken + many > self._most:
            raise Full(f"{self._what} may have {self._most:,} bytes in all")
        self._taken += many

    def demand(self, many: int) -> None:
        """Raise Full when there is no room for so many bytes."""
        self.take(many)
        self.free(many)

    def free(self, many: int) -> None:
        """Count so many bytes no longer."""
        self._taken -= many


class Coming:
    """One body that is coming, for as long as it is held."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._held = 0

    def grow(self, size: int) -> None:
        """Make room for a body that has so many bytes by now."""
        if size > SMALL and size > self._held:
            self._room.take(size - self._held)
            self._held = size

    def __enter__(self) -> "Coming":
        return self

    def __exit__(self, *_: object) -> None:
        self._room.free(self._held)


class Taken(Response):
    """An answer that takes room until its client has it, or has left."""

    def __init__(self, answer: Response, room: Room) -> None:
        size = len(answer.body)
        self._takes = size if size > SMALL else 0
        room.take(self._takes)
        self._answer = answer
        self._room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        try:
            await self._answer(scope, receive, send)
        finally:
            self._room.free(self._takes)


__all__ = ["MOST_COMING", "MOST_LEAVING", "SMALL", "Coming", "Room", "Taken"]
