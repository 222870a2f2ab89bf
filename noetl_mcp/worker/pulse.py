"""Notice that a process stands still: its loop beats into a pipe, and its parent looks.

One that was stopped from outside, or that never beat, is not judged. Ends nobody.
"""

import asyncio
import contextlib
import os
from pathlib import Path

EVERY = 1.0
"""Seconds between two beats."""
LOOKS = 6
"""Who has not beaten at so many looks in a row stands still."""


class Pulse:
    """The parent's end of the pipe of one process."""

    def __init__(self) -> None:
        self._listens, self.beats = os.pipe()
        os.set_blocking(self._listens, False)
        os.set_blocking(self.beats, False)
        self._silent: int | None = None

    def handed_over(self) -> None:
        """The process has its end now, and is alone with it."""
        os.close(self.beats)

    def look(self, pid: int) -> bool:
        """Look once; say whether the process stands still."""
        beaten = b""
        with contextlib.suppress(BlockingIOError):
            beaten = os.read(self._listens, 65_536)
        if beaten or _is_stopped(pid):
            self._silent = 0
        elif self._silent is not None:
            self._silent += 1
        return self._silent is not None and self._silent >= LOOKS

    def close(self) -> None:
        """Listen no more."""
        os.close(self._listens)


async def beat(descriptor: int) -> None:
    """Beat for as long as the loop runs."""
    os.set_blocking(descriptor, False)
    while True:
        with contextlib.suppress(OSError):  # nobody looks, or has looked for a while
            os.write(descriptor, b".")
        await asyncio.sleep(EVERY)


def _is_stopped(pid: int) -> bool:
    """Whether somebody has stopped a process, or debugs it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in (b"T", b"t")


__all__ = ["EVERY", "LOOKS", "Pulse", "beat"]
