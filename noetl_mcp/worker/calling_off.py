"""Stop the items of an iterator that too many others have failed: here, and by a word to others.

Only where the steps of an item follow one another, so that an item ends with the step that is
stopped. What writes is left alone, and so is what waits for somebody or for a child.
"""

from collections import deque
from typing import TYPE_CHECKING

from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.records import Key
from noetl_mcp.broker.run import Run
from noetl_mcp.database import statements
from noetl_mcp.queue.lease import WIDTH, Flush

if TYPE_CHECKING:
    from noetl_mcp.worker.worker import Worker

SQL = statements(__file__, "calling_off.sql")
ITEMS = "items:"


class CallingOff:
    """Which iterators are to be looked at, and what is stopped then."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._heard: deque[Key] = deque(maxlen=1_000)
        self._failing: set[Key] = set()
        self._is_busy = False

    def hear(self, text: str) -> None:
        """Take the word of another worker, from any thread; what cannot be meant is left."""
        numbers = text.removeprefix(ITEMS).split(":")
        if len(numbers) == 3 and all(one.isdecimal() for one in numbers):
            self._heard.append((int(numbers[0]), int(numbers[1]), int(numbers[2])))

    def is_due(self, flush: Flush) -> bool:
        """Note whose items have failed; say whether there is something to look at."""
        if flush.ended:
            self._failing.update(one[:3] for one in flush.ended if one.failed)
        return bool(self._failing or self._heard) and not self._is_busy

    async def look(self) -> None:
        """Stop what runs here of iterators that are closed."""
        self._is_busy = True
        try:
            while self._failing:
                key = self._failing.pop()
                found = self._known(key)
                if found is not None and await self._worker.ask(self._call_off, *found):
                    self._stop(*found)
            while self._heard:
                found = self._known(self._heard.popleft())
                if found is None or not self._held(*found):
                    continue
                if await self._worker.ask(self._is_closed, *found):
                    self._stop(*found)
        finally:
            self._is_busy = False

    def _known(self, key: Key) -> tuple[Run, Node, int] | None:
        """Return an iterator that is at work here and whose items can be stopped."""
        run = self._worker.runs.get(key[0])
        if run is None or key[1] >= len(run.program.nodes):
            return None
        node = run.program.nodes[key[1]]
        return (run, node, key[2]) if in_line(run.program, node) else None

    def _held(self, run: Run, iterator: Node, item: int) -> list[Key]:
        """Return the items at work here that may be stopped."""
        nodes, bodies = run.program.nodes, self._worker.steps.bodies
        return [
            key
            for key, held in self._worker.engine.held.items()
            if key[0] == run.id
            and nodes[key[1]].within == iterator.idx
            and key[2] // WIDTH == item
            and held.task is not None
            and not nodes[key[1]].writes
            and nodes[key[1]].type not in bodies
        ]

    def _stop(self, run: Run, iterator: Node, item: int) -> None:
        engine, settler = self._worker.engine, self._worker.steps.settler
        # Some came to their own end before they heard of it.
        settler.called_off = {one for one in settler.called_off if one[0] in engine.held}
        for key in self._held(run, iterator, item):
            held = engine.held[key]
            if held.task is not None:
                settler.called_off.add((key, held.lease.lease))
                held.task.cancel()

    def _call_off(self, run: Run, iterator: Node, item: int) -> bool:
        """Have what has not begun called off, and others told, if too many have failed."""
        inner = [node.idx for node in _inner(run.program, iterator)]
        values = {"idxs": inner, "lane": run.lanes[iterator.idx]}
        return self._asked("call_off", run, iterator, item, values)

    def _is_closed(self, run: Run, iterator: Node, item: int) -> bool:
        return self._asked("is_closed", run, iterator, item, {})

    def _asked(
        self, name: str, run: Run, iterator: Node, item: int, more: dict[str, object]
    ) -> bool:
        values = {"id": run.id, "idx": iterator.idx, "item": item, **more}
        connection = self._worker.records().connection
        row = connection.execute(SQL[name].encode(), values).fetchone()
        return row is not None and row[0] is True


def in_line(program: Program, iterator: Node) -> bool:
    """Whether the steps of each item follow one another, so that one at most is at work."""
    inner = _inner(program, iterator)
    begins = [node for node in inner if not node.waits]
    return len(begins) == 1 and all(len(n.ways) <= 1 and n.waits <= 1 for n in inner)


def _inner(program: Program, iterator: Node) -> list[Node]:
    nodes = (program.nodes[idx] for idx in iterator.body)
    return [node for node in nodes if node.within == iterator.idx]


__all__ = ["ITEMS", "CallingOff", "in_line"]
