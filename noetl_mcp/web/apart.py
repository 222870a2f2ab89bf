"""Have something done in a process of its own, which ends with whoever asked for it.

What may take long, or much memory, must be able to end without the server. So it is bounded in
number, in time and in the length of its answer, and it is gone when the client is, or the server.
Knows nothing of what is done.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.web.faults import Fault
from noetl_mcp.worker.placed import command

MOST_ANSWER = 64 * 2**20
PARTING = 5.0
_PROCESS = "noetl_mcp.web.errands"


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done, and within which bounds."""

    what: str
    given: Mapping[str, Any]
    seconds: float
    most: int
    """So many of them are at work at once."""


class Apart:
    """The processes that are at work for clients of one server."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._at_work: Counter[str] = Counter()
        self._requests: set[asyncio.Task[Any]] = set()

    async def done(self, errand: Errand, gone: Callable[[], Awaitable[None]]) -> Response:
        """Return the answer; raise ClientDisconnect when `gone` returns before there is one."""
        if self._at_work[errand.what] >= errand.most:
            said = f"{errand.most} requests of this kind are at work, which is all there may be"
            raise Fault(503, "busy", f"{said}; try again soon")
        self._at_work[errand.what] += 1
        request = asyncio.current_task()
        assert request is not None
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        folder = tempfile.mkdtemp(prefix=f"noetl-apart-{os.getpid()}-")
        try:
            return await self._carried(errand, folder, gone)
        finally:
            self._at_work[errand.what] -= 1
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def close(self) -> None:
        """Wait until the requests that the server cancelled have been answered."""
        if self._requests:
            await asyncio.wait(self._requests, timeout=PARTING)

    async def _carried(
        self, errand: Errand, folder: str, gone: Callable[[], Awaitable[None]]
    ) -> Response:
        home = self._home
        process = await asyncio.create_subprocess_exec(
            *command(_PROCESS),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "NOETL_HOME": str(home.settings.home), "TMPDIR": folder},
            start_new_session=True,
        )
        orders = {"dsn": home.dsn, "embedded": home.embedded, "folder": folder}
        told = orjson.dumps({**orders, "what": errand.what, "given": errand.given}) + b"\n"
        answering = asyncio.create_task(_answer(process, told))
        leaving = asyncio.ensure_future(gone())
        try:
            await asyncio.wait(
                {answering, leaving}, timeout=errand.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if answering.done():
                return answering.result()
            if leaving.done():
                raise ClientDisconnect
            raise Fault(504, "too-slow", f"it took longer than {errand.seconds:g} s")
        except asyncio.CancelledError:
            # Only the server's own end cancels a request; its client is still there to be told.
            raise Fault(503, "leaving", "the server is being stopped; try again soon") from None
        finally:
            for task in (answering, leaving):
                task.cancel()
            await _ended(process)


async def _answer(process: Process, told: bytes) -> Response:
    """Hand over what is to be done, and return what comes of it."""
    orders, answers = process.stdin, process.stdout
    assert orders is not None
    assert answers is not None
    with suppress(ConnectionError):
        orders.write(told)
        await orders.drain()
    try:
        await answers.readexactly(MOST_ANSWER + 1)
    except asyncio.IncompleteReadError as end:
        status, _, body = end.partial.partition(b"\n")
    else:
        said = f"the answer is longer than {MOST_ANSWER // 2**20} MiB; ask for less"
        raise Fault(422, "too-large", said)
    if not status:
        said = "it ended without an answer; the server's log may say more"
        raise Fault(500, "broken", said)
    return Response(body, int(status), {"Cache-Control": "no-store"}, "application/json")


async def _ended(process: Process) -> None:
    """Let nothing of a process go on."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()


__all__ = ["MOST_ANSWER", "Apart", "Errand"]
