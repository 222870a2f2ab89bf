"""What a worker otherwise has a database for, in memory: for a dry run. Decides nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noetl_mcp.broker.lanes import Lane
from noetl_mcp.broker.records import Key, Outcome, Records
from noetl_mcp.broker.run import Run
from noetl_mcp.queue.lease import Flush, Flushed, Wish
from noetl_mcp.queue.memory import MemoryQueue, Place, Row, Store
from noetl_mcp.worker.settle import Work

BegunRow = tuple[int, int, int, int, int, int, str | None, str | None]


class Kept(Records):
    """What starting an execution keeps, in memory."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.numbers: dict[Lane, int] = {}

    def keep(self, text: str) -> str:
        """Return the text itself, however large."""
        return text

    def playbook(self, path: str, version: int | None) -> tuple[int, int] | None:
        """Return nothing: which versions hold is not written down in a dry run."""
        return None

    def lanes(self, wanted: Sequence[Lane]) -> dict[Lane, int]:
        """Return the number of each lane, making those that are new."""
        for lane in wanted:
            if lane not in self.numbers:
                number = self.numbers[lane] = len(self.numbers) + 1
                limits = dict(zip(lane.limits, lane.maxes, strict=True))
                self.store.lanes[number] = Place(lane.queue, lane.rank, limits)
        return self.numbers


class Straight:
    """The way to a queue that is in the same process."""

    def __init__(self, queue: MemoryQueue) -> None:
        self.queue = queue
        self.worker = queue.worker
        self.flushes = 0

    def send(
        self, flush: Flush, wish: Wish, answer: Callable[[Flushed | BaseException, Flush], None]
    ) -> None:
        """Bring a flush through at once."""
        self.flushes += 1
        answer(self.queue.flush(flush, wish), flush)

    def silent_for(self) -> float:
        """Return no time: what is in this process is always heard."""
        return 0.0


class Asked:
    """What bodies read, answered from memory."""

    def __init__(
        self,
        store: Store,
        start: Callable[[str, int | str, Mapping[str, Any], Key], int],
        result_of: Callable[[int, str], Any],
    ) -> None:
        self.store = store
        self._start = start
        self._result_of = result_of

    async def keep(self, text: str) -> str:
        """Return the text itself."""
        return text

    async def whole(self, text: str) -> str:
        """Return the text itself."""
        return text

    async def items(
        self, execution_id: int, idxs: Sequence[int], first: int, last: int
    ) -> dict[tuple[int, int], Outcome]:
        """Return the steps of an iterator's items."""
        return {
            (idx, item): Outcome(row.state, row.result, row.error, row.extra)
            for (number, idx, item), row in self.store.steps.items()
            if number == execution_id and idx in idxs and first <= item <= last
        }

    async def fan(self, key: Key) -> tuple[int, int, int, int, int, bool] | None:
        """Return an iterator's window."""
        window = self.store.windows.get(key)
        if window is None:
            return None
        opened = window.opened
        counts = (opened.total, window.next, window.live, window.failed)
        return (*counts, opened.tolerate, window.closed)

    async def start_child(
        self, run: Run, work: Work, path: str, version: int | str, payload: Mapping[str, Any]
    ) -> int:
        """Start a child in memory, too."""
        return self._start(path, version, payload, work.lease.key)

    async def ended(self, execution_id: int) -> tuple[int, str | None, str | None] | None:
        """Return how an execution stands."""
        one = self.store.executions.get(execution_id)
        return None if one is None else (one.status, one.result or "null", one.error)

    async def result_of(self, execution_id: int, step: str) -> Any:
        """Return the result of a step of a child."""
        return self._result_of(execution_id, step)


def row_of(begun: BegunRow) -> Row:
    """Return the row of a step that an execution begins with."""
    _, state, lane, waits, toward, live, result, extra = begun
    return Row(state, lane, waits, toward, live, result=result, extra=extra)


__all__ = ["Asked", "BegunRow", "Kept", "Straight", "row_of"]
