"""Let so many in at once, and some more wait for their turn, in the order in which they came.

For one loop; watches no clock.
"""

import asyncio
from collections import deque

Turn = asyncio.Future[None]


class Full(Exception):
    """Nobody more is let in, nor may anybody more wait."""


class Room:
    """Where `most` are at work at once, and `waiting` more may wait."""

    def __init__(self, most: int, waiting: int) -> None:
        self._free = most
        self._most_waiting = waiting
        self._waiting: deque[Turn] = deque()

    def enter(self) -> Turn:
        """Return a turn, which is done as soon as there is a place; it must be given back."""
        turn: Turn = asyncio.get_running_loop().create_future()
        if self._free:
            self._free -= 1
            turn.set_result(None)
        elif len(self._waiting) < self._most_waiting:
            self._waiting.append(turn)
        else:
            raise Full
        return turn

    def leave(self, turn: Turn) -> None:
        """Give a turn back, whether it had come or not; the next one gets the place."""
        if not turn.done():
            self._waiting.remove(turn)
            turn.cancel()
        elif self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._free += 1


__all__ = ["Full", "Room", "Turn"]
