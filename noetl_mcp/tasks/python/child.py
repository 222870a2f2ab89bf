"""What runs in a program's process: waits for calls, answers them, and dies with its parent.

Imports the standard library only, and little of it: a fresh process starts for every isolated
call. Descriptors 1 and 2 belong to the program; answers go through one of its own that nothing
the program starts inherits.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from _thread import _count as threads
from contextlib import suppress
from fcntl import F_DUPFD_CLOEXEC, F_GETFL, F_SETFL, F_SETOWN, fcntl
from json import dumps, loads

from noetl_mcp.tasks.python import frames
from noetl_mcp.tasks.python.calling import Program
from noetl_mcp.tasks.python.failures import Refused, failure
from noetl_mcp.tasks.python.results import NotJson, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it would cost every fresh process three milliseconds
    from typing import Any

_LOWEST_OWN_DESCRIPTOR = 100  # out of the way of whoever closes "all" the first ones
_F_SETSIG = 10  # of Linux; the module names it only from some builds on
_MOST_GROWTH = 256 * 1024 * 1024
_OOM_SCORE = b"500"  # where memory runs out the kernel ends programs, not their worker


def serve(protocol: int, life: int) -> None:
    """Answer calls until the parent hangs up."""
    _die_with_parent(_moved(life))
    channel = frames.Channel(_moved(protocol))
    opening = channel.read()
    if opening is None:
        os._exit(0)
    told = loads(opening.payload)
    _limit(told["memory_mb"])
    surface, own = _Surface(told["file"]), os.getpid()
    answers = _Answers(told)
    while (frame := channel.read()) is not None:
        kind, payload, is_spent = answers.to(frame.payload)
        if os.getpid() != own:
            os._exit(0)  # the program forked, and its copy came back here too
        is_spent |= not surface.is_restored()
        channel.write(frames.packed(kind, payload, frame.number, is_spent))
    os._exit(0)


class _Answers:
    """Carries out one call after another of the same program."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told
        self._program: Program | None = None

    def to(self, payload: bytes) -> tuple[int, bytes, bool]:
        """Return the kind of answer, the answer, and whether this process is spent by it."""
        told = self._told
        try:
            asked = loads(payload)
            if self._program is None:
                self._program = Program(told["code"], told["file"], told["function"], told["libs"])
            result = self._program.call(asked["input"], asked.get("auth"))
            return frames.RESULT, to_json(result, told["most_result_bytes"]), False
        except NotJson as problem:
            words = f"{problem.path} {problem.problem}"
            refused = Refused("not-json", f"the result is not JSON: {words}", path=problem.path)
            return _failed(refused.told(), False)
        except Refused as refused:
            return _failed(refused.told(), self._program is None)
        except BaseException as error:  # noqa: BLE001 - a program may raise anything at all
            is_spent = self._program is None or not isinstance(error, Exception)
            is_spent |= isinstance(error, MemoryError)
            return _failed(failure(error, told["file"], told["code"]), is_spent)


def _failed(told: dict[str, object], is_spent: bool) -> tuple[int, bytes, bool]:
    return frames.FAILURE, dumps(told).encode(), is_spent


class _Surface:
    """What a program can change around itself; put back, or the process is spent."""

    def __init__(self, file: str) -> None:
        sys.argv[:] = [file]
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        self._out, self._err = sys.stdout, sys.stderr
        self._folder = os.getcwd()
        self._untouched: int | None = os.stat(self._folder).st_mtime_ns
        self._environment = dict(os.environ)
        self._raw = getattr(os.environ, "_data", os.environ)  # decoding it costs 10 µs a call
        self._raw_before = dict(self._raw)
        self._path = list(sys.path)
        self._threads = threads()
        self._memory = _Memory()

    def is_restored(self) -> bool:
        """Put back what can be; False when something is left that cannot."""
        is_clean = self._is_flushed() and signal.alarm(0) == 0
        if self._raw != self._raw_before:
            os.environ.clear()
            os.environ.update(self._environment)
        if sys.path != self._path:
            sys.path[:] = self._path
        return (
            is_clean
            and self._is_folder_empty()
            and threads() == self._threads
            and not _has_children()
            and not self._memory.has_grown()
        )

    def _is_flushed(self) -> bool:
        replaced = sys.stdout is not self._out or sys.stderr is not self._err
        try:
            if replaced:
                sys.stdout.flush()
                sys.stderr.flush()
            self._out.flush()
            self._err.flush()
        except (AttributeError, OSError, ValueError):  # closed, or replaced by anything
            return False
        sys.stdout, sys.stderr = self._out, self._err
        return True

    def _is_folder_empty(self) -> bool:
        try:
            if os.getcwd() != self._folder:
                os.chdir(self._folder)
            if os.stat(self._folder).st_mtime_ns == self._untouched:
                return True
            self._untouched = None  # from now on a new file may fall into the same tick
            return not os.listdir(self._folder)
        except OSError:
            return False


def _has_children() -> bool:
    """Whether a process that the program started still runs; ended ones are put away."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


class _Memory:
    """Watches what a process holds beyond what it held after its first call."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._page = resource.getpagesize()
        self._statm = -1
        if sys.platform == "linux":
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def has_grown(self) -> bool:
        now = self._now()
        if self._first is None:
            self._first = now
        return now - self._first > _MOST_GROWTH

    def _now(self) -> int:
        """Return the bytes held now; where only the peak can be known, the peak."""
        if self._statm < 0:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            return int(os.pread(self._statm, 100, 0).split()[1]) * self._page
        except OSError:
            return sys.maxsize  # the program closed what it did not open


def _moved(descriptor: int) -> int:
    """Return a private copy of a descriptor, which no program that is started inherits."""
    copy = fcntl(descriptor, F_DUPFD_CLOEXEC, _LOWEST_OWN_DESCRIPTOR)
    os.close(descriptor)
    return copy


def _die_with_parent(life: int) -> None:
    """End the whole process group when the parent lets go of the other end, however it dies.

    On Linux the kernel does it, whatever the program is doing, and for all that the program
    started in its group; elsewhere a thread waits, which cannot run while C code holds the lock.
    """
    if sys.platform == "linux":
        fcntl(life, F_SETOWN, -os.getpgrp())
        fcntl(life, _F_SETSIG, signal.SIGKILL)
        fcntl(life, F_SETFL, fcntl(life, F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
        try:
            os.read(life, 1)
        except BlockingIOError:
            return
        os._exit(0)  # it was gone before this began
    from _thread import start_new_thread

    start_new_thread(_wait_for_the_end, (life,))


def _wait_for_the_end(life: int) -> None:
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


def _limit(memory_mb: int | None) -> None:
    """Bound memory beyond what the interpreter has, and leave no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_OOM_SCORE)
    if memory_mb is None:
        return
    with open("/proc/self/statm", "rb") as file:
        own = int(file.read().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = own + memory_mb * 1024 * 1024
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


__all__ = ["serve"]
