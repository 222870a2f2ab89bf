"""What a worker and a queue say to each other: leases one way, flushes the other.

The queue counts and keeps; it knows no plan, no condition and no policy. Holds no connection.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol

WIDTH = 2_097_152
"""Items are numbered from one; those inside item i follow i times this."""


class State(IntEnum):
    """Where a step stands. Settled are done, failed, skipped, cancelled and dead."""

    WAITING = 0
    READY = 1
    LEASED = 2
    DONE = 3
    FAILED = 4
    SKIPPED = 5
    CANCELLED = 6
    DEAD = 7
    RETRYING = 8
    PARKED = 9
    IN_DOUBT = 10


class Status(IntEnum):
    """How an execution stands."""

    RUNNING = 0
    COMPLETED = 1
    FAILED = 2
    CANCELLED = 3


class Halt(IntEnum):
    """Why nothing further of an execution may begin."""

    PAUSED = 1
    FAILING = 2
    CANCELLED = 3


class Fenced(Exception):
    """This worker was given up: what it wanted to settle is not its own any more."""


class Stale(Exception):
    """A flush named a step that this worker does not hold; nothing of the flush was done."""


class BadValue(Exception):
    """The queue refuses a value; nothing of the flush was done."""


class Lost(Exception):
    """The answer of a flush was lost; nobody knows whether it was done."""


class Lease(NamedTuple):
    """This worker may do this step. What is None the worker knows already."""

    execution_id: int
    idx: int
    item: int
    lease: int
    attempt: int
    crashes: int
    live: int
    before: int
    lane: int
    plan: int | None = None
    payload: str | None = None
    special: bool = False
    note: str | None = None
    answer: str | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        """Which step of which execution it is."""
        return self[:3]


class Settled(NamedTuple):
    """What became of a step; `lease` is 0 for one that was passed through without a lease.

    `kind` is the number of the event that tells it, 0 for none. Texts are JSON from the one
    encoder, or `@` and the digest of a payload that was stored before.
    """

    execution_id: int
    idx: int
    item: int
    lease: int
    state: int
    kind: int
    attempt: int
    result: str | None = None
    error: str | None = None
    extra: str | None = None
    note: str | None = None
    answer: str | None = None
    delay: float | None = None
    lane: int = 0


class Token(NamedTuple):
    """Of the ways that lead to a step `n` are decided, and `live` of them bring control.

    `waits` is negative where the first live way is enough; `keep` asks for the lease at once.
    """

    execution_id: int
    idx: int
    item: int
    waits: int
    n: int
    live: int
    lane: int
    keep: bool


class Opened(NamedTuple):
    """An iterator's window: the first `next` items are handed out by tokens of the same flush."""

    execution_id: int
    idx: int
    item: int
    total: int
    next: int
    tolerate: int
    entries: tuple[int, ...]
    lanes: tuple[int, ...]


class Ended(NamedTuple):
    """So many items of an iterator are over, and so many of them failed."""

    execution_id: int
    idx: int
    item: int
    ended: int
    failed: int
    lane: int
    keep: int


class Over(NamedTuple):
    """An execution has come to its end."""

    execution_id: int
    status: int
    result: str | None
    error: str | None


class Halted(NamedTuple):
    """Nothing further of an execution may begin."""

    execution_id: int
    kind: int
    reason: str | None


class Arrived(NamedTuple):
    """What a parked step waits for is there."""

    execution_id: int
    idx: int
    item: int
    text: str


class Awaited(NamedTuple):
    """A step is parked until something arrives."""

    execution_id: int
    idx: int
    item: int
    lane: int
    token: str | None


class Told(NamedTuple):
    """A further event."""

    kind: int
    execution_id: int
    idx: int | None
    item: int | None
    attempt: int | None
    data: str | None


@dataclass(slots=True)
class Flush:
    """Everything a worker has to say at once. It stands or falls as a whole."""

    settled: list[Settled] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    over: list[Over] = field(default_factory=list)
    halts: list[Halted] = field(default_factory=list)
    arrived: list[Arrived] = field(default_factory=list)
    awaited: list[Awaited] = field(default_factory=list)
    released: list[tuple[int, int, int]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    relaxed: int = 0
    """How many of the settled steps may be lost with the server: they would be done again."""
    has_large: bool = False
    """Whether a result in it is to be stored apart before it is sent."""

    @property
    def may_be_lost(self) -> bool:
        """Whether all of it may be: no other step, no end, nothing that somebody else waits for."""
        if self.relaxed != len(self.settled) or self.over or self.halts:
            return False
        if self.arrived or self.awaited or self.opened or self.released:
            return False
        ours = {one.execution_id for one in self.settled}
        return all(one.execution_id in ours for one in self.told)

    def __bool__(self) -> bool:
        return bool(self.settled or self.told or self.tokens or self.over or self.arrived)


@dataclass(frozen=True, slots=True)
class Wish:
    """How much more a worker wants, by pool; and how it is."""

    pools: tuple[str, ...] = ("",)
    wants: tuple[int, ...] = (0,)
    only: tuple[int, ...] | None = None
    alone: bool = False
    beat: bool = False
    asleep: bool = False
    holds: Sequence[tuple[int, int, int]] | None = None
    """With a beat, all that the worker holds: what was noted of it before can be forgotten."""


@dataclass(frozen=True, slots=True)
class Flushed:
    """What came of a flush: new leases, halted executions, and when the next timer is due."""

    leases: Sequence[Lease] = ()
    halted: Sequence[tuple[int, int]] = ()
    due: float | None = None
    alone_waits: bool = False
    sleepers: Sequence[int] = ()
    others: Sequence[tuple[int, int]] = ()
    """With a beat: the other workers and how often each has beaten."""
    closing: bool = False
    """With a beat: whether an execution waits for its end."""


class Queue(Protocol):
    """Who may do a step."""

    def flush(self, flush: Flush, wish: Wish) -> Flushed:
        """Settle, unlock and take; raise Fenced, Stale, BadValue or Lost."""

    def held(self) -> list[Lease]:
        """Return what this worker holds."""


__all__ = [
    "WIDTH",
    "Arrived",
    "Awaited",
    "BadValue",
    "Ended",
    "Fenced",
    "Flush",
    "Flushed",
    "Halt",
    "Halted",
    "Lease",
    "Lost",
    "Opened",
    "Over",
    "Queue",
    "Settled",
    "Stale",
    "State",
    "Status",
    "Token",
    "Told",
    "Wish",
]
