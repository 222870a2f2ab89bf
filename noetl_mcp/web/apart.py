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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.web.faults import Fault, too_large
from noetl_mcp.web.room import Full, Room, Turn
from noetl_mcp.worker.placed import command

MOST_ANSWER = 64 * 2**20
PARTING = 5.0
PATIENCE = 30.0
"""So many seconds one waits for his turn, where waiting is allowed."""
_PROCESS = "noetl_mcp.web.errands"


@dataclass(frozen=True, slots=True)
class Kind:
    """What is done in the same way, and how much of it at once."""

    name: str
    by: str
    """The module whose `done` does it."""
    most: int
    waiting: int = 0
    """So many more may wait for their turn."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done, and how long it may take."""

    kind: Kind
    given: Mapping[str, Any]
    seconds: float


class Apart:
    """The processes that are at work for clients of one server."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._rooms: dict[str, Room] = {}
        self._requests: set[asyncio.Task[Any]] = set()

    async def done(self, errand: Errand, gone: Callable[[], Awaitable[None]]) -> Response:
        """Return the answer; raise ClientDisconnect when `gone` returns before there is one."""
        kind = errand.kind
        room = self._rooms.setdefault(kind.name, Room(kind.most, kind.waiting))
        try:
            turn = room.enter()
        except Full:
            raise _busy(kind) from None
        request = asyncio.current_task()
        assert request is not None
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        leaving = asyncio.ensure_future(gone())
        try:
            await self._let_in(turn, kind, leaving)
            return await self._carried(errand, leaving)
        except asyncio.CancelledError:
            # Only the server's own end cancels a request; its client is still there to be told.
            raise Fault(503, "leaving", "the server is being stopped; try again soon") from None
        finally:
            leaving.cancel()
            room.leave(turn)

    async def close(self) -> None:
        """Wait until the requests that the server cancelled have been answered."""
        if self._requests:
            await asyncio.wait(self._requests, timeout=PARTING)

    async def _let_in(self, turn: Turn, kind: Kind, leaving: asyncio.Future[None]) -> None:
        if not turn.done():
            await _either(turn, leaving, PATIENCE)
        if leaving.done():
            raise ClientDisconnect
        if not turn.done():
            raise _busy(kind)

    async def _carried(self, errand: Errand, leaving: asyncio.Future[None]) -> Response:
        folder = tempfile.mkdtemp(prefix=f"noetl-apart-{os.getpid()}-")
        try:
            return await self._worked(errand, folder, leaving)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _worked(self, errand: Errand, folder: str, leaving: asyncio.Future[None]) -> Response:
        home = self._home
        process = await asyncio.create_subprocess_exec(
            *command(_PROCESS),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "NOETL_HOME": str(home.settings.home), "TMPDIR": folder},
            start_new_session=True,
        )
        orders = {"dsn": home.dsn, "embedded": home.embedded, "folder": folder}
        kind = {"by": errand.kind.by, "what": errand.kind.name}
        told = orjson.dumps({**orders, **kind, "given": errand.given}) + b"\n"
        answering = asyncio.create_task(_answer(process, told))
        try:
            await _either(answering, leaving, errand.seconds)
            if answering.done():
                return answering.result()
            if leaving.done():
                raise ClientDisconnect
            raise Fault(504, "too-slow", f"it took longer than {errand.seconds:g} s")
        finally:
            answering.cancel()
            await _ended(process)


async def _either(one: asyncio.Future[Any], other: asyncio.Future[Any], seconds: float) -> None:
    """Wait until one of two has come, but no longer than so many seconds."""
    await asyncio.wait({one, other}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


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
        head, _, body = end.partial.partition(b"\n")
    else:
        said = f"the answer is longer than {MOST_ANSWER // 2**20} MiB; ask for less"
        raise Fault(422, "too-large", said)
    status, _, media_type = head.decode().partition(" ")
    if not status and await process.wait() == -signal.SIGABRT:
        raise too_large()  # a library of another language has no other way to say so
    if not status:
        said = "it ended without an answer; the server's log may say more"
        raise Fault(500, "broken", said)
    return Response(body, int(status), {"Cache-Control": "no-store"}, media_type)


def _busy(kind: Kind) -> Fault:
    said = f"{kind.most} requests of this kind are at work, which is all there may be"
    return Fault(503, "busy", f"{said}; try again soon")


async def _ended(process: Process) -> None:
    """Let nothing of a process go on."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()


__all__ = ["MOST_ANSWER", "Apart", "Errand", "Kind"]
