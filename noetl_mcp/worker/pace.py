"""How many computing steps to hold: as many as are done in a moment.

Quick ones are held in numbers, for what they say is said together; slow ones stay in the queue,
where other workers find them. Counts and divides; holds nothing.
"""

AHEAD = 0.03
"""So many seconds of work are held beyond what is computed."""
_WINDOW = 0.1


class Pace:
    """What a worker has done lately, and how much it holds therefore."""

    def __init__(self, least: int, most: int, now: float) -> None:
        self._least = least
        self._most = most
        self._since = now
        self._done = 0
        self.slots = least

    def done(self) -> None:
        """Count a computing step that is over."""
        self._done += 1

    def look(self, now: float) -> int:
        """Return how many to hold from now on."""
        passed = now - self._since
        if passed >= _WINDOW:
            ahead = int(self._done / passed * AHEAD)
            self.slots = max(self._least, min(self._most, self._least + ahead))
            self._since, self._done = now, 0
        return self.slots


__all__ = ["AHEAD", "Pace"]
