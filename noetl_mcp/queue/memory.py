"""The queue in memory: for runs that need no database, and for tests. Copies only the counting.

Keeps what it is told as long as it lives; one process, any number of workers of it. Passes the
same exam as the one in Postgres.
"""

import heapq
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from noetl_mcp.queue.lease import (
    WIDTH,
    Arrived,
    Awaited,
    Ended,
    Fenced,
    Flush,
    Flushed,
    Halt,
    Lease,
    Opened,
    Settled,
    Stale,
    State,
    Status,
    Token,
    Told,
    Wish,
)

Key = tuple[int, int, int]
_LEASABLE = (State.READY, State.RETRYING, State.PARKED)


@dataclass(frozen=True, slots=True)
class Place:
    """What a lane says: its queue, how soon, and how many at once under which names."""

    queue: str = ""
    rank: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Row:
    """A step."""

    state: int = State.WAITING
    lane: int = 0
    waits: int = 0
    toward: int = 0
    live: int = 0
    lease: int = 0
    attempt: int = 0
    crashes: int = 0
    owner: int | None = None
    result: str | None = None
    error: str | None = None
    extra: str | None = None
    note: str | None = None
    answer: str | None = None


@dataclass(slots=True)
class Execution:
    """An execution."""

    plan: int
    payload: str
    status: int = Status.RUNNING
    result: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Window:
    """The items of an iterator that are not over."""

    opened: Opened
    next: int
    live: int
    failed: int = 0
    closed: bool = False


@dataclass(eq=False)
class Store:
    """Everything that workers share."""

    clock: Callable[[], float] = time.monotonic
    executions: dict[int, Execution] = field(default_factory=dict)
    steps: dict[Key, Row] = field(default_factory=dict)
    queues: dict[str, list[tuple[int, int, Key]]] = field(default_factory=dict)
    timers: list[tuple[float, int, Key]] = field(default_factory=list)
    windows: dict[Key, Window] = field(default_factory=dict)
    signals: dict[Key, str] = field(default_factory=dict)
    waiting: set[Key] = field(default_factory=set)
    permits: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    halts: dict[int, int] = field(default_factory=dict)
    lanes: dict[int, Place] = field(default_factory=lambda: {0: Place()})
    workers: dict[int, int] = field(default_factory=dict)
    events: list[Told] = field(default_factory=list)
    numbers: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """Return the next number."""
        return next(self.numbers)  # type: ignore[call-overload,no-any-return]  # a count

    def place(self, lane: int) -> Place:
        """Return what a lane says."""
        return self.lanes.get(lane, self.lanes[0])

    def queue(self, key: Key, lane: int) -> None:
        """Leave a hint that a step may be leased."""
        place = self.place(lane)
        heapq.heappush(self.queues.setdefault(place.queue, []), (place.rank, self.number(), key))

    def start(self, plan: int, payload: str, begins: Iterable[tuple[int, Row]]) -> int:
        """Start an execution with the steps it begins with."""
        number = self.number()
        self.executions[number] = Execution(plan, payload)
        for idx, row in begins:
            key = (number, idx, 0)
            self.steps[key] = row
            if row.state == State.READY:
                self.queue(key, row.lane)
        return number

    def arrive(self, key: Key, text: str) -> None:
        """Tell a step what it waits for; the first word counts."""
        self.signals.setdefault(key, text)
        if key in self.waiting:
            self.queue(key, self.steps[key].lane)


class MemoryQueue:
    """One worker's leases in a store."""

    def __init__(self, store: Store, worker: int, epoch: int = 0) -> None:
        self.store = store
        self.worker = worker
        self.epoch = epoch
        store.workers.setdefault(worker, epoch)

    def flush(self, flush: Flush, wish: Wish) -> Flushed:
        """Settle, unlock and take; all or nothing."""
        store = self.store
        if store.workers.get(self.worker) != self.epoch:
            raise Fenced("fenced")
        if not all(self._may_settle(one) for one in flush.settled):
            raise Stale("stale")
        touched = {one.execution_id for one in flush.settled}
        halted = [(n, kind) for n, kind in store.halts.items() if n in touched]
        stopped = {number for number, _ in halted}
        for one in flush.settled:
            self._settle(one)
        for key in flush.released:
            store.permits.pop(key, None)
        leases = [lease for token in flush.tokens for lease in self._token(token, stopped)]
        for opened in flush.opened:
            store.windows[opened[:3]] = Window(opened, opened.next, opened.next)
        for ended in flush.ended:
            leases += self._ended(ended, stopped)
        self._close(flush)
        for arrived in flush.arrived:
            self._arrived(arrived)
        for awaited in flush.awaited:
            self._awaited(awaited)
        store.events += flush.told
        leases += self._taken(wish)
        due = store.timers[0][0] - store.clock() if store.timers else None
        return Flushed(leases, [*halted, *((h[0], h[1]) for h in flush.halts)], due)

    def held(self) -> list[Lease]:
        """Return what this worker holds."""
        return [
            self._lease(key, row, State.LEASED)
            for key, row in self.store.steps.items()
            if row.state == State.LEASED and row.owner == self.worker
        ]

    # Settling

    def _may_settle(self, one: Settled) -> bool:
        row = self.store.steps.get(one[:3])
        if one.lease == 0:
            return row is None or row.state == State.WAITING
        return (
            row is not None
            and row.state == State.LEASED
            and row.owner == self.worker
            and row.lease == one.lease
        )

    def _settle(self, one: Settled) -> None:
        store, key = self.store, one[:3]
        row = store.steps.setdefault(key, Row())
        row.state, row.attempt, row.lane = one.state, one.attempt, one.lane
        row.result, row.error, row.extra = one.result, one.error, one.extra
        row.note, row.answer = one.note, one.answer
        row.owner = self.worker if one.state == State.LEASED else None
        if one.kind:
            data = one.result or one.error or one.note
            store.events.append(Told(one.kind, *key, one.attempt, data))
        if one.delay is not None:
            due = store.clock() + one.delay
            heapq.heappush(store.timers, (due, store.number(), key))
        if one.state == State.READY:
            store.queue(key, one.lane)

    def _token(self, token: Token, stopped: set[int]) -> list[Lease]:
        """Count a token; lease the step to this worker when it is unlocked and kept."""
        store, key = self.store, token[:3]
        row = store.steps.get(key)
        if row is None:
            row = store.steps[key] = Row(toward=abs(token.waits), lane=token.lane)
        row.waits, row.lane = token.waits, token.lane
        row.toward -= token.n
        row.live += token.live
        unlocked = row.toward <= 0 or (row.waits < 0 and row.live > 0)
        if row.state != State.WAITING or not unlocked:
            return []
        if key[0] in stopped or not token.keep:
            row.state = State.READY
            if key[0] not in stopped:
                store.queue(key, row.lane)
            return []
        return [self._give(key, row, State.WAITING)]

    def _ended(self, ended: Ended, stopped: set[int]) -> list[Lease]:
        """Count items that are over, and hand the next ones out."""
        store, key = self.store, ended[:3]
        window = store.windows.get(key)
        if window is None:
            return []
        opened = window.opened
        window.failed += ended.failed
        window.closed = window.closed or window.failed > opened.tolerate
        give = min(ended.ended, opened.total - window.next)
        give = 0 if window.closed or key[0] in stopped else give
        found: list[Lease] = []
        for number in range(window.next, window.next + give):
            for idx, lane in zip(opened.entries, opened.lanes, strict=True):
                inner = (key[0], idx, key[2] * WIDTH + number + 1)
                row = store.steps[inner] = Row(State.READY, lane, live=1)
                if len(found) < ended.keep:
                    found.append(self._give(inner, row, State.WAITING))
                else:
                    store.queue(inner, lane)
        window.next += give
        window.live += give - ended.ended
        if window.live <= 0 and (window.closed or window.next >= opened.total):
            store.queue(key, ended.lane)
        return found

    def _close(self, flush: Flush) -> None:
        store = self.store
        for over in flush.over:
            execution = store.executions[over.execution_id]
            if execution.status == Status.RUNNING:
                execution.status, execution.result = over.status, over.result
                execution.error = over.error
            store.halts.pop(over.execution_id, None)
        for halt in flush.halts:
            execution = store.executions[halt.execution_id]
            execution.error = execution.error or halt.reason
            former = store.halts.get(halt.execution_id, Halt.PAUSED)
            store.halts[halt.execution_id] = max(former, halt.kind)

    def _arrived(self, arrived: Arrived) -> None:
        self.store.arrive(arrived[:3], arrived.text)

    def _awaited(self, awaited: Awaited) -> None:
        key = awaited[:3]
        self.store.waiting.add(key)
        if key in self.store.signals:
            self.store.queue(key, awaited.lane)

    # Taking

    def _taken(self, wish: Wish) -> list[Lease]:
        store = self.store
        while store.timers and store.timers[0][0] <= store.clock():
            _, _, key = heapq.heappop(store.timers)
            store.queue(key, store.steps[key].lane)
        found: list[Lease] = []
        for pool, want in zip(wish.pools, wish.wants, strict=True):
            found += self._from(pool, want, wish)
        if wish.wants and wish.wants[0] > 0:
            for queue in [name for name in store.queues if name.startswith("=")]:
                found += self._from(queue, wish.wants[0] - len(found), wish)
        return found

    def _from(self, queue: str, want: int, wish: Wish) -> list[Lease]:
        """Lease from one queue, as far as its limits allow."""
        store, found, left = self.store, list[Lease](), list[tuple[int, int, Key]]()
        hints = store.queues.get(queue, [])
        while hints and len(found) < want:
            hint = heapq.heappop(hints)
            key = hint[2]
            row = store.steps.get(key)
            if row is None or row.state not in _LEASABLE or key[0] in store.halts:
                continue
            if wish.only is not None and key[0] not in wish.only:
                left.append(hint)
                continue
            limits = store.place(row.lane).limits
            if any(self._taken_of(name) >= most for name, most in limits.items()):
                left.append(hint)
                break
            if limits:
                store.permits[key] = tuple(limits)
            found.append(self._give(key, row, State(row.state)))
        for hint in left:
            heapq.heappush(hints, hint)
        return found

    def _taken_of(self, name: str) -> int:
        return sum(name in names for names in self.store.permits.values())

    def _give(self, key: Key, row: Row, before: State) -> Lease:
        row.state, row.owner = State.LEASED, self.worker
        row.lease += 1
        row.attempt += before != State.PARKED
        return self._lease(key, row, before)

    def _lease(self, key: Key, row: Row, before: State) -> Lease:
        execution = self.store.executions.get(key[0])
        known = before == State.WAITING
        counts = (row.lease, row.attempt, row.crashes, row.live, int(before), row.lane)
        lease = Lease(*key, *counts)
        if known or execution is None:
            return lease
        return lease._replace(
            plan=execution.plan, payload=execution.payload, note=row.note, answer=row.answer
        )


__all__ = ["Execution", "MemoryQueue", "Place", "Row", "Store", "Window"]
