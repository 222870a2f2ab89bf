"""Processes that do something at the same moment, and say what it took.

One that dies or is silent for too long ends all of them at once, with its error; none outlives its
parent.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any

READY_SECONDS = 60.0
_LEAVES = 5.0


class Died(Exception):
    """A process of the benchmark ended or failed; the text says how."""


class TooLong(Exception):
    """Something took longer than it may."""


@dataclass(slots=True)
class Control:
    """What a process of the crew hears from its parent, and tells it."""

    pipe: Connection

    def ready(self) -> None:
        """Say that everything is set up, and wait until all the others are, too."""
        self.pipe.send(("ready", None))
        self.pipe.recv()
        threading.Thread(target=self._until_orphaned, daemon=True).start()

    def _until_orphaned(self) -> None:
        try:
            self.pipe.recv()
        except (EOFError, OSError):
            os._exit(3)


Work = Callable[..., Mapping[str, Any]]


def _child(pipe: Connection, work: Work, given: Mapping[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
    try:
        pipe.send(("done", dict(work(Control(pipe), **given))))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent must hear of it
        pipe.send(("failed", traceback.format_exc()))


def together(
    work: Work,
    given: Sequence[Mapping[str, Any]],
    *,
    seconds: float,
    begun: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Have `work` done once for each of `given`, all beginning at once; return what each says.

    `work` is a function of a module, called with a Control and what is given. `begun` is called
    right before they begin.
    """
    context = multiprocessing.get_context("spawn")
    pairs = [context.Pipe() for _ in given]
    children = [
        context.Process(target=_child, args=(theirs, work, one), daemon=True)
        for (_, theirs), one in zip(pairs, given, strict=True)
    ]
    try:
        for child in children:
            child.start()
        for _, theirs in pairs:
            theirs.close()
        pipes = [ours for ours, _ in pairs]
        _heard(pipes, children, "ready", READY_SECONDS)
        begun()
        for pipe in pipes:
            pipe.send("go")
        return _heard(pipes, children, "done", seconds)
    finally:
        for ours, _ in pairs:
            ours.close()
        for child in children:
            _ended(child)


def _heard(
    pipes: list[Connection], children: list[Any], word: str, seconds: float
) -> list[dict[str, Any]]:
    """Wait until each process has said a word; raise what else it says."""
    found: dict[int, Any] = {}
    deadline = time.monotonic() + seconds
    while len(found) < len(pipes):
        left = [pipe for n, pipe in enumerate(pipes) if n not in found]
        if not wait(left, max(0.0, deadline - time.monotonic())):
            raise TooLong(f"{len(left)} processes were not {word} after {seconds:.0f} s")
        for number, pipe in enumerate(pipes):
            if number in found or not pipe.poll():
                continue
            try:
                said, what = pipe.recv()
            except (EOFError, ConnectionError):
                children[number].join(_LEAVES)
                code = children[number].exitcode
                raise Died(f"process {number + 1} ended with code {code}") from None
            if said == "failed":
                raise Died(f"process {number + 1} failed:\n{what}")
            found[number] = what
    return [found[number] for number in range(len(pipes))]


def _ended(child: Any) -> None:
    if child.pid is None:
        return
    child.join(_LEAVES)
    if child.is_alive():
        child.kill()
        child.join()


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Raise TooLong when the block takes longer, wherever it is."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"{what} took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


__all__ = ["Control", "Died", "TooLong", "together", "within"]
