"""Show what a model says while it says it: lines of the log, a few each second at most.

Nothing of a secret is shown: what may be the beginning of one is held back until it is known.
"""

import time
from collections.abc import Callable, Iterable

from noetl_mcp.playbook.rendering.hiding import tellable
from noetl_mcp.tasks.models.streamed import Events, spoken

STREAM = "model"
"""What these lines are called in the log."""
_QUIET_SECONDS = 0.5
_MOST_CHARS = 100_000
"""More of one answer is not shown; it stands in the result."""


class Writing:
    """One answer while it is written."""

    def __init__(self, log: Callable[[str], None], secrets: Iterable[str]) -> None:
        self._log = log
        self._secrets = tuple(secrets)
        self._events = Events()
        self._kept = ""
        self._left = _MOST_CHARS
        self._said_at = 0.0

    def heard(self, piece: bytes) -> None:
        """Take a piece of the answer as it came."""
        if self._left <= 0:
            return
        self._kept += "".join(spoken(data) for data in self._events.feed(piece))
        if time.monotonic() - self._said_at >= _QUIET_SECONDS:
            self._tell(tellable(self._kept, self._secrets))

    def end(self) -> None:
        """Show what was held back."""
        self._tell(len(self._kept))

    def _tell(self, length: int) -> None:
        shown, self._kept = self._kept[:length], self._kept[length:]
        if not shown or self._left <= 0:
            return
        self._log(shown if len(shown) <= self._left else f"{shown[: self._left]}…")
        self._left -= len(shown)
        self._said_at = time.monotonic()


__all__ = ["STREAM", "Writing"]
