"""The process of a headless Revit server: opens a model, and answers for it until told to leave."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from noetl_mcp.errors import NotReadable
from noetl_mcp.lettering.fitted import printable
from noetl_mcp.web.guard import policy_for
from noetl_mcp.web.headless.app import application
from noetl_mcp.web.headless.jobs import Jobs
from noetl_mcp.web.headless.model_thread import Answering, ModelThread, now
from noetl_mcp.web.headless.shown import Server, trace
from noetl_mcp.web.serving import serve
from noetl_mcp.worker.placed import Parent, allow_many_files, listen, loop_factory, orders, say
from noetl_mcp.worker.supervisor import HOPELESS


class Document(Answering, Protocol):
    """A model that is open."""

    @property
    def title(self) -> str:
        """What it is called."""


Opens = Callable[[Path], Document]


class Place(NamedTuple):
    """Where it is answered, and for which file."""

    listening: socket.socket
    host: str
    allowed: tuple[str, ...]
    file: str

    @property
    def port(self) -> int:
        """The port that was taken."""
        return int(self.listening.getsockname()[1])

    @property
    def url(self) -> str:
        """The address for clients."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


def main() -> None:
    """Serve as the parent says."""
    given = orders()
    if given is None:
        return
    told, parent = given
    allow_many_files()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        code = runner.run(_heard(told, parent))
    # A call that is still at work would keep the process; it only reads.
    os._exit(code)


def opened(file: Path) -> Document:
    """Open a model as the methods need it; the library for it is loaded only here."""
    from noetl_mcp.bim.revit.headless.opening import Unreadable
    from noetl_mcp.bim.revit.headless.server import Headless

    try:
        return Headless.opened(file)
    except Unreadable as problem:
        raise NotReadable(str(problem)) from None


async def _heard(told: Mapping[str, Any], parent: Parent) -> int:
    left = asyncio.Event()
    listen(parent, left.set, lambda: os._exit(0))
    listening = socket.socket(fileno=told["socket"])
    place = Place(listening, told["host"], tuple(told["allowed"]), told["file"])

    def opens(file: Path) -> Document:
        document = opened(file)
        os.write(told["opened"], b".")
        return document

    return await answering(place, opens, left)


async def answering(place: Place, opens: Opens, left: asyncio.Event) -> int:
    """Open the model in its thread, and answer for it until `left`; return the exit code."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="model")
    opening = asyncio.get_running_loop().run_in_executor(thread, opens, Path(place.file))
    leaving = asyncio.ensure_future(left.wait())
    either: set[asyncio.Future[Any]] = {opening, leaving}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not opening.done():
            return 0
        problem = opening.exception()
        if problem is not None:
            _tell(problem)
            return HOPELESS
        document = opening.result()
        model = ModelThread(document, thread, Jobs())
        leaving.add_done_callback(lambda _: model.leave())
        server = Server(document.title, place.port, now())
        say(f"{place.url} answers for '{printable(server.document)}'")
        policy = policy_for(place.host, place.allowed)
        await serve(application(model, server, policy), place.listening, left)
        return 0
    finally:
        leaving.cancel()
        place.listening.close()
        thread.shutdown(wait=False, cancel_futures=True)


def _tell(problem: BaseException) -> None:
    """Say why a model is not opened; what nobody foresaw is told with where it happened."""
    if not isinstance(problem, NotReadable):
        sys.stderr.write(trace(problem))
    say(printable(str(problem)))


__all__ = ["Document", "Opens", "Place", "answering", "main", "opened"]
