"""A pipe between the two ends of a transfer, and the thread that pushes rows into it.

One end waits for the other, so nothing piles up. Whoever takes the rows learns at their end whether
they were all.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fcntl import fcntl
from threading import Thread

from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome

Answers = (Failed, UnknownOutcome, HandedBack)
BLOCK = 262_144
_PIPE_BYTES = 1024 * 1024
_F_SETPIPE_SZ = 1031  # of Linux
_LOOK_SECONDS = 0.05


class Pipe:
    """A pipe of the system; libraries open its ends by their paths."""

    def __init__(self) -> None:
        self.carried = 0
        self.reading, self.writing = os.pipe()
        self._open = {self.reading, self.writing}
        if sys.platform == "linux":
            with suppress(OSError):
                fcntl(self.writing, _F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def read_path(self) -> str:
        """The path of the end that gives."""
        return f"/dev/fd/{self.reading}"

    @property
    def write_path(self) -> str:
        """The path of the end that takes."""
        return f"/dev/fd/{self.writing}"

    def write(self, block: bytes) -> None:
        """Push a block in, as soon as there is room."""
        self.carried += len(block)
        rest = memoryview(block)
        while rest:
            rest = rest[os.write(self.writing, rest) :]

    def blocks(self, checked: Callable[[], None]) -> Iterator[bytes]:
        """Yield what comes; at its end ask whether that was all."""
        while block := os.read(self.reading, BLOCK):
            self.carried += len(block)
            yield block
        checked()

    def close(self, end: int) -> None:
        """Close one end; doing so twice is fine."""
        if end in self._open:
            self._open.remove(end)
            os.close(end)

    def close_all(self) -> None:
        """Close what is still open."""
        for end in tuple(self._open):
            self.close(end)


class Pump(Thread):
    """Pushes the rows of a source into a pipe; `count` says how many there were."""

    def __init__(self, work: Callable[[], int], pipe: Pipe) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self._work, self._pipe = work, pipe
        self._has_given_all = False
        self._problem: Exception | None = None
        self.start()

    def run(self) -> None:
        """Push until there is no more, and close the end that takes."""
        try:
            self.count = self._work()
            self._has_given_all = True
        except (*Answers, OSError) as problem:
            self._problem = problem
        finally:
            self._pipe.close(self._pipe.writing)

    def checked(self) -> None:
        """Wait until it has ended, and raise what kept it from giving everything."""
        self.join()
        if self._problem is not None:
            raise self._problem

    def blamed(self, other: Exception) -> Exception:
        """Return whose fault it was: the source's, if it had failed before anybody else did."""
        own = self._problem
        return other if own is None or isinstance(own, OSError) else own

    def end(self, stop: Callable[[], None]) -> None:
        """Have it end, for nobody takes rows any more unless all are taken already."""
        self._pipe.close(self._pipe.reading)
        while self.is_alive():
            self.join(_LOOK_SECONDS)
            if self.is_alive() and not self._has_given_all:
                stop()


__all__ = ["BLOCK", "Answers", "Pipe", "Pump"]
