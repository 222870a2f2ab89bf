"""Let a worker live, one life after another, until it is told to leave; then let it leave in order.

A life ends early when others gave it up or the database was away for too long; the next one begins
at once, or after a pause that grows. Builds nothing and talks to no broker.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from noetl_mcp.database import Error, NotReachable
from noetl_mcp.queue.lease import BadValue, Flush, Flushed, Lost, Stale
from noetl_mcp.worker.calling_off import ITEMS
from noetl_mcp.worker.engine import Broken, GivenUp, Held
from noetl_mcp.worker.hints import END, HALT
from noetl_mcp.worker.worker import Equipment, Worker

_ENDS_A_LIFE = (GivenUp, Broken, Error, NotReachable, Lost, Stale, BadValue)
_SOONEST, _LATEST = 0.05, 5.0
_LOOK = 0.05
_ANNOYING, _LOOKS = 3.0, 1.0
"""Trouble that lasts so long is told; how often it is looked for."""
_PATIENCE = 5.0
"""So long after the grace of what reads, who leaves waits for a database that refuses."""


@dataclass(frozen=True, slots=True)
class Grace:
    """How long what runs may go on when its worker is told to leave."""

    reading: timedelta = timedelta(seconds=10)
    writing: timedelta = timedelta(seconds=30)


class Lives:
    """A worker that begins a new life whenever one has ended too soon."""

    def __init__(
        self,
        equipment: Equipment,
        *,
        grace: Grace | None = None,
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._equipment = equipment
        self._grace = grace or Grace()
        self._told = told
        self.awaken: Callable[[Sequence[int]], None] | None = None
        """Called with the workers that slept while there was work; only where nobody else does."""
        self._worker: Worker | None = None
        self._leaving: float | None = None
        self._leaves = asyncio.Event()
        self._hurried = False
        self.begun = 0

    async def live(self) -> None:
        """Live until told to leave."""
        wait = _SOONEST
        complains = asyncio.create_task(self._complain())
        try:
            while self._leaving is None:
                wait = await self._live_once(wait)
        finally:
            complains.cancel()

    async def _live_once(self, wait: float) -> float:
        """Live one life, then pause; return how long the pause after the next one is."""
        worker, since = Worker(self._equipment), time.monotonic()
        patrol = asyncio.create_task(self._patrol())
        try:
            await worker.run(self._started)
        except _ENDS_A_LIFE as problem:
            why = str(problem).partition("\n")[0]
            if self._leaving is None:
                self._told(f"a new life begins: {why}")
        finally:
            self._worker = None
            patrol.cancel()
        if self._leaving is None:
            wait = _SOONEST if time.monotonic() - since > _LATEST else min(wait * 2, _LATEST)
            await asyncio.sleep(wait)
        return wait

    @property
    def trouble(self) -> str | None:
        """Why what was done here cannot be written down for a while now; None while it can."""
        trouble = self._worker.engine.line.trouble if self._worker is not None else None
        if trouble is None or time.monotonic() - trouble.since < _ANNOYING:
            return None
        return trouble.why

    async def _complain(self) -> None:
        """Say once that the database refuses what was done, and that it takes it again."""
        told = False
        while True:
            await asyncio.sleep(_LOOKS)
            why = self.trouble
            if why is not None and not told:
                self._told(f"the database does not take what was done; trying again: {why}")
            if why is None and told and self._worker is not None:
                self._told("the database takes what was done again")
            told = why is not None

    def _started(self, worker: Worker) -> None:
        self._worker = worker
        self.begun += 1
        worker.engine.ticked = self._also_awakening(worker.engine.ticked)

    def _also_awakening(
        self, ticked: Callable[[Flushed, Flush], None]
    ) -> Callable[[Flushed, Flush], None]:
        """Return what is called after each flush, with the waking of others in it."""

        def both(flushed: Flushed, flush: Flush) -> None:
            ticked(flushed, flush)
            if flushed.sleepers and self.awaken is not None:
                self.awaken(flushed.sleepers)

        return both

    @property
    def number(self) -> int | None:
        """The number of the worker that lives now."""
        return self._worker.engine.line.worker if self._worker is not None else None

    @property
    def held(self) -> int:
        """How many steps it has begun."""
        return len(self._worker.engine.held) if self._worker is not None else 0

    @property
    def writes(self) -> bool:
        """Whether it is at a step that would be in doubt, if it were stopped now."""
        worker = self._worker
        held = [] if worker is None else list(worker.engine.held.values())
        return worker is not None and any(_writes(worker, one) for one in held)

    def hear(self, channel: str, text: str) -> None:
        """Take a hint, from any thread: look for work, or for what is to be ended."""
        worker = self._worker
        if worker is None:
            return
        if channel == HALT:
            if text == END:
                worker.tending.end_calls.hint()
            elif text.startswith(ITEMS):
                worker.tending.calling_off.hear(text)
            worker.engine.beat()
        elif not text or str(worker.engine.line.worker) in text.split(","):
            worker.engine.wake()

    def leave(self, grace: Grace | None = None) -> None:
        """Take no more; go when what runs is over or was handed back."""
        self._grace = grace or self._grace
        self._leaving = self._leaving or time.monotonic()
        self._leaves.set()
        if self._worker is not None:
            self._worker.engine.stop()

    def hurry(self) -> None:
        """Leave, and stop at once what runs: a write that is stopped so is in doubt."""
        self._hurried = True
        self.leave()

    async def _patrol(self) -> None:
        """Once leaving, stop what takes too long: reading steps first, writing ones last."""
        stopped: set[asyncio.Task[None]] = set()
        await self._leaves.wait()
        while True:
            await asyncio.sleep(_LOOK)
            worker, since = self._worker, self._leaving
            if worker is None or since is None:
                continue
            worker.engine.stop()
            waited = time.monotonic() - since
            patience = self._grace.reading.total_seconds() + _PATIENCE
            if worker.engine.line.trouble is not None and (self._hurried or waited > patience):
                worker.engine.line.abandon()
            for held in list(worker.engine.held.values()):
                grace = self._grace.writing if _writes(worker, held) else self._grace.reading
                is_late = self._hurried or waited > grace.total_seconds()
                if held.task is not None and is_late and held.task not in stopped:
                    stopped.add(held.task)
                    held.task.cancel()


def _writes(worker: Worker, held: Held) -> bool:
    """Whether nobody could tell what a step has done, if it were stopped now."""
    run = worker.runs.get(held.lease.execution_id)
    if run is None:
        return False
    node = run.program.nodes[held.lease.idx]
    return node.writes and node.more.get("idempotent") is not True


__all__ = ["Grace", "Lives"]
