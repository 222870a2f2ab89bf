"""The process of a server: one that was started here, or the one that listens on the socket.

A number out of a file is never believed, for it may be anybody's by now. Imports only what comes
with Python, as the keeper does.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from noetl_mcp.embedded.greeting import NoAnswer, listener

NOTE = "postmaster.pid"  # gone after an orderly end, left behind by a sudden one


class Process(Protocol):
    """A server process, as far as it has to be waited for and told something."""

    def wait_for_its_end(self) -> None:
        """Come back when it has ended."""

    def tell(self, number: int) -> None:
        """Send it a signal, and nobody else."""

    def failed(self) -> bool:
        """Whether it is known to have ended because something was wrong."""


class Child:
    """A server that this process started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def wait_for_its_end(self) -> None:
        """Come back when it has ended."""
        self._process.wait()

    def tell(self, number: int) -> None:
        """Send it a signal, and nobody else."""
        self._process.send_signal(number)

    def failed(self) -> bool:
        """Whether it is known to have ended because something was wrong."""
        return self._process.poll() not in (None, 0)


class Adopted:
    """A server that somebody else started; `known` asks whether the number is still its own."""

    def __init__(self, pid: int, handle: int | None, known: Callable[[], bool]) -> None:
        self.pid = pid
        self._handle = handle
        self._known = known

    def wait_for_its_end(self) -> None:
        """Come back when it has ended."""
        if self._handle is not None:
            watched = select.poll()
            watched.register(self._handle, select.POLLIN)
            watched.poll()
            return
        while self.is_still_there():
            time.sleep(1)

    def tell(self, number: int) -> None:
        """Send it a signal, and nobody else."""
        try:
            if self._handle is not None and hasattr(signal, "pidfd_send_signal"):
                signal.pidfd_send_signal(self._handle, signal.Signals(number))
            elif self.is_still_there():
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended by itself

    def failed(self) -> bool:
        """Whether it is known to have ended because something was wrong: its parent was told."""
        return False

    def close(self) -> None:
        """Let go of it; it goes on."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_still_there(self) -> bool:
        """Whether its number is its own."""
        try:
            return self._known()
        except NoAnswer:
            return False


def adopt(sockets: Path) -> Adopted | None:
    """Return the server that listens in a folder; None when there is none that can be seen."""
    try:
        pid = listener(sockets)
        if pid is None:
            return None
        server = Adopted(pid, _handle(pid), lambda: listener(sockets) == pid)
    except (NoAnswer, OSError):
        return None
    return _sure(server)


def adopt_by_note(data: Path) -> Adopted | None:
    """Return the server that has a data folder open, for when its socket is gone."""
    pid = named_in_note(data)
    if pid is None:
        return None
    try:
        server = Adopted(pid, _handle(pid), lambda: named_in_note(data) == pid)
    except OSError:
        return None
    return _sure(server)


def named_in_note(data: Path) -> int | None:
    """Return the process that the pid file names if it really is a Postgres in this data folder.

    Believed is only what the kernel says of that process. Without /proc nothing is said of any.
    """
    try:
        first = (data / NOTE).read_bytes().split(b"\n", 1)[0].strip()
    except OSError:
        return None
    if not first.isdigit() or len(first) > 9:
        return None
    process = Path("/proc") / str(int(first))
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    try:
        program = os.path.basename(os.readlink(process / "exe"))
        inside = os.path.samefile(process / "cwd", data)
    except OSError:  # it may not be looked into: then what it was started with has to do
        program = os.fsdecode(os.path.basename(words[0]))
        inside = os.fsencode(data) in words
    return int(first) if inside and program.startswith("postgres") else None


def _sure(server: Adopted) -> Adopted | None:
    """Return the server if the handle is still its own, and not that of a successor."""
    if server.is_still_there():
        return server
    server.close()
    return None


def _handle(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # an old kernel, or one that keeps it from us
        return None
