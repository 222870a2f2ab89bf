"""What a worker will say with its next flush, and how much more it can hold.

Adds up tokens for the same step, decides which new steps the worker asks to keep, and counts what
is held. Sends nothing.
"""

from dataclasses import dataclass, field, replace

from noetl_mcp.queue.encode import LARGE
from noetl_mcp.queue.lease import Ended, Flush, Over, Settled, Token, Told, Wish
from noetl_mcp.queue.pools import is_computing

Key = tuple[int, int, int]
STICKY = 7 / 8
"""Successors may fill this share of the slots; the rest is taken from the queue, for fairness."""


@dataclass(slots=True)
class Slots:
    """How many steps a worker holds at most: those that wait for others, and those that compute."""

    waiting: int
    computing: int


@dataclass(slots=True, eq=False)
class Outbox:
    """The next flush in the making."""

    slots: Slots
    pools: tuple[str, ...]
    flush: Flush = field(default_factory=Flush)
    tokens: dict[Key, list[int]] = field(default_factory=dict)
    """By step: waits, decided, live, lane, whether it may be kept and whether it computes."""
    ended: dict[Key, list[int]] = field(default_factory=dict)
    """By iterator: items over, failed, lane, whether the items compute."""
    held: int = 0
    computing: int = 0
    size: int = 0

    def __bool__(self) -> bool:
        return bool(self.flush) or bool(self.tokens) or bool(self.ended)

    def settle(self, settled: Settled) -> None:
        """Say what became of a step."""
        self.flush.settled.append(settled)

    def passes(self, settled: Settled) -> None:
        """Say that a step was passed without a lease."""
        self.flush.settled.append(settled)
        self._weigh(settled.result)

    def ends(self, over: Over) -> None:
        """Say that an execution has come to its end."""
        self.flush.over.append(over)
        self._weigh(over.result)

    def _weigh(self, result: str | None) -> None:
        if result is not None and len(result) >= LARGE:
            self.flush.has_large = True

    def tell(self, told: Told) -> None:
        """Add an event."""
        self.flush.told.append(told)

    def token(
        self, key: Key, waits: int, n: int, live: int, lane: int, *, mine: bool, computes: bool
    ) -> None:
        """Say that ways to a step are decided; `mine` when this worker could do it."""
        found = self.tokens.get(key)
        if found is None:
            self.tokens[key] = [waits, n, live, lane, mine, computes]
        else:
            found[1] += n
            found[2] += live

    def end_item(self, key: Key, lane: int, *, failed: bool, computes: bool) -> None:
        """Say that an item of an iterator is over."""
        found = self.ended.setdefault(key, [0, 0, lane, computes])
        found[0] += 1
        found[1] += failed

    def take(self, wish: Wish, *, most: int | None = None) -> tuple[Flush, Wish]:
        """Return the flush and what is wanted with it, and begin a new one.

        `most` bounds the slots while the worker makes room.
        """
        flush, self.flush = self.flush, Flush()
        slots = self.slots.waiting if most is None else most
        room = max(0, int(slots * STICKY) - self.held)
        compute_room = max(0, min(self.slots.computing, slots) - self.computing)
        kept = kept_computing = 0
        for key, (waits, n, live, lane, mine, computes) in sorted(self.tokens.items()):
            keep = bool(mine) and (kept_computing < compute_room if computes else kept < room)
            kept_computing += keep and bool(computes)
            kept += keep and not computes
            flush.tokens.append(Token(*key, waits, n, live, lane, keep))
        for key, (ended, failed, lane, computes) in sorted(self.ended.items()):
            free = compute_room - kept_computing if computes else room - kept
            keep_items = max(0, min(ended, free))
            kept_computing += keep_items if computes else 0
            kept += 0 if computes else keep_items
            flush.ended.append(Ended(*key, ended, failed, lane, keep_items))
        self.tokens, self.ended = {}, {}
        self.size = 0
        free = max(0, slots - self.held - kept)
        free_computing = max(0, compute_room - kept_computing)
        wants = tuple(free_computing if is_computing(pool) else free for pool in self.pools)
        alone = wish.alone and not (self.held or self.computing)
        return flush, replace(wish, pools=self.pools, wants=wants, alone=alone)


__all__ = ["STICKY", "Key", "Outbox", "Slots"]
