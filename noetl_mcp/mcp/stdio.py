"""Serve one client over standard input and output, until it leaves."""

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def serve(server: Server[Any]) -> None:
    """Answer until the input ends; only messages of the protocol are written to the output."""
    anyio.run(_serve, server)


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
