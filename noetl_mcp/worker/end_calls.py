"""Call the addresses that were given with executions, once those have ended.

Looks when something that ends here asks for it, when somebody says so, and else once a minute. Each
call is on its own and bounded, so one that cannot be reached delays no step and no other call.
"""

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.end_calls import EndCall, called, claim, next_in, not_called
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.queue.lease import Flush

if TYPE_CHECKING:
    from noetl_mcp.wire.client import Client
    from noetl_mcp.worker.worker import Worker

EVERY = 60.0
"""Others' calls are looked for so often: theirs who died before they could make them."""
MOST = 32
"""So many calls are under way at once."""
SECONDS, CONNECT_SECONDS = 10.0, 5.0
LAST_WORDS = 3.0
"""So long a worker that leaves waits for calls; those that are cut off are made again by others."""
_GONE = 410


class EndCalls:
    """The calls of one worker's life."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._look_at = float("-inf")
        self._is_looking = False
        self._is_leaving = False
        self._calls = 0
        self._doing: set[asyncio.Task[None]] = set()
        self._client: Client | None = None

    def hint(self) -> None:
        """Look with the next flush; may be called from any thread."""
        self._look_at = float("-inf")

    def ticked(self, flush: Flush) -> None:
        """Look when it is time, or when an execution with an address has ended here."""
        if flush.over and any(self._is_asked_for(one.execution_id) for one in flush.over):
            self.hint()
        if time.monotonic() >= self._look_at and not (self._is_looking or self._is_leaving):
            self._is_looking = True
            self._begin(self._look())

    async def ended(self) -> None:
        """Let calls that are under way come to their end, for a while."""
        self._is_leaving = True
        end = time.monotonic() + LAST_WORDS
        while self._doing and (left := end - time.monotonic()) > 0:
            await asyncio.wait(list(self._doing), timeout=left)
        for task in self._doing:
            task.cancel()
        await asyncio.gather(*self._doing, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _is_asked_for(self, execution_id: int) -> bool:
        run = self._worker.runs.get(execution_id)
        return run is not None and run.context.on_end is not None

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def _look(self) -> None:
        self._look_at = time.monotonic() + EVERY
        try:
            calls, due = await self._worker.ask(self._claim, MOST - self._calls)
        except (Error, NotReachable):
            return  # the next look finds the same
        finally:
            self._is_looking = False
        if due is not None and self._calls + len(calls) < MOST:
            self._look_at = min(self._look_at, time.monotonic() + due)
        for one in calls:
            self._calls += 1
            self._begin(self._call(one))

    def _claim(self, most: int) -> tuple[list[EndCall], float | None]:
        """Return calls to make now, and in how many seconds the next one is due."""
        connection, only = self._worker.records().connection, self._worker.engine.only
        due = next_in(connection, only)
        if due is None or due > 0 or most <= 0:
            return [], due
        found = claim(connection, only, most)
        return found, next_in(connection, only)

    async def _call(self, call: EndCall) -> None:
        ask, records = self._worker.ask, self._worker.records
        try:
            why, lasting = await self._sent(call)
            if why is None:
                await ask(lambda: called(records().connection, call))
            else:
                await ask(lambda: not_called(records().connection, call, why, lasting=lasting))
        except (Error, NotReachable):
            pass  # it is made once more: nobody knows that it was
        finally:
            if self._calls >= MOST:
                self.hint()
            self._calls -= 1

    async def _sent(self, call: EndCall) -> tuple[str | None, bool]:
        """Send a call; return what was wrong, and whether it always will be."""
        rules = self._worker.equipment.rules
        if rules.read_only:
            return "NOETL_READ_ONLY is set here", True
        from noetl_mcp.wire.client import Client  # only here: most executions call nobody
        from noetl_mcp.wire.exchange import Refused, Request, Unanswered

        self._client = self._client or Client()
        body = call.body()
        headers = call.headers(body, rules.seal, rules.secret)
        request = Request(
            "POST",
            call.url,
            headers,
            body,
            timeout=SECONDS,
            connect_timeout=CONNECT_SECONDS,
            max_bytes=1_048_576,
        )
        try:
            status = (await self._client.send(request, write=True)).status
        except Refused as refused:
            return refused.message, True
        except Unanswered as lost:
            if lost.status is None:
                return lost.message, False
            status = lost.status
        return (None if 200 <= status < 300 else f"it answered {status}"), status == _GONE


__all__ = ["EVERY", "MOST", "EndCalls"]
