"""Know every job: what waits, what runs, how the last ones ended. Does none of them.

Pure but for the names it gives; time is an argument. For one thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import uuid4

from noetl_mcp.web.headless.calls import Order, same

State = Literal["ENQUEUED", "RUNNING", "SUCCEEDED", "FAILED"]
STATES: tuple[State, ...] = ("ENQUEUED", "RUNNING", "SUCCEEDED", "FAILED")


class Full(Exception):
    """No more calls may wait; the text says how many do."""


class KeyTaken(Exception):
    """An idempotency key belongs to another call; the text says to which."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may wait, and how much is kept of what is over."""

    waiting: int = 1_000
    waiting_bytes: int = 64 * 1024 * 1024
    kept: int = 1_000
    kept_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave, as JSON text, and why it has no result of its own if it has none."""

    payload: bytes
    code: str | None = None
    says: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """An order and how it stands."""

    id: str
    number: int
    order: Order
    enqueued: datetime
    is_kept: bool
    """Whether somebody may ask for it when it is over."""
    state: State = "ENQUEUED"
    started: datetime | None = None
    finished: datetime | None = None
    outcome: Outcome | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will change any more."""
        return self.state in ("SUCCEEDED", "FAILED")

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return self.order.size + (len(self.outcome.payload) if self.outcome else 0)


class Jobs:
    """All jobs of a server, by state."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._waiting: dict[str, Job] = {}
        self._waiting_bytes = 0
        self._running: Job | None = None
        self._over: dict[str, Job] = {}
        self._over_bytes = 0
        self._by_key: dict[str, str] = {}
        self._count = 0

    @property
    def running(self) -> Job | None:
        """What is being done."""
        return self._running

    def add(self, order: Order, now: datetime, *, is_kept: bool) -> Job:
        """Let an order wait for its turn; one that is known by its key is not added again."""
        known = self._known(order)
        if known is not None:
            return known
        most = self._bounds
        if len(self._waiting) >= most.waiting:
            raise Full(f"{most.waiting:,} calls wait already, which is all there may be")
        if self._waiting_bytes + order.size > most.waiting_bytes:
            raise Full(f"the calls that wait may have {most.waiting_bytes:,} bytes in all")
        self._count += 1
        job = Job(uuid4().hex, self._count, order, now, is_kept)
        self._waiting[job.id] = job
        self._waiting_bytes += order.size
        if order.key is not None:
            self._by_key[order.key] = job.id
        return job

    def begin(self, now: datetime) -> Job | None:
        """Return the job whose turn it is: the lowest priority, and of those the first to come."""
        if self._running is not None or not self._waiting:
            return None
        turn = min(self._waiting.values(), key=lambda job: (job.order.priority, job.number))
        self._out_of_line(turn)
        self._running = replace(turn, state="RUNNING", started=now)
        return self._running

    def settle(self, outcome: Outcome, now: datetime) -> Job:
        """Write down what came of the job that runs."""
        assert self._running is not None
        state: State = "SUCCEEDED" if outcome.code is None else "FAILED"
        job = replace(self._running, state=state, finished=now, outcome=outcome)
        self._running = None
        if job.is_kept:
            self._over[job.id] = job
            self._over_bytes += job.size
            self._forget()
        return job

    def drop(self, id_: str) -> bool:
        """Let a job go that has not begun; say whether there was one."""
        job = self._waiting.get(id_)
        if job is None:
            return False
        self._out_of_line(job)
        self._without_key(job)
        return True

    def job(self, id_: str) -> Job | None:
        """Return a job that somebody may ask for."""
        if self._running is not None and self._running.id == id_:
            return self._running
        return self._waiting.get(id_) or self._over.get(id_)

    def listed(self, state: State | None, most: int) -> Sequence[Job]:
        """Return jobs, the newest first."""
        running = [self._running] if self._running is not None else []
        found = [*self._over.values(), *running, *self._waiting.values()]
        chosen = [job for job in found if state in (None, job.state)]
        return sorted(chosen, key=lambda job: -job.number)[:most]

    def counts(self) -> dict[State, int]:
        """Say how many jobs there are of each state, among those that are kept."""
        states = [job.state for job in self._over.values()]
        return {
            "ENQUEUED": len(self._waiting),
            "RUNNING": int(self._running is not None),
            "SUCCEEDED": states.count("SUCCEEDED"),
            "FAILED": states.count("FAILED"),
        }

    def _known(self, order: Order) -> Job | None:
        id_ = None if order.key is None else self._by_key.get(order.key)
        job = None if id_ is None else self.job(id_)
        if job is None:
            return None
        if not same(job.order.call, order.call):
            raise KeyTaken(
                "this idempotencyKey belongs to another call, "
                f"job {job.id} of {job.order.call.method}; take a new key for a new call"
            )
        return job

    def _out_of_line(self, job: Job) -> None:
        del self._waiting[job.id]
        self._waiting_bytes -= job.order.size

    def _without_key(self, job: Job) -> None:
        if job.order.key is not None:
            self._by_key.pop(job.order.key, None)

    def _forget(self) -> None:
        """Drop the oldest of what is over, so that the rest fits; the newest stays."""
        most = self._bounds
        while len(self._over) > 1 and (
            len(self._over) > most.kept or self._over_bytes > most.kept_bytes
        ):
            oldest = self._over.pop(next(iter(self._over)))
            self._over_bytes -= oldest.size
            self._without_key(oldest)


__all__ = ["STATES", "Bounds", "Full", "Job", "Jobs", "KeyTaken", "Outcome", "State"]
