"""The floor plan server as clients meet it: over a pipe, and in memory."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from noetl_mcp.mcp.floorplan import server

T = TypeVar("T")
COMMAND = StdioServerParameters(
    command=sys.executable, args=["-m", "noetl_mcp", "mcp", "floorplan"]
)


def in_memory(work: Callable[[Client], Awaitable[T]]) -> T:
    """Do something with a client of a server in this process."""

    async def done() -> T:
        async with Client(server()) as client:
            return await work(client)

    return asyncio.run(done())


def over_a_pipe(work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    """Do something with a client of a server that runs as a program."""

    async def done() -> T:
        async with Client(stdio_client(COMMAND), mode=mode) as client:
            return await work(client)

    return asyncio.run(done())


def called(tool: str, **arguments: Any) -> types.CallToolResult:
    """Call a tool of a server in this process."""

    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool(tool, arguments)

    return in_memory(work)


def facts(result: types.CallToolResult) -> dict[str, Any]:
    """Return the facts that a tool answered: the last text, which is JSON."""
    assert not result.is_error, said(result)
    last = result.content[-1]
    assert isinstance(last, types.TextContent)
    found: dict[str, Any] = json.loads(last.text)
    assert result.structured_content == found
    return found


def said(result: types.CallToolResult) -> str:
    """Return all texts of an answer."""
    return "\n".join(one.text for one in result.content if isinstance(one, types.TextContent))


def answered(tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return the facts."""
    return facts(called(tool, **arguments))
