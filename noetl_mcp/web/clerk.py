"""A process that does errands for clients of the server, one after the other.

Ends with the server, or when it is dismissed. Knows nothing of what is done.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import orjson
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.web.faults import Fault, too_large
from noetl_mcp.worker.placed import command

MOST_ANSWER = 64 * 2**20
_PROCESS = "noetl_mcp.web.errands"


class Gone(Exception):
    """The process ended before there was an answer."""


class Clerk(NamedTuple):
    """One such process, and the folder for what it writes meanwhile."""

    process: Process
    folder: str

    @classmethod
    async def hired(cls, home: Home) -> "Clerk":
        """Return a new one."""
        folder = tempfile.mkdtemp(prefix=f"noetl-apart-{os.getpid()}-")
        try:
            process = await asyncio.create_subprocess_exec(
                *command(_PROCESS),
                stdin=PIPE,
                stdout=PIPE,
                env={**os.environ, "NOETL_HOME": str(home.settings.home), "TMPDIR": folder},
                start_new_session=True,
            )
        except (OSError, asyncio.CancelledError):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        assert process.stdin is not None
        surroundings = {"dsn": home.dsn, "embedded": home.embedded, "folder": folder}
        process.stdin.write(orjson.dumps(surroundings) + b"\n")
        return cls(process, folder)

    async def done(self, errand: Mapping[str, Any]) -> tuple[Response, bool]:
        """Return the answer to an errand, and whether this one can do more; raise Gone."""
        orders, answers = self.process.stdin, self.process.stdout
        assert orders is not None
        assert answers is not None
        with suppress(ConnectionError):
            orders.write(orjson.dumps(errand) + b"\n")
            await orders.drain()
        try:
            status, length, stays, media_type = (await answers.readline()).decode().split()
            if int(length) > MOST_ANSWER:
                said = f"the answer is longer than {MOST_ANSWER // 2**20} MiB; ask for less"
                raise Fault(422, "too-large", said)
            body = await answers.readexactly(int(length))
        except (ValueError, asyncio.IncompleteReadError):
            if await self.process.wait() == -signal.SIGABRT:
                # A library of another language has no other way to say so.
                raise too_large() from None
            raise Gone from None
        headers = {"Cache-Control": "no-store"}
        return Response(body, int(status), headers, media_type), stays == "stays"

    async def dismissed(self) -> None:
        """Let nothing of it go on."""
        process = self.process
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


__all__ = ["MOST_ANSWER", "Clerk", "Gone"]
