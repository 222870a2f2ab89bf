"""Which process carries out which call: warm ones first, no more than so many, nobody forgotten.

A process serves one program with one set of secrets. Looks into no frame and knows no step.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path

from noetl_mcp.tasks.python.folders import Folders, remove, sweep
from noetl_mcp.tasks.python.interpreter import Interpreter
from noetl_mcp.tasks.python.program import Program

_SPARE = 2
_MOST_SECONDS_OF_CLOSING = 5.0


@dataclass(frozen=True, slots=True)
class Habits:
    """How processes are kept: how many, for how many calls, how long idle; times in seconds."""

    most_children: int = (cpu_count() or 1) + _SPARE
    most_calls: int = 1_000
    idle: float = 60.0
    turn: float = 0.2  # so long a process serves its own program while others wait for a place
    grace: float = 0.5  # between asking a process to end and killing it
    most_result_bytes: int = 64 * 1024 * 1024


class Closed(Exception):
    """Nothing is started any more."""


_Waiter = asyncio.Future[Interpreter | None]  # gets a process, or None: the place of one


class Pool:
    """The processes of one worker."""

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self._alive: set[Interpreter] = set()
        self._places = habits.most_children
        self._idle: dict[bytes, list[tuple[float, Interpreter]]] = {}
        self._waiting: OrderedDict[bytes, deque[_Waiter]] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None
        self._removals: set[asyncio.Future[None]] = set()
        self._folders = Folders()
        self._is_closed = False

    async def take(self, program: Program) -> Interpreter:
        """Return a process for this program, waiting for one when all are at work."""
        if self._is_closed:
            raise Closed
        if warm := self._warm(program.key):
            return warm
        if self._places:
            self._places -= 1
            return self._started(program)
        return await self._wait(program)

    def give_back(self, interpreter: Interpreter) -> None:
        """Hand a process to who waits for it, keep it warm, or end it."""
        is_worn = interpreter.calls >= self._habits.most_calls
        if is_worn or self._is_closed or not interpreter.can_go_on:
            interpreter.end(at_once=not interpreter.is_ending)
            return
        key = interpreter.program.key
        had_its_turn = time.monotonic() - interpreter.since >= self._habits.turn
        if self._others_need_places(key) and (had_its_turn or key not in self._waiting):
            interpreter.end(at_once=True)
        elif waiter := self._next(key):
            waiter.set_result(interpreter)
        else:
            self._idle.setdefault(key, []).append((time.monotonic(), interpreter))
            self._watch_idle()

    async def close(self) -> None:
        """End all processes, those at work too, and refuse everybody who waits."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        while waiter := self._next():
            waiter.set_exception(Closed())
        ends = [interpreter.end(at_once=True) for interpreter in self._alive]
        if ends:
            await asyncio.wait(ends, timeout=_MOST_SECONDS_OF_CLOSING)
        if self._removals:
            await asyncio.wait(self._removals, timeout=_MOST_SECONDS_OF_CLOSING)
        self._folders.close()

    def _warm(self, key: bytes) -> Interpreter | None:
        """Take the idle process of a program that worked last."""
        while idle := self._idle.get(key):
            _, interpreter = idle.pop()
            if not idle:
                del self._idle[key]
            if interpreter.can_go_on:
                return interpreter
        return None

    def _started(self, program: Program) -> Interpreter:
        """Start a process in a place that was taken for it."""
        if self._is_closed:
            self._pass_on_place()
            raise Closed
        habits = self._habits
        if not self._folders.is_open:
            self._aside(sweep)
        home = ""
        try:
            home = self._folders.make()
            interpreter = Interpreter(
                program,
                home,
                most_bytes=habits.most_result_bytes,
                grace=habits.grace,
                on_end=self._forget,
            )
        except OSError:
            if home:
                remove(home)
            self._pass_on_place()
            raise
        self._alive.add(interpreter)
        return interpreter

    async def _wait(self, program: Program) -> Interpreter:
        """Wait for a process of this program, or for a place to start one."""
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(program.key, deque()).append(waiter)
        oldest = min(self._all_idle(), default=None, key=lambda one: one[0])
        if oldest is not None and self._others_need_places(oldest[1].program.key):
            self._end_idle(oldest[1])
        try:
            given = await waiter
        except asyncio.CancelledError:
            self._withdraw(program.key, waiter)
            raise
        if given is None:
            return self._started(program)
        return given if given.can_go_on else await self.take(program)  # it may just have died

    def _withdraw(self, key: bytes, waiter: _Waiter) -> None:
        """Take a waiter out of the queue, or pass on what it was just given."""
        if not waiter.cancelled() and waiter.exception() is None:
            given = waiter.result()
            self._pass_on_place() if given is None else self.give_back(given)
            return
        queue = self._waiting.get(key)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._waiting[key]

    def _next(self, key: bytes | None = None) -> _Waiter | None:
        """Take the next waiter of a program, or of the program whose turn it is."""
        while self._waiting:
            chosen = next(iter(self._waiting)) if key is None else key
            queue = self._waiting.get(chosen)
            if queue is None:
                return None
            waiter = queue.popleft()
            if queue:
                self._waiting.move_to_end(chosen)  # programs take turns
            else:
                del self._waiting[chosen]
            if not waiter.done():
                return waiter
        return None

    def _others_need_places(self, key: bytes) -> bool:
        """Whether more calls of other programs wait than places are about to become free."""
        others = sum(len(queue) for other, queue in self._waiting.items() if other != key)
        return others > 0 and others > sum(one.is_ending for one in self._alive)

    def _pass_on_place(self) -> None:
        """Give a free place to the next who waits, or keep it."""
        if waiter := self._next():
            waiter.set_result(None)
        else:
            self._places += 1

    def _forget(self, interpreter: Interpreter) -> None:
        """A process has ended: its place is free and its folder goes."""
        self._alive.discard(interpreter)
        self._drop_idle(interpreter)
        self._pass_on_place()
        try:
            (Path(interpreter.home) / "work").rmdir()
            Path(interpreter.home).rmdir()
        except OSError:  # something is in it, perhaps much
            self._aside(remove, interpreter.home)

    def _aside(self, work: Callable[..., None], *args: object) -> None:
        """Do what may take long beside the loop."""
        removal = asyncio.get_running_loop().run_in_executor(None, work, *args)
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)

    def _all_idle(self) -> Iterator[tuple[float, Interpreter]]:
        return (one for warm in self._idle.values() for one in warm)

    def _end_idle(self, interpreter: Interpreter) -> None:
        self._drop_idle(interpreter)
        interpreter.end(at_once=True)

    def _drop_idle(self, interpreter: Interpreter) -> None:
        key = interpreter.program.key
        left = [one for one in self._idle.get(key, ()) if one[1] is not interpreter]
        if left:
            self._idle[key] = left
        else:
            self._idle.pop(key, None)

    def _watch_idle(self) -> None:
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(self._habits.idle, self._end_those_idle)

    def _end_those_idle(self) -> None:
        """End what nobody wanted for a while."""
        self._sweep = None
        latest = time.monotonic() - self._habits.idle
        for since, interpreter in list(self._all_idle()):
            if since <= latest:
                self._end_idle(interpreter)
        if self._idle:
            self._watch_idle()


__all__ = ["Closed", "Habits", "Pool"]
