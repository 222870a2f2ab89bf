"""How much of a file one call may read: a small file can say a great deal of the same thing.

What is shared is read again for whoever shares it, so the size of a file bounds nothing. Counts
points, entities and parameters; knows no clock.
"""

from noetl_mcp.bim.revit.headless.refusals import Refused

MOST = 5_000_000
"""Of what one call reads."""
A_THING = 10
"""So many points are like a solid or a curve without any."""
_SAYS = "what was read is kept; ask for fewer elements, or again"


class TooMuch(Exception):
    """One element takes more than its share."""


class Effort:
    """What a call has read so far."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._spent = 0

    def begin(self) -> None:
        """Count anew, for another call."""
        self._spent = 0

    def spend(self, many: int = 1) -> None:
        """Count what is read; refuse a call that reads too much."""
        self._spent += many
        if self._spent > self._most:
            says = f"one call reads at most {self._most:,} points and parameters; {_SAYS}"
            raise Refused("TOO_MUCH_TO_READ", says)

    def share(self, most: int) -> "Share":
        """Return what one element may take."""
        return Share(self, most)


class Share:
    """What one element may still take."""

    def __init__(self, effort: Effort, most: int) -> None:
        self._effort = effort
        self._left = most

    def spend(self, many: int = 1) -> None:
        """Count what is read; raise TooMuch when the element alone is too large."""
        self._left -= many
        if self._left < 0:
            raise TooMuch
        self._effort.spend(many)


__all__ = ["A_THING", "MOST", "Effort", "Share", "TooMuch"]
