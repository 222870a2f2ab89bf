"""What an HTTP call costs; prints JSON.

    python benchmarks/http_calls.py [--calls 4000] [--flight 1 64] [--uvloop]

A server in a process of its own answers small JSON as fast as Python can, so that the CPU time of
this process is that of the client alone. Compare within one run only: rates depend on how busy the
machine is, CPU per call hardly does. `task` is a whole http step, `client` the wire beneath it,
`transport` httpx-aiohttp called with a ready request, and `aiohttp` the library below that.
"""

import argparse
import asyncio
import json
import platform
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.specs_web import HttpSettings
from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Request

BODY = b'{"id":7,"name":"door"}'
HEADERS = {"Content-Type": "application/json"}
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: bench\r\n"
    b"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 22\r\n\r\n" + BODY
)

Ask = Callable[[], Awaitable[object]]
Made = tuple[Ask, Callable[[], Awaitable[object]]]


class Answers(asyncio.Protocol):
    """The least that a server can do."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.read = transport, b""

    def data_received(self, data: bytes) -> None:
        self.read += data
        while (end := self.read.find(b"\r\n\r\n")) >= 0:
            head = self.read[:end].lower()
            _, is_told, rest = head.partition(b"content-length:")
            whole = end + 4 + (int(rest.split(b"\r\n")[0]) if is_told else 0)
            if len(self.read) < whole:
                return
            self.read = self.read[whole:]
            self.transport.write(ANSWER)
            if b"connection: close" in head:
                self.transport.close()


async def serve() -> None:
    listening = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0, backlog=512)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


class Around:
    """Nothing surrounds a call here."""

    def may_send(self) -> None:
        """It may."""

    async def remember(self, note: Json) -> None:
        """Nothing is remembered."""

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Nothing is logged."""


def by_task(url: str, *, write: bool) -> Made:
    settings = HttpSettings.model_validate({"url": url, "method": "POST", "json": {"id": 7}})
    call = Call("http", settings, None, Around(), key="1-make-0", writes=write, timeout=30.0)
    task = Http()
    return lambda: task.execute(call), task.close


def by_client(url: str, *, write: bool) -> Made:
    client, request = Client(), Request("POST", url, tuple(HEADERS.items()), BODY)
    return lambda: client.send(request, write=write), client.close


def by_transport(url: str, *, write: bool) -> Made:
    transport = AiohttpTransport(verify=False, client=lambda: session(write=write))

    async def ask() -> None:
        request = httpx.Request("POST", url, headers=HEADERS, content=BODY)
        response = await transport.handle_async_request(request)
        assert await response.aread() == BODY

    return ask, transport.aclose


def by_aiohttp(url: str, *, write: bool) -> Made:
    made = session(write=write)

    async def ask() -> None:
        async with made.post(url, data=BODY, headers=HEADERS) as response:
            assert await response.read() == BODY

    return ask, made.close


def session(*, write: bool) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, force_close=write)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


WAYS = {
    "task": by_task,
    "client": by_client,
    "transport": by_transport,
    "aiohttp": by_aiohttp,
}


async def measure(way: str, url: str, flight: int, calls: int, *, write: bool) -> dict[str, Any]:
    """Send so many calls, so many of them in flight."""
    ask, close = WAYS[way](url, write=write)
    await asyncio.gather(*(ask() for _ in range(flight)))
    left, waits = iter(range(calls)), list[float]()

    async def one_of_many() -> None:
        for _ in left:
            began = time.perf_counter()
            await ask()
            waits.append(time.perf_counter() - began)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_of_many() for _ in range(flight)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await close()
    waits.sort()
    return {
        "way": way,
        "kind": "write, own connections" if write else "read, kept connections",
        "in_flight": flight,
        "calls_per_s": round(calls / wall),
        "cpu_us": round(cpu / calls * 1e6),
        "p50_ms": round(waits[len(waits) // 2] * 1e3, 2),
        "p99_ms": round(waits[len(waits) * 99 // 100] * 1e3, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--flight", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--uvloop", action="store_true", help="when it is installed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.serve:
        asyncio.run(serve())
        return
    run: Callable[..., Any] = asyncio.run
    if said.uvloop:
        import uvloop

        run = uvloop.run
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/doors?page=2"
        found = [
            run(measure(way, url, flight, said.calls, write=write))
            for write in (False, True)
            for flight in said.flight
            for way in WAYS
        ]
    finally:
        server.kill()
        server.wait()
    told = {"python": platform.python_version(), "loop": "uvloop" if said.uvloop else "asyncio"}
    print(json.dumps({**told, "calls": said.calls, "results": found}, indent=2))


if __name__ == "__main__":
    main()
