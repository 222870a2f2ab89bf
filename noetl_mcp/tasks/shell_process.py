"""One command seen from the worker: start it, feed it, read it, end it and all of its group.

The event loop watches its descriptors; there is no thread. What leaves the group by `setsid` is
not ended, and not waited for.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM

Heard = Callable[[str, bytes], None]
"""Takes the name of a stream, and what came on it."""

_CHILD = str(Path(__file__).with_name("shell_child.py"))
_FLAGS = ("-I", "-S", "-X", "utf8")
_CHUNK = 65_536  # as much as a pipe holds, so one read empties it
_LAST_CHUNKS = 64  # a process that left the group may print for ever
_LOOK_SECONDS = 0.02  # how often an end is looked for where the system cannot tell of it


@dataclass(frozen=True, slots=True)
class Order:
    """What is to run: a program with its arguments, an open folder, and what surrounds it."""

    command: Sequence[str]
    folder: int
    env: Mapping[str, str] = field(repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    memory_mb: int = 0
    processes: int = 0


class Running:
    """A command that was started; `gone` gives its exit status, negative for a signal."""

    def __init__(self, order: Order, heard: Heard, *, grace: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[int] = self._loop.create_future()
        self._heard = heard
        self._grace = grace
        self._is_ending = False
        self._kill: asyncio.TimerHandle | None = None
        self._unread = memoryview(order.stdin or b"")
        self._stdin = self._pidfd = -1
        self._start(order)
        self._watch()

    def end(self) -> "asyncio.Future[int]":
        """Ask the group to stop, and kill it if it does not."""
        if not self._is_ending and not self.gone.done():
            self._is_ending = True
            self._signal(SIGTERM)
            self._kill = self._loop.call_later(self._grace, self._signal, SIGKILL)
        return self.gone

    def _start(self, order: Order) -> None:
        """Start the process; when that fails, nothing is left open."""
        with ExitStack() as undo, ExitStack() as theirs:
            ends = [os.pipe() for _ in range(3)]
            (self._out, out), (self._err, err), (life, self._life) = ends
            for own, other in ((self._out, out), (self._err, err), (self._life, life)):
                undo.callback(os.close, own)
                theirs.callback(os.close, other)
                os.set_blocking(own, False)
            given: int = subprocess.DEVNULL
            if order.stdin is not None:
                given, self._stdin = os.pipe()
                os.set_blocking(self._stdin, False)
                undo.callback(os.close, self._stdin)
                theirs.callback(os.close, given)
            numbers = (life, order.folder, order.memory_mb, order.processes)
            self._process = subprocess.Popen(
                [sys.executable, *_FLAGS, _CHILD, *map(str, numbers), *order.command],
                stdin=given,
                stdout=out,
                stderr=err,
                pass_fds=(life, order.folder),
                env=order.env,
                start_new_session=True,
            )
            undo.pop_all()

    def _watch(self) -> None:
        self._loop.add_reader(self._out, self._read, self._out, "stdout")
        self._loop.add_reader(self._err, self._read, self._err, "stderr")
        if self._stdin >= 0:
            self._loop.add_writer(self._stdin, self._feed)
        if sys.platform == "linux":
            with suppress(OSError):
                self._pidfd = os.pidfd_open(self._process.pid)
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._finish)
        else:
            self._look()

    def _look(self) -> None:
        if self._process.poll() is None:
            self._loop.call_later(_LOOK_SECONDS, self._look)
        else:
            self._finish()

    def _feed(self) -> None:
        """Give it what it takes of its input; one that takes no more gets no more."""
        try:
            while self._unread:
                self._unread = self._unread[os.write(self._stdin, self._unread[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it closed its input, as `head` does
            pass
        self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _read(self, descriptor: int, stream: str) -> bool:
        """Take what was printed; False when there is no more."""
        try:
            part = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self._loop.remove_reader(descriptor)
            return False
        self._heard(stream, part)
        return True

    def _signal(self, number: int) -> None:
        """Signal the whole group. Its number is not used again before the process is waited for."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _finish(self) -> None:
        """Take the last words of a command that has ended, and let go of all it had."""
        self._signal(SIGKILL)  # what it started ends with it
        for descriptor, stream in ((self._out, "stdout"), (self._err, "stderr")):
            for _ in range(_LAST_CHUNKS):
                if not self._read(descriptor, stream):
                    break
        status = self._process.wait()
        self._close_stdin()
        if self._kill is not None:
            self._kill.cancel()
        for descriptor in (self._out, self._err, self._pidfd):
            if descriptor >= 0:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
        os.close(self._life)
        self.gone.set_result(status)


__all__ = ["Heard", "Order", "Running"]
