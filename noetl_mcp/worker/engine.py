"""The loop of a worker: take leases, let steps begin, send what came of them, again.

There is no flush timer: the next flush starts when the former one is back, so what is said at once
grows with the load and shrinks to one step when idle. Knows no task and no template.
"""

import asyncio
import time
import traceback
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from noetl_mcp.queue.lease import (
    Fenced,
    Flush,
    Flushed,
    Lease,
    Settled,
    Wish,
)
from noetl_mcp.queue.pools import queues_behind
from noetl_mcp.worker.line import Line, Regained
from noetl_mcp.worker.outbox import Key, Outbox, Slots
from noetl_mcp.worker.pace import Pace

BEATS = 8
"""So often a worker beats while its lease runs; so often another must see the same beat."""
SUSPECT = 2
"""A step that took so many workers with it is done by one that holds nothing else."""
IDLE_MOST = 1.25
"""A worker without work asks at least once in so many seconds."""


@dataclass(slots=True)
class Held:
    """A step that this worker has begun."""

    lease: Lease
    computes: bool
    task: asyncio.Task[None] | None = None
    is_writing: Callable[[], bool] = lambda: False
    """Whether a write is under way, which is better let come to its end."""
    is_cancelled: bool = False
    """Whether it is stopped because its execution is cancelled."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How an engine works."""

    lease: timedelta = timedelta(seconds=15)
    waiting: int = 1_000
    computing: int = 16
    least_computing: int | None = None
    """So few are held where they take long; as many as `computing` at any pace when missing."""
    pools: tuple[str, ...] = queues_behind([""])
    only: tuple[int, ...] | None = None
    """Lease nothing but these executions and their children."""


class GivenUp(Exception):
    """Others have given this worker up; it must begin a new life."""


class Broken(Exception):
    """Something went wrong here that nobody thought of; what it was is the cause."""

    def __init__(self, problem: BaseException) -> None:
        *_, last = traceback.extract_tb(problem.__traceback__) or [None]
        place = f" ({last.name}, line {last.lineno})" if last is not None else ""
        super().__init__(f"a defect: {type(problem).__name__}: {problem}{place}")
        self.__cause__ = problem


@dataclass(eq=False)
class Engine:
    """One worker's loop. `begin` is called with new leases and settles them into the outbox."""

    line: Line
    terms: Terms
    begin: Callable[[list[Lease]], None]
    ticked: Callable[[Flushed, Flush], None] = lambda flushed, flush: None
    """Called with what every flush brought, for everything that is not a lease."""
    outbox: Outbox = field(init=False)
    held: dict[Key, Held] = field(default_factory=dict)
    only: list[int] | None = None

    def __post_init__(self) -> None:
        terms = self.terms
        self.outbox = Outbox(Slots(terms.waiting, terms.computing), terms.pools)
        least = terms.computing if terms.least_computing is None else terms.least_computing
        self._pace = Pace(least, terms.computing, time.monotonic())
        self.only = None if terms.only is None else list(terms.only)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flushing = False
        self._scheduled = False
        self._more = True  # the queue may hold more than was taken
        self._asleep = False
        self._stopping = False
        self._alone = 0.0  # since when a step waits that must be done alone
        self._suspects = 0  # such steps that are held
        self._beat_at = 0.0
        self._next_poll: asyncio.TimerHandle | None = None
        self._hungry = False  # the last look found nothing
        self._due: float | None = None
        self._ended: asyncio.Future[None] | None = None
        self.refused: Flush | None = None
        """What could not be said any more."""
        self.steps = 0

    # What others call

    async def run(self) -> None:
        """Work until stopped; raise GivenUp when others gave this worker up."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._send()
        try:
            await self._ended
        finally:
            if self._next_poll is not None:
                self._next_poll.cancel()

    def wake(self) -> None:
        """Look for work now; may be called from any thread, any number of times."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._woken)

    def stop(self) -> None:
        """Take nothing more; end when what is held is done or handed back."""
        self._stopping = True
        self.soon()

    def begun(
        self,
        lease: Lease,
        task: asyncio.Task[None] | None,
        *,
        computes: bool,
        is_writing: Callable[[], bool] = lambda: False,
    ) -> None:
        """Note that a step is at work here."""
        held = self.held.get(lease.key)
        if held is not None:
            held.task, held.is_writing = task, is_writing
            if computes and not held.computes:
                held.computes = True
                self.outbox.held -= 1
                self.outbox.computing += 1

    def settle(self, settled: Settled) -> None:
        """Say what became of a step that was held, or passed through."""
        if settled.lease:
            held = self.held.pop(settled[:3], None)
            if held is None:
                return
            self.outbox.held -= not held.computes
            if held.computes:
                self.outbox.computing -= 1
                self._pace.done()
            self._suspects -= held.lease.crashes >= SUSPECT
            self.steps += 1
        self.outbox.settle(settled)
        self.soon()

    def soon(self) -> None:
        """Send what is to be said, once whatever runs now has had its say."""
        if not self._scheduled and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._send)

    # The loop

    def beat(self) -> None:
        """Beat with the next flush, and send it now; may be called from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._beat_now)

    def _beat_now(self) -> None:
        self._beat_at = 0.0
        self._woken()

    def _woken(self) -> None:
        self._more = True
        self.soon()

    def _send(self) -> None:
        self._scheduled = False
        if self._flushing or self._ended is None or self._ended.done():
            return
        now = time.monotonic()
        beat = now - self._beat_at >= self.terms.lease.total_seconds() / BEATS
        if self._stopping and not self.held and not self.outbox:
            self._ended.set_result(None)
            return
        if not (self.outbox or beat or self._wants()):
            self._sleep()
            return
        self._flushing = True
        self._beat_at = now if beat else self._beat_at
        only = None if self.only is None else tuple(self.only)
        changed = self._hungry != self._asleep
        self._asleep = self._hungry
        alone = not self._stopping
        holds = tuple(self.held) if beat else None
        wish = Wish((), (), only, alone, beat or changed, self._asleep, holds)
        self.outbox.slots.computing = self._pace.look(now)
        flush, wish = self.outbox.take(wish, most=self._most())
        self.line.send(flush, wish, self._answered)

    def _wants(self) -> bool:
        """Whether there may be work for free slots."""
        return self._more and not self._stopping and self.outbox.held < self.terms.waiting

    def _most(self) -> int | None:
        """How many steps may be held now: none while a step that must be alone has its turn."""
        if self._stopping or self._suspects:
            return 0
        if self._alone and time.monotonic() - self._alone > 1.0:
            return 0
        return None

    def _answered(self, result: Flushed | BaseException, flush: Flush) -> None:
        """Called by the flush thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._taken, result, flush)

    def _taken(self, result: Flushed | BaseException, flush: Flush) -> None:
        try:
            self._flushed(result, flush)
        except Exception as problem:  # noqa: BLE001 - else it would hold its steps for ever
            self.broken(problem)

    def _flushed(self, result: Flushed | BaseException, flush: Flush) -> None:
        self._flushing = False
        if isinstance(result, BaseException):
            self._failed(result, flush)
            return
        self._due = result.due
        self._alone = (self._alone or time.monotonic()) if result.alone_waits else 0.0
        took = any(lease.before for lease in result.leases)
        leases = result.leases
        if isinstance(result, Regained):
            # What was ended here and is not yet said is not begun once more.
            said = {(one[:3], one.lease) for one in self.outbox.flush.settled}
            leases = [one for one in leases if (one.key, one.lease) not in said]
        fresh = [lease for lease in leases if self._hold(lease)]
        # Who finds nothing says so, and looks once more before it sleeps: else it could miss what
        # came between its look and its word.
        self._more = took or not self._hungry
        self._hungry = not took
        self.ticked(result, flush)
        if fresh:
            self.begin(fresh)
        if self.outbox or self._more or self._stopping:
            self.soon()
        else:
            self._sleep()

    def _hold(self, lease: Lease) -> bool:
        """Note a lease; say whether it is new."""
        held = self.held.get(lease.key)
        if held is not None and held.lease.lease >= lease.lease:
            return False
        if held is None:
            self.outbox.held += 1
            self.held[lease.key] = Held(lease, computes=False)
        else:
            self._suspects -= held.lease.crashes >= SUSPECT
            held.lease, held.is_cancelled = lease, False
        self._suspects += lease.crashes >= SUSPECT
        return True

    def _sleep(self) -> None:
        """Ask again after a while, sooner when a timer is due."""
        if self._loop is None:
            return
        wait = min(IDLE_MOST, self.terms.lease.total_seconds() / BEATS)
        if self._due is not None:
            wait = min(wait, max(0.001, self._due))
        if self._next_poll is not None:
            self._next_poll.cancel()
        self._next_poll = self._loop.call_later(wait, self._poll)

    def _poll(self) -> None:
        self._more = True
        self.soon()

    # When a flush was refused

    def _failed(self, problem: BaseException, flush: Flush) -> None:
        self.refused = flush
        if self._ended is None or self._ended.done():
            return
        if isinstance(problem, Fenced):
            self._ended.set_exception(GivenUp(str(problem)))
        else:
            self._ended.set_exception(problem)

    def broken(self, problem: BaseException) -> None:
        """End this life with what nobody thought of; others take its steps and count a crash."""
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(Broken(problem))

    def cancel(self, leases: Iterable[Lease], executions: Container[int]) -> None:
        """Stop those of some leases that are still held here and belong to one of the executions.

        Leases of a later round of an execution are none of them. A write that is under way comes to
        its end: stopped, it would be in doubt.
        """
        for lease in leases:
            held = self.held.get(lease.key)
            if lease.execution_id not in executions or held is None or held.task is None:
                continue
            if held.lease.lease == lease.lease and not held.is_writing():
                held.is_cancelled = True
                held.task.cancel()


__all__ = ["BEATS", "SUSPECT", "Broken", "Engine", "GivenUp", "Held", "Terms"]
