"""What a worker looks after beside its steps: the others, what is to be ended, ends to be told.

Begins with what a flush brought; asks through the worker's second connection. Decides nothing about
steps.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.starts import Starts
from noetl_mcp.database import Connection, Error, NotReachable, TupleRow
from noetl_mcp.queue.lease import Flush, Flushed, Halt
from noetl_mcp.worker.calling_off import CallingOff
from noetl_mcp.worker.end_calls import EndCalls
from noetl_mcp.worker.housekeeping import Housekeeping
from noetl_mcp.worker.life import given_up, note_end
from noetl_mcp.worker.tally import Tally

if TYPE_CHECKING:
    from noetl_mcp.worker.worker import Worker


class Tending:
    """Looks after what is not a lease, one thing after another."""

    def __init__(self, worker: "Worker") -> None:
        self.worker = worker
        self.end_calls = EndCalls(worker)
        self.calling_off = CallingOff(worker)
        self._house = Housekeeping(worker.equipment.keep)
        self._tally = Tally()
        self._losses = 0
        self._is_busy = False
        self._again = False
        self._doing: set[asyncio.Task[None]] = set()

    def ticked(self, flushed: Flushed, flush: Flush) -> None:
        """Begin what a flush gives reason for."""
        line = self.worker.engine.line
        if line.losses != self._losses:
            self._losses = line.losses
            self.worker.watch.broken()
        if self._house.is_due():
            self._begin(self._keep_house())
        if self._tally.is_due():
            self._begin(self._count())
        self.end_calls.ticked(flush)
        if self.calling_off.is_due(flush):
            self._begin(self._call_off())
        ends = flush.halts or any(kind > Halt.PAUSED for _, kind in flushed.halted)
        close = bool(ends or flushed.closing)
        if flushed.others or close:
            self._begin(self._tend(list(flushed.others), close=close))

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def ended(self) -> None:
        """Wait until nothing is being looked after."""
        await asyncio.gather(*self._doing, return_exceptions=True)
        await self.end_calls.ended()

    async def _count(self) -> None:
        with suppress(Error, NotReachable):  # it is added next time
            await self.worker.ask(lambda: self.count(self.worker.records().connection))

    def count(self, connection: Connection[TupleRow]) -> None:
        """Add what this worker has done to what all have."""
        engine = self.worker.engine
        line = engine.line
        counts = {"flushes": line.flushes, "steps": engine.steps, "losses": line.losses}
        self._tally.add(connection, counts)

    async def _call_off(self) -> None:
        with suppress(Error, NotReachable):  # then the items come to their own end
            await self.calling_off.look()

    async def _keep_house(self) -> None:
        with suppress(Error, NotReachable):  # another worker, or the next hour, does it
            await self.worker.ask(lambda: self._house.do(self.worker.records().connection))

    async def _tend(self, others: list[tuple[int, int]], *, close: bool) -> None:
        if self._is_busy:
            self._again = self._again or close
            return
        self._is_busy = True
        try:
            if others:
                recovered = await self.worker.ask(self._watch, others)
                if recovered:
                    self.worker.engine.wake()
            if close:
                await self._close()
        except (Error, NotReachable):
            pass  # the next beat looks again
        finally:
            self._is_busy = False
        if self._again:
            self._again = False
            await self._tend([], close=True)

    def _watch(self, others: list[tuple[int, int]]) -> int:
        """Give up those that are gone; return how many steps were handed back."""
        watch, connection = self.worker.watch, self.worker.records().connection
        recovered = 0
        for number, beat in watch.look(connection, others):
            if watch.is_dead(number):
                note_end(connection, number)
            is_gone, count = given_up(connection, number, beat)
            recovered += count
            if is_gone:
                watch.bury(number)
        return recovered

    async def _close(self) -> None:
        worker, engine = self.worker, self.worker.engine
        # What was held before the question was asked keeps its round from being over; what came
        # later may belong to a further one.
        leases = [held.lease for held in engine.held.values()]
        halted = await worker.ask(lambda: worker.records().halted())
        late = '{"code":"timeout"'
        cancelled = {
            number
            for number, _plan, kind, reason in halted
            if kind == Halt.CANCELLED or (reason or "").startswith(late)
        }
        engine.cancel(leases, cancelled)
        for number, plan, *_ in halted:
            said = await worker.ask(self._close_one, number, plan)
            if said in ("finally", "over"):
                engine.wake()
            if said == "over":
                worker.runs.pop(number, None)
                self.end_calls.hint()

    def _close_one(self, number: int, plan: int) -> str:
        records = self.worker.records()
        program = self.worker.program(records, plan)
        priority = records.contexts([number])[number].priority
        lanes = Starts(records).lanes(program, priority)
        return records.close(number, [(idx, lanes[idx]) for idx in program.finals])


__all__ = ["Tending"]
