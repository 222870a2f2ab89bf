"""Serve the application on a socket until told to stop. Binds no address but the given one."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from noetl_mcp.web.patience import Bounds, Crowd, PatientProtocol

DRAIN_SECONDS = 5


async def serve(
    app: ASGIApp,
    listening: socket.socket,
    left: asyncio.Event,
    bounds: Bounds | None = None,
    drain: int = DRAIN_SECONDS,
) -> None:
    """Answer requests until `left` is set; those under way get a moment to end."""
    protocol: Any = partial(PatientProtocol, Crowd(bounds))
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=drain,
    )
    server = _Server(config)

    async def leave() -> None:
        await left.wait()
        server.should_exit = True

    leaving = asyncio.create_task(leave())
    try:
        await server.serve(sockets=[listening])
    finally:
        leaving.cancel()
        listening.close()


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


__all__ = ["DRAIN_SECONDS", "serve"]
