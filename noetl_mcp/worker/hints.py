"""Hear what the database tells its sessions: that there is work, or that something is to be ended.

A hint says "look", never "do": who hears none looks as well, a little later. Connects again when it
was cut off. Knows nothing of workers.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from noetl_mcp.database import Connection, Error, NotReachable, TupleRow

WAKE = "noetl_wake"
HALT = "noetl_halt"
END = "on_end"
"""Said on the channel of halts: an address is to be called."""
_SOONEST, _LATEST = 0.2, 5.0


class Hint(NamedTuple):
    """What was said, and on which channel."""

    channel: str
    text: str


class Ear:
    """A session that listens. Used by one thread; only `close` may come from another."""

    def __init__(self, connect: Callable[[], Connection[TupleRow]]) -> None:
        self._connect = connect
        self._connection: Connection[TupleRow] | None = None
        self._heard: deque[Hint] = deque()
        self._wait = _SOONEST
        self._not_before = 0.0
        self._ends, self._end = os.pipe()

    def next(self, seconds: float | None) -> Hint | None:
        """Return the next hint; None when none came in time, or while there is no connection."""
        if not self._heard:
            try:
                self._listen(seconds)
            except (Error, NotReachable, OSError):
                self._drop()
                self._not_before = time.monotonic() + self._wait
                self._wait = min(self._wait * 2, _LATEST)
        return self._heard.popleft() if self._heard else None

    def _listen(self, seconds: float | None) -> None:
        connection = self._connection
        if connection is None:
            pause = self._not_before - time.monotonic()
            if pause > 0:
                _ready((self._ends,), pause if seconds is None else min(pause, seconds))
                return
            connection = self._connection = self._connect()
            for channel in (WAKE, HALT):
                connection.execute(f"listen {channel}".encode())
            self._wait = _SOONEST
            self._heard.append(Hint(WAKE, ""))  # what was said before is not lost
            return
        session = connection.pgconn
        if self._ends in _ready((session.socket, self._ends), seconds):
            return
        session.consume_input()
        while (notice := session.notifies()) is not None:
            self._heard.append(Hint(notice.relname.decode(), notice.extra.decode()))

    def interrupt(self) -> None:
        """Let `next` return at once, now and ever after; may be called from any thread."""
        os.write(self._end, b".")

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Let the connection go."""
        self._drop()
        for end in (self._end, self._ends):
            if end >= 0:
                os.close(end)
        self._end = self._ends = -1


class Hints:
    """Listens in a thread of its own until it is stopped, and passes on what it hears."""

    def __init__(
        self, connect: Callable[[], Connection[TupleRow]], heard: Callable[[str, str], None]
    ) -> None:
        self._ear = Ear(connect)
        self._heard = heard
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="hints", daemon=True)

    def start(self) -> None:
        """Begin to listen; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and let the connection go."""
        self._stopping = True
        self._ear.interrupt()
        if self._thread.ident is not None:
            self._thread.join(10)
        self._ear.close()

    def _work(self) -> None:
        while not self._stopping:
            hint = self._ear.next(None)
            if hint is not None:
                self._heard(hint.channel, hint.text)


def _ready(files: tuple[int, ...], seconds: float | None) -> list[int]:
    """Wait until one of some descriptors, however high its number, can be read."""
    poll = select.poll()
    for one in files:
        poll.register(one, select.POLLIN)
    return [one for one, _ in poll.poll(None if seconds is None else seconds * 1000)]


__all__ = ["END", "HALT", "WAKE", "Ear", "Hint", "Hints"]
