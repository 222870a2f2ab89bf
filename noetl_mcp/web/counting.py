"""Count what takes longer the more there is, and only so often that it stays a small share.

What was counted is used again until so many times as long as the counting took is over, so however
often somebody looks, and whatever there is to count, the database hardly notices.
"""

import threading
import time
from collections.abc import Callable

from noetl_mcp.broker.gauges import Counts

SHARE = 20
"""Of the time, one part in so many may go into counting."""
FREE = 0.02
"""What takes no longer than so many seconds is counted every time."""


class Counting:
    """What was counted last, for all threads of a server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: tuple[Counts, float] | None = None
        self._not_before = 0.0

    def ask(self, count: Callable[[], Counts]) -> tuple[Counts, float]:
        """Return the counts, and how many seconds old they are; one thread counts at a time."""
        if self._last is not None and self._lock.locked():
            return self._told(self._last)
        with self._lock:
            begun = self._clock()
            if self._last is not None and begun < self._not_before:
                return self._told(self._last)
            found = count()
            now = self._clock()
            took = now - begun
            self._last = (found, now)
            self._not_before = now + (took * SHARE if took > FREE else 0.0)
            return found, 0.0

    def _told(self, last: tuple[Counts, float]) -> tuple[Counts, float]:
        return last[0], self._clock() - last[1]


__all__ = ["FREE", "SHARE", "Counting"]
