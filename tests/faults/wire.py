"""A wire between a client and a server that can be cut, or hang, and be whole again."""

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit


@dataclass
class Wire:
    """Passes on what comes, to a server behind it; listens on a port of its own."""

    target: int
    port: int = 0
    is_cut: bool = False
    hangs: bool = False
    passed: int = 0
    """How many connections were made."""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._thread.start()
        self._flows = asyncio.Event()
        self._flows.set()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def url(self, behind: str) -> str:
        """Return the URL of a server as it is reached through this wire."""
        parts = urlsplit(behind)
        login = parts.netloc.rpartition("@")[0]
        where = f"127.0.0.1:{self.port}"
        return urlunsplit(parts._replace(netloc=f"{login}@{where}" if login else where))

    def cut(self) -> None:
        """Break every connection and take no other."""
        self.is_cut = True
        self._do(self._break())

    def hang(self) -> None:
        """Keep every connection, and pass nothing on."""
        self.hangs = True
        self._loop.call_soon_threadsafe(self._flows.clear)

    def mend(self) -> None:
        """Be whole again."""
        self.is_cut = self.hangs = False
        self._loop.call_soon_threadsafe(self._flows.set)

    def _do(self, doing: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _break(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _close(self) -> None:
        self._server.close()
        self._flows.set()
        await self._break()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        self.passed += 1
        try:
            behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        both = (writer, behind_writer)
        self._writers.update(both)
        try:
            await asyncio.gather(
                self._pass_on(reader, behind_writer), self._pass_on(behind_reader, writer)
            )
        finally:
            self._writers.difference_update(both)
            for one in both:
                one.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while found := await source.read(65_536):
                await self._flows.wait()
                target.write(found)
                await target.drain()
        except OSError:
            pass
        target.transport.abort()


__all__ = ["Wire"]
