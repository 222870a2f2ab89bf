"""Calls of MCP servers for tests: real programs, and real servers in processes of their own."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.specs_web import McpSettings
from tests.tasks.calling import Around

SERVERS = Path(__file__).parent / "mcp_servers"
GOOD = [sys.executable, str(SERVERS / "good.py")]


def broken(way: str) -> list[str]:
    return [sys.executable, str(SERVERS / "broken.py"), way]


def call(settings: dict[str, Any], *, around: Around | None = None, **more: Any) -> Call:
    """One attempt of one step; `_input` and the like are parts of the call."""
    made = McpSettings.model_validate(settings)
    return Call("mcp", made, more.pop("input", None), around or Around(), **more)


async def ask(mcp: Mcp, settings: dict[str, Any], **more: Any) -> Any:
    return await mcp.execute(call(settings, **more))


def run(work: Callable[[Mcp], Awaitable[Any]], **said: Any) -> Any:
    """Do some work with a task that is closed afterwards."""

    async def whole() -> Any:
        mcp = Mcp(**{"commands": True, **said})
        try:
            return await work(mcp)
        finally:
            await mcp.close()

    return asyncio.run(whole())


def do(settings: dict[str, Any], **more: Any) -> Any:
    """Make one call."""
    return run(lambda mcp: ask(mcp, settings, **more))


@contextmanager
def http_server(*modes: str, port: int = 0, notes: Path | None = None) -> Iterator[str]:
    """Serve over HTTP until the block is over; yield the URL."""
    env = {**os.environ, "PORT": str(port), "NOTES": str(notes or "")}
    with subprocess.Popen(
        [*GOOD, "http", *modes], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def ends(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends in time."""
    until = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
