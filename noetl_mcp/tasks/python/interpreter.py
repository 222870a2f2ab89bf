"""One process with one program in it, seen from the parent: start it, ask it, end it.

Never forks: a process is started anew, with closed descriptors, a clean environment, a folder
and a session of its own. Uses no thread; the event loop watches its descriptors.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM

from noetl_mcp.tasks.python.frames import (
    CALL,
    MOST_NUMBER,
    PROGRAM,
    BrokenFrame,
    Frame,
    Inbox,
    packed,
)
from noetl_mcp.tasks.python.output import Output
from noetl_mcp.tasks.python.program import Program

_ROOT = str(Path(__file__).resolve().parents[3])
_BOOT = (
    "import sys; sys.path.append({root!r}); from noetl_mcp.tasks.python.child import serve; "
    "sys.path.pop(); serve({protocol}, {life})"
)
_FLAGS = ("-I", "-X", "utf8", "-X", "faulthandler")  # nothing of PYTHON*, no folder of the user's
_CHUNK = 65_536  # as much as a pipe holds, so one read empties it
_LAST_CHUNKS = 16  # a process that left the group may print for ever
_FAILURE_BYTES = 1024 * 1024
_LOOK_SECONDS = 0.05  # how often an end is looked for where the system cannot tell of it


class Ended(Exception):
    """The process ended before it answered: by itself, or because it took too long."""

    def __init__(self, status: int, is_late: bool, problem: str | None = None) -> None:
        super().__init__(f"ended with {status}")
        self.status = status
        self.is_late = is_late
        self.problem = problem


class Interpreter:
    """A living process; it carries out one call at a time."""

    def __init__(
        self,
        program: Program,
        home: str,
        *,
        most_bytes: int,
        grace: float,
        on_end: Callable[["Interpreter"], None],
    ) -> None:
        self.program = program
        self.home = home
        self.since = time.monotonic()
        self.calls = 0
        self.is_spent = program.isolate
        self.is_ending = False
        self.gone: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._grace = grace
        self._inbox = Inbox(most_bytes + _FAILURE_BYTES)
        self._answer: asyncio.Future[Frame] | None = None
        self._output: Output | None = None
        self._unsent = memoryview(packed(PROGRAM, program.opening))
        self._is_full = False
        self._is_late = False
        self._problem: str | None = None
        self._kill: asyncio.TimerHandle | None = None
        self._start(program)

    @property
    def can_go_on(self) -> bool:
        """Whether it may be asked again."""
        return not (self.is_spent or self.is_ending or self._answer is not None)

    async def ask(self, payload: bytes, output: Output, timeout: float | None) -> Frame:
        """Carry out a call; raise Ended when no answer comes. Cancelling it ends the process."""
        if self.gone.done():
            raise Ended(self.gone.result(), is_late=False)
        self.calls += 1
        self._answer = self._loop.create_future()
        self._output = output
        timer = self._loop.call_later(timeout, self._take_too_long) if timeout is not None else None
        frame = packed(CALL, payload, self.calls & MOST_NUMBER)
        self._unsent = (
            memoryview(bytes(self._unsent) + frame) if self._unsent else memoryview(frame)
        )
        self._send()
        try:
            answer = await self._answer
        except asyncio.CancelledError:
            await asyncio.shield(self.end())
            raise
        finally:
            self._output = None
            if timer is not None:
                timer.cancel()
        self._answer = None
        return answer

    def end(self, *, at_once: bool = False) -> "asyncio.Future[int]":
        """End the process and all it started; what is returned is done when it is over."""
        if not self.gone.done() and (not self.is_ending or at_once):
            self._signal(SIGKILL if at_once else SIGTERM)
        if not self.is_ending and not self.gone.done():
            self.is_ending = True
            self._kill = self._loop.call_later(self._grace, self._signal, SIGKILL)
        return self.gone

    def _start(self, program: Program) -> None:
        """Start the process; when that fails, nothing is left open."""
        with ExitStack() as undo, ExitStack() as theirs:
            work = os.path.join(self.home, "work")
            os.mkdir(work, 0o700)
            self._socket, far = socket.socketpair()
            undo.callback(self._socket.close)
            theirs.callback(far.close)
            ends = [os.pipe() for _ in range(3)]
            (self._out, out), (self._err, err), (life, self._life) = ends
            for own, other in ((self._out, out), (self._err, err), (self._life, life)):
                undo.callback(os.close, own)
                theirs.callback(os.close, other)
                os.set_blocking(own, False)
            self._socket.setblocking(False)
            boot = _BOOT.format(root=_ROOT, protocol=far.fileno(), life=life)
            self._process = subprocess.Popen(
                [sys.executable, *_FLAGS, "-c", boot],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=(far.fileno(), life),
                cwd=work,
                env=_environment(self.home, program),
                start_new_session=True,
            )
            undo.pop_all()
        self._watch()

    def _watch(self) -> None:
        """Let the event loop tell of answers, of output and of the end."""
        self._loop.add_reader(self._socket, self._receive)
        self._loop.add_reader(self._out, self._read, self._out, "stdout")
        self._loop.add_reader(self._err, self._read, self._err, "stderr")
        self._pidfd = -1
        if sys.platform == "linux":
            with suppress(OSError):
                self._pidfd = os.pidfd_open(self._process.pid)
        if self._pidfd < 0:
            self._loop.call_later(_LOOK_SECONDS, self._look)
            return
        self._loop.add_reader(self._pidfd, self._finish)

    def _look(self) -> None:
        if self._process.poll() is None:  # a number is not given out again while its group lives
            self._loop.call_later(_LOOK_SECONDS, self._look)
            return
        self._finish()

    def _send(self) -> None:
        """Send what the socket takes; the rest when it takes more."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            self._is_full = True
            self._loop.add_writer(self._socket, self._send)
            return
        except OSError:  # it has just died, and the loop will tell
            self._unsent = memoryview(b"")
        if self._is_full:
            self._is_full = False
            self._loop.remove_writer(self._socket)

    def _receive(self) -> None:
        """Take what has come; a whole answer, and what was printed before it, ends the call."""
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._socket)
            return
        try:
            frame = self._inbox.take(data)
            if frame is None:
                return
            if self._answer is None or frame.number != self.calls & MOST_NUMBER:
                raise BrokenFrame("an answer that nobody asked for")
        except BrokenFrame as problem:
            self._problem = f"its answer cannot be read: {problem}"
            self.end(at_once=True)
            return
        self.is_spent |= frame.is_spent
        try:
            self._read(self._out, "stdout")
            self._read(self._err, "stderr")
        finally:
            if not self._answer.done():
                self._answer.set_result(frame)

    def _read(self, descriptor: int, stream: str) -> bool:
        """Take what was printed; False when there is no more."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(descriptor)
        if data and self._output is not None:
            self._output.feed(stream, data)
        return bool(data)

    def _take_too_long(self) -> None:
        self._is_late = True
        self.end()

    def _signal(self, number: int) -> None:
        """Signal the whole group. Its number is not used again before the process is waited for."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _finish(self) -> None:
        """Take the last words of a process that has ended, and let go of all it had."""
        self.is_ending = True
        self._signal(SIGKILL)  # what it started ends with it
        while self._answer is not None and not self._answer.done() and self._has_more():
            self._receive()
        for descriptor, stream in ((self._out, "stdout"), (self._err, "stderr")):
            for _ in range(_LAST_CHUNKS):
                if not self._read(descriptor, stream):
                    break
        status = self._process.wait()
        self._let_go()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Ended(status, self._is_late, self._problem))
        self.gone.set_result(status)
        self._on_end(self)

    def _has_more(self) -> bool:
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    def _let_go(self) -> None:
        if self._kill is not None:
            self._kill.cancel()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        for descriptor in (self._out, self._err, self._pidfd):
            if descriptor >= 0:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
        os.close(self._life)


def _environment(home: str, program: Program) -> dict[str, str]:
    """Return all that the process has of an environment."""
    return {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "HOME": home,
        "LANG": "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8",
        **program.env,
    }


__all__ = ["Ended", "Interpreter"]
