"""The one thread that touches a model, and those who wait for it. Speaks no HTTP.

A model is no thing for two threads, so its calls are done one after another. Who waits for an
answer and leaves takes along what has not begun; what has begun comes to its end.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson

from noetl_mcp.web.headless.calls import Call, Order
from noetl_mcp.web.headless.jobs import Job, Jobs, Outcome
from noetl_mcp.web.headless.shown import trace

MOST_RESULT = 64 * 1024 * 1024
Clock = Callable[[], datetime]


class Answering(Protocol):
    """What answers calls; always in the same thread."""

    def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of a method: with `ok`, and never by raising."""


class Leaving(Exception):
    """The server is being stopped, and begins nothing any more."""


class Gone(Exception):
    """Nobody waits for the answer any more."""


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class ModelThread:
    """Gives a model one call after another; for one loop."""

    def __init__(
        self, model: Answering, thread: ThreadPoolExecutor, jobs: Jobs, clock: Clock = now
    ) -> None:
        self.jobs = jobs
        self.clock = clock
        self._model = model
        self._thread = thread
        self._waiters: dict[str, asyncio.Future[bytes | None]] = {}
        self._came = asyncio.Event()
        self._is_leaving = False

    async def run(self) -> None:
        """Do what waits, until cancelled; what is under way then is left to its thread."""
        while True:
            job = None if self._is_leaving else self.jobs.begin(self.clock())
            if job is None:
                self._came.clear()
                await self._came.wait()
                continue
            done = self._thread.submit(_done, self._model, job.order.call)
            await _over(done)
            self._settle(job, _outcome(done, job.order.call))

    async def answer(self, call: Call, gone: Callable[[], Awaitable[None]]) -> bytes:
        """Return the payload of a call; raise Gone when `gone` returns before there is one."""
        job = self._add(Order(call), is_kept=False)
        waiter: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._waiters[job.id] = waiter
        leaving = asyncio.ensure_future(gone())
        either: set[asyncio.Future[Any]] = {waiter, leaving}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Only the server's own end cancels a request; its client is still there to be told.
            raise Leaving from None
        finally:
            leaving.cancel()
            del self._waiters[job.id]
            self.jobs.drop(job.id)
        if not waiter.done():
            raise Gone
        payload = waiter.result()
        if payload is None:
            raise Leaving
        return payload

    def enqueue(self, order: Order) -> Job:
        """Let a call wait for its turn; somebody will ask for it later."""
        return self._add(order, is_kept=True)

    def leave(self) -> None:
        """Begin nothing any more, and tell those who wait for what has not begun."""
        self._is_leaving = True
        running = self.jobs.running
        for id_, waiter in self._waiters.items():
            if not waiter.done() and (running is None or id_ != running.id):
                waiter.set_result(None)

    def _add(self, order: Order, *, is_kept: bool) -> Job:
        if self._is_leaving:
            raise Leaving
        job = self.jobs.add(order, self.clock(), is_kept=is_kept)
        self._came.set()
        return job

    def _settle(self, job: Job, outcome: Outcome) -> None:
        self.jobs.settle(outcome, self.clock())
        waiter = self._waiters.get(job.id)
        if waiter is not None and not waiter.done():
            waiter.set_result(outcome.payload)


def _done(model: Answering, call: Call) -> bytes:
    """Return the payload of a call as text; to be called in the model's thread."""
    payload = orjson.dumps(model.answer(call.method, orjson.loads(call.params)))
    if len(payload) <= MOST_RESULT:
        return payload
    says = f"the result has {len(payload):,} bytes, and {MOST_RESULT:,} are the most; ask for less"
    return refusal("RESULT_TOO_LARGE", says)


def _outcome(done: "Future[bytes]", call: Call) -> Outcome:
    """Return what came of a call; a model that raises is a mistake of ours, and is told."""
    problem = done.exception()
    if problem is None:
        return Outcome(done.result())
    sys.stderr.write(trace(problem))
    code, says = "UNHANDLED_EXCEPTION", f"{type(problem).__name__}: {problem}"[:1_000]
    return Outcome(refusal(code, says), code, says)


def refusal(code: str, says: str) -> bytes:
    """Return a payload that says why there is no result."""
    text = says.encode(errors="replace").decode()
    return orjson.dumps({"ok": False, "code": code, "msg": text, "errorCode": code})


async def _over(done: "Future[bytes]") -> None:
    """Wait until a call is over, whatever came of it."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(over.set)

    done.add_done_callback(tell)
    await over.wait()


__all__ = ["MOST_RESULT", "Answering", "Clock", "Gone", "Leaving", "ModelThread", "now", "refusal"]
