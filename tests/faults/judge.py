"""The judge of effects: a server in a thread of its own that counts whatever arrives.

A step asks `/KIND/EXECUTION/STEP/ITEM?...`. Kind `r` reads, `w` writes, `c` asks whether a write
was done. The query says how the first arrivals for a step fare: `refuse=N` (503, and nothing is
done), `lose=N` (it is done, and the connection closes without an answer). `wait` is how long an
answer takes, in milliseconds. With `once=1` a write that repeats the Idempotency-Key of a
former one is answered like that one and does nothing; without it the server knows of no keys, as
most do, and whatever arrives is done.
"""

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit


class Place(NamedTuple):
    """Which step of which execution; the item is empty outside of iterators."""

    execution: int
    step: str
    item: str = ""


@dataclass
class Judge:
    """What arrived, and what was done because of it."""

    port: int = 0
    arrived: Counter[Place] = field(default_factory=Counter)
    effects: dict[Place, list[str]] = field(default_factory=dict)
    """By step: the keys of the writes that were done."""
    keys: dict[str, Place] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
        self._thread.start()
        serving = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def done(self, place: Place) -> int:
        """How often a write was done."""
        return len(self.effects.get(place, ()))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # it was killed, or thought better of it
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        await reader.readexactly(int(headers.get("content-length", 0)))
        target = urlsplit(first.split()[1])
        said = {name: values[0] for name, values in parse_qs(target.query).items()}
        _, kind, execution, step, item = (*target.path.split("/"), "")[:5]
        place = Place(int(execution), step, item)
        status, is_lost = self._judged(kind, place, headers.get("idempotency-key", ""), said)
        await asyncio.sleep(int(said.get("wait", 0)) / 1000)
        if is_lost:
            return False
        body = b'{"n":%d}' % int(said.get("n", 0))
        if kind == "c":
            is_done = b"true" if self.done(place) else b"false"
            body = b'{"done":%s,"result":{"data":%s}}' % (is_done, body)
        writer.write(
            b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (status, len(body))
            + body
        )
        await writer.drain()
        return True

    def _judged(self, kind: str, place: Place, key: str, said: dict[str, str]) -> tuple[int, bool]:
        """Count what arrived; return the status and whether the answer is lost."""
        if kind == "c":
            return 200, False
        self.arrived[place] += 1
        number = self.arrived[place]
        if number <= int(said.get("refuse", 0)):
            return 503, False
        if kind == "r":
            return 200, False
        if key and self.keys.setdefault(key, place) != place:
            self.strange.append(f"{place} came with the key of {self.keys[key]}")
        before = self.effects.setdefault(place, [])
        if not ("once" in said and key in before):
            before.append(key)
        return 200, number <= int(said.get("refuse", 0)) + int(said.get("lose", 0))


__all__ = ["Judge", "Place"]
