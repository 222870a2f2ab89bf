"""Bound how long a client may take and how many may come. Answers no request itself.

A connection on which nothing is being done gives way to a new one, so that whoever only waits keeps
nobody out. Each client has some time for its head, for each part of its body and for each part of
its answer.
"""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.h11_impl import H11Protocol

from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.web.guard import HEALTH


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long one client may take, and how many connections are kept."""

    head_seconds: float = 10.0
    """For all the headers of a request."""
    part_seconds: float = 30.0
    """For each part of a body to come, and for each part of an answer to be taken."""
    part_bytes: int = 4_096
    """How much of a body must come in that time, unless it ends."""
    connections: int = 900
    of_one_address: int = 450
    """How many of them one address may have; this machine may have them all."""


class Waits(Enum):
    """What a connection waits for the client to do."""

    NOTHING = 0
    HEAD = 1
    BODY = 2
    REST = 3
    """Of a body whose request was answered before it had come."""


class Crowd:
    """The connections that are open, the oldest first."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._open: dict[PatientProtocol, str | None] = {}

    def enter(self, one: "PatientProtocol", address: str | None) -> bool:
        """Count a connection; say whether there is room for it, once idle ones have given way."""
        self._open[one] = address
        bounds = self.bounds
        if len(self._open) > bounds.connections and not self._shed(one, None):
            return False
        if address is None or ipaddress.ip_address(address).is_loopback:
            return True
        many = sum(other == address for other in self._open.values()) > bounds.of_one_address
        return not many or self._shed(one, address)

    def leave(self, one: "PatientProtocol") -> None:
        """Count a connection no longer."""
        self._open.pop(one, None)

    def _shed(self, newest: "PatientProtocol", address: str | None) -> bool:
        """Close the connection that is the least loss, if there is one that does nothing."""
        idle = [
            one
            for one, its in self._open.items()
            if one is not newest and one.is_idle and address in (None, its)
        ]
        if not idle:
            return False
        one = next((one for one in idle if one.cycle is None), idle[0])
        self.leave(one)
        one.transport.abort()
        return True


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for whatever a client has to do."""

    def __init__(self, crowd: Crowd, **given: Any) -> None:
        super().__init__(**given)
        self._crowd = crowd
        self._waits = Waits.NOTHING
        self._deadline: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._came = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is lost when it is closed: no request has wholly come and is answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(
        self,
        transport: asyncio.Transport,  # type: ignore[override]  # as uvicorn has it
    ) -> None:
        """Begin to wait for a request; one too many hears so, unless it asks for health."""
        super().connection_made(transport)
        line = transport.get_extra_info("socket")
        if line is not None and line.family != socket.AF_UNIX:
            # An answer is written in parts, and none of them waits until the former was taken.
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address = self.client[0] if self.client else None
        if not self._crowd.enter(self, address):
            self.app = cast(ASGI3Application, _Full(cast(ASGIApp, self.app)))
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._crowd.leave(self)
        self._set(Waits.NOTHING)
        self._stop_taking()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and look what has to come next."""
        self._came += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Look what has to come next."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Wait until the client takes what is written."""
        super().pause_writing()
        if self._taking is None:
            seconds = self._crowd.bounds.part_seconds
            self._taking = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken something."""
        self._stop_taking()
        super().resume_writing()

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _look(self) -> None:
        """Set a deadline for what the client has to do; one that is set for it already stands."""
        waits = self._wanted()
        if waits is not self._waits:
            self._set(waits)

    def _wanted(self) -> Waits:
        theirs = self.conn.their_state
        if self.transport.is_closing():
            return Waits.NOTHING
        if theirs is h11.SEND_BODY:
            return Waits.REST if self.cycle.response_complete else Waits.BODY
        if theirs is h11.IDLE and self.timeout_keep_alive_task is None:
            return Waits.HEAD
        return Waits.NOTHING

    def _set(self, waits: Waits) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._waits, self._came = waits, 0
        if waits is Waits.NOTHING:
            return
        bounds = self._crowd.bounds
        seconds = bounds.head_seconds if waits is Waits.HEAD else bounds.part_seconds
        self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        """Close what came too slowly; who reads a body slowly himself gets more of it in time."""
        enough = self._came >= self._crowd.bounds.part_bytes or self.flow.read_paused
        if self._waits is Waits.BODY and enough:
            self._set(Waits.BODY)
            return
        if self._waits is Waits.BODY and not self.cycle.response_started:
            self._tell_too_slow()
        self.transport.close()

    def _tell_too_slow(self) -> None:
        """Answer in place of the application, which is told that the client has left."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        seconds = self._crowd.bounds.part_seconds
        fault = Fault(408, "too-slow", f"nothing more of the body came for {seconds:g} seconds")
        answer = refused(fault)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        self.transport.write(self.conn.send(h11.Response(status_code=408, headers=headers)) or b"")
        self.transport.write(self.conn.send(h11.Data(data=bytes(answer.body))) or b"")


class _Full:
    """Answers when too many are at work; health is told all the same."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != HEALTH:
            answer = refused(Fault(503, "busy", "too many requests are at work; try again soon"))
            answer.headers["Connection"] = "close"
            answer.headers["Retry-After"] = "1"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


__all__ = ["Bounds", "Crowd", "PatientProtocol"]
