"""Offer an MCP server at a path of a web application. Who may ask is decided before it.

The SDK takes half a second to load, so it is loaded, in a thread, when the first client comes.
Clients have no sessions here: every request stands for itself, so any number of web processes can
answer them.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MOST_BYTES = 8 * 1024 * 1024


class Mounted:
    """A server at a path, made by `make` when the first request comes."""

    def __init__(self, path: str, make: "Callable[[], Server[Any]]") -> None:
        self.route = Route(path, self)
        self._make = make
        self._opening = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._holding: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        manager = await self._opened()
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """Answer no further requests."""
        self._over.set()
        if self._holding is not None:
            await self._holding

    async def _opened(self) -> "StreamableHTTPSessionManager":
        async with self._opening:
            if self._manager is None:
                manager = await asyncio.to_thread(_manager, self._make)
                ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._holding = asyncio.create_task(self._held(manager, ready))
                await ready
                self._manager = manager
            return self._manager

    async def _held(
        self, manager: "StreamableHTTPSessionManager", ready: asyncio.Future[None]
    ) -> None:
        """Keep the manager open in one task: whoever opens it has to close it."""
        async with manager.run():
            with suppress(asyncio.InvalidStateError):
                ready.set_result(None)
            await self._over.wait()


def _manager(make: "Callable[[], Server[Any]]") -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    return StreamableHTTPSessionManager(
        make(),
        json_response=True,
        stateless=True,
        # The guard of the web face has looked at Host and Origin already.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MOST_BYTES,
    )
