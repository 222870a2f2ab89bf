"""The flush thread: one connection, one flush after another, never two at once.

Repeats what was only in somebody's way; asks what it holds when an answer was lost. Decides
nothing about steps: results go to the loop as they come.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from noetl_mcp.database import Connection, Error, NotReachable, TupleRow
from noetl_mcp.queue.lease import (
    BadValue,
    Fenced,
    Flush,
    Flushed,
    Lease,
    Lost,
    Stale,
    Wish,
)
from noetl_mcp.queue.postgres import PostgresQueue
from noetl_mcp.worker.mending import halves, one_by_one

_IN_THE_WAY = ("40P01", "40001", "55P03")
_REFUSED = ("0A", "21", "2F", "42", "P0")
"""Classes of errors that come again however often the same is sent."""
_MOST_TRIES = 20
Answer = Callable[[Flushed | BaseException, Flush], None]


class Trouble(NamedTuple):
    """What the database says instead of taking a flush, and since when."""

    why: str
    since: float


class Regained(Flushed):
    """What a flush brought whose answer was lost or that came through in parts.

    Among the leases are such as the worker has begun or ended already.
    """


class Line:
    """The way from a worker to the queue."""

    def __init__(
        self, connect: Callable[[], Connection[TupleRow]], worker: int, epoch: int
    ) -> None:
        self._connect = connect
        self.worker = worker
        self.epoch = epoch
        self._wanted = threading.Condition()
        self._next: tuple[Flush, Wish, Answer] | None = None
        self._stopping = False
        self._queue: PostgresQueue | None = None
        self.acknowledged = time.clock_gettime(_CLOCK)
        """When the last beat that the database answered was sent."""
        self.flushes = 0
        self.losses = 0
        """How often the connection was lost."""
        self.trouble: Trouble | None = None
        """Why what is to be said does not get through, for as long as it does not."""
        self._shut = False
        self._thread = threading.Thread(target=self._work, name="flush", daemon=True)

    def start(self) -> None:
        """Begin to take flushes."""
        self._thread.start()

    def send(self, flush: Flush, wish: Wish, answer: Answer) -> None:
        """Send one flush; `answer` is called from the flush thread with what came of it."""
        with self._wanted:
            self._next = (flush, wish, answer)
            self._wanted.notify()

    def abandon(self) -> None:
        """Try no longer to get through; what was not said is lost, as if the process had died."""
        self._stopping = True

    def stop(self) -> None:
        """Let the thread end once nothing is to be sent."""
        with self._wanted:
            self._stopping = True
            self._wanted.notify()
        self._thread.join(30)

    def _work(self) -> None:
        while True:
            with self._wanted:
                while self._next is None and not self._stopping:
                    self._wanted.wait()
                job, self._next = self._next, None
            if job is None:
                break
            flush, wish, answer = job
            try:
                said: Flushed | BaseException = self._carry(flush, wish)
            except Exception as problem:  # noqa: BLE001 - else the loop would wait for ever
                said = problem
            answer(said, flush)
        if self._queue is not None:
            self._queue.connection.close()

    def _carry(self, flush: Flush, wish: Wish, *, mends: bool = True) -> Flushed | BaseException:
        """Bring a flush through, whatever stands in its way for a while."""
        wait = 0.01
        regained: list[Lease] = []
        for number in range(1_000_000):
            sent = time.clock_gettime(_CLOCK)
            try:
                done = self._open().flush(flush, wish)
            except Fenced as problem:
                self.shut()
                return problem
            except (Stale, BadValue) as problem:
                return self._mended(flush, wish, problem) if mends else problem
            except (Lost, Error, NotReachable) as problem:
                self._note(problem)
                code = str(problem)[:5]
                if code in _IN_THE_WAY and number < _MOST_TRIES:
                    time.sleep(wait)
                    continue
                if code[:2] in _REFUSED:
                    return self._mended(flush, wish, problem) if mends else BadValue(str(problem))
                held = self._after_loss(wait)
                if isinstance(held, BaseException):
                    return held
                wish = replace(wish, holds=None)  # more may be held by now
                wait = min(wait * 2, 1.0)
                ours = {(one[:3], one.lease) for one in flush.settled if one.lease}
                if ours.isdisjoint((one.key, one.lease) for one in held) and ours:
                    self._heard(sent, wish)
                    self.trouble = None
                    return Regained(held)
                # What another attempt leased is begun, although its answer never came.
                regained = [one for one in held if (one.key, one.lease) not in ours]
                wish = _quiet(wish) if regained else wish
                continue
            self._heard(sent, wish)
            self.flushes += 1
            self.trouble = None
            return _with(regained, done) if regained else done
        return Lost("the flush could not be brought through")

    def _note(self, problem: Exception) -> None:
        since = time.monotonic() if self.trouble is None else self.trouble.since
        self.trouble = Trouble(" ".join(str(problem).split()), since)

    def _heard(self, sent: float, wish: Wish) -> None:
        """Note that the others can have heard a beat, and when it was sent."""
        if wish.beat and not self._shut:
            self.acknowledged = sent

    def _mended(self, flush: Flush, wish: Wish, why: Exception) -> Flushed | BaseException:
        """Bring a refused flush through in parts, without what is at fault."""
        wish = replace(wish, holds=None)
        parts = halves(flush)
        if parts is not None:
            first = self._carry(parts[0], _quiet(wish))
            if isinstance(first, BaseException):
                return first
            second = self._carry(parts[1], wish)
            return second if isinstance(second, BaseException) else _with(first.leases, second)
        held = self._after_loss(0.0)
        if isinstance(held, BaseException):
            return held
        leases: list[Lease] = []
        for back, last in one_by_one(flush, held, str(why)):
            done = self._carry(back, _quiet(wish), mends=False)
            if isinstance(done, BadValue):
                done = self._carry(last, _quiet(wish), mends=False)
            if isinstance(done, BaseException) and not isinstance(done, Stale):
                return done
            leases += done.leases if isinstance(done, Flushed) else ()
        return Regained(leases)

    def _after_loss(self, wait: float) -> list[Lease] | BaseException:
        """Connect anew, however long it takes, and ask what is held, if anything still is."""
        self.losses += 1
        while True:
            self._drop()
            if self._stopping:
                return Lost("the worker is stopping")
            time.sleep(wait)
            try:
                queue = self._open()
                queue.flush(Flush(), Wish((), ()))
                return queue.held()
            except Fenced as problem:
                self.shut()
                return problem
            except (Lost, Error, NotReachable):
                wait = min(max(wait, 0.005) * 2, 1.0)

    def _open(self) -> PostgresQueue:
        if self._queue is None:
            connection = self._connect()
            try:
                self._queue = PostgresQueue(connection, self.worker, self.epoch)
            except (Lost, Error):
                connection.close()
                raise
        return self._queue

    def _drop(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.connection.close()

    def shut(self) -> None:
        """Let nothing be sent any more that changes something: this life is over."""
        self._shut = True
        self.acknowledged = -math.inf

    def silent_for(self) -> float:
        """Return the seconds since the last answered beat was sent, through suspend too."""
        return time.clock_gettime(_CLOCK) - self.acknowledged


def _with(leases: Sequence[Lease], done: Flushed) -> "Regained":
    """Return what a flush brought, and further leases."""
    found = {one.name: getattr(done, one.name) for one in fields(Flushed)}
    return Regained(**{**found, "leases": [*leases, *done.leases]})


def _quiet(wish: Wish) -> Wish:
    """Return a wish for nothing more."""
    return replace(wish, wants=tuple(0 for _ in wish.wants), alone=False)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

__all__ = ["Answer", "Line", "Regained", "Trouble"]
