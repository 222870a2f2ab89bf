"""What a call of an MCP tool costs over the bare SDK; prints JSON.

    python benchmarks/mcp_calls.py [--calls 1000] [--flight 1 16]

The same small server on the official SDK is called by the SDK's own client (`sdk`) and by a whole
mcp step (`task`), over a program's standard input and over HTTP, by turns in one run. Compare
within one run only. `adds_ms` is what the step costs more, in the median; the promise is 3 ms.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.specs_web import McpSettings

PROMISED_MS = 3.0
ROUNDS = 5
ARGUMENTS = {"a": 1, "b": 2}

Ask = Callable[[], Awaitable[object]]


def serve(*, http: bool) -> None:
    """Be the server."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench", log_level="CRITICAL")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    if not http:
        server.run()
        return
    import socket

    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app(json_response=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])


class Around:
    """Nothing surrounds a call here."""

    def may_send(self) -> None:
        """It may."""

    async def remember(self, note: Json) -> None:
        """Nothing is remembered."""

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Nothing is logged."""


def by_task(task: Mcp, server: dict[str, Any], *, write: bool) -> Ask:
    settings = McpSettings.model_validate({**server, "tool": "add", "arguments": ARGUMENTS})
    call = Call("mcp", settings, None, Around(), writes=write, timeout=30.0)
    return lambda: task.execute(call)


def by_sdk(client: Client) -> Ask:
    return lambda: client.call_tool("add", ARGUMENTS)


async def burst(ask: Ask, calls: int, flight: int) -> tuple[list[float], float, float]:
    """Send so many calls, so many of them in flight; return the waits, and what they took."""
    left, waits = iter(range(calls)), list[float]()

    async def one_of_many() -> None:
        for _ in left:
            began = time.perf_counter()
            await ask()
            waits.append(time.perf_counter() - began)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_of_many() for _ in range(flight)))
    return waits, time.perf_counter() - wall, time.process_time() - cpu


async def compare(kind: str, sdk: Ask, task: Ask, calls: int, flight: int) -> dict[str, Any]:
    """Let both take turns, so that both meet the same machine."""
    for ask in (sdk, task):
        await burst(ask, 20, flight)
    found: dict[str, Any] = {"over": kind, "in_flight": flight}
    sums: dict[str, tuple[list[float], float, float]] = {"sdk": ([], 0, 0), "task": ([], 0, 0)}
    for _ in range(ROUNDS):
        for way, ask in (("sdk", sdk), ("task", task)):
            waits, wall, cpu = await burst(ask, calls // ROUNDS, flight)
            before = sums[way]
            sums[way] = (before[0] + waits, before[1] + wall, before[2] + cpu)
    for way, (waits, wall, cpu) in sums.items():
        waits.sort()
        found[way] = {
            "p50_ms": round(waits[len(waits) // 2] * 1e3, 3),
            "p99_ms": round(waits[len(waits) * 99 // 100] * 1e3, 3),
            "cpu_ms": round(cpu / len(waits) * 1e3, 3),
            "calls_per_s": round(len(waits) / wall),
        }
    found["adds_ms"] = round(found["task"]["p50_ms"] - found["sdk"]["p50_ms"], 3)
    found["kept"] = found["adds_ms"] <= PROMISED_MS
    return found


async def measure(url: str, said: argparse.Namespace) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, "--serve", "stdio"]
    program = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    task, found = Mcp(commands=True), []
    async with AsyncExitStack() as stack:
        stack.push_async_callback(task.close)
        stdio = await stack.enter_async_context(Client(program))
        http = await stack.enter_async_context(Client(url))
        for flight in said.flight:
            for kind, client, server, write in (
                ("stdio", stdio, {"command": command}, True),
                ("http, read", http, {"url": url}, False),
                ("http, write on its own connection", http, {"url": url}, True),
            ):
                asks = by_sdk(client), by_task(task, server, write=write)
                found.append(await compare(kind, *asks, said.calls, flight))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--flight", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--serve", choices=("stdio", "http"), help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.serve:
        serve(http=said.serve == "http")
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve", "http"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        found = asyncio.run(measure(server.stdout.readline().decode().strip(), said))
    finally:
        server.kill()
        server.wait()
    told = {"python": platform.python_version(), "calls": said.calls}
    print(json.dumps({**told, "promised_ms": PROMISED_MS, "results": found}, indent=2))


if __name__ == "__main__":
    main()
