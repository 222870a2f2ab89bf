"""An MCP server behind a URL: the SDK's streamable HTTP goes out through our own connections.

The SDK speaks through httpx2; this gives it a transport that ends where all our requests go out, so
that certificates, proxies and evidence of what was sent are the same. Credentials are added below
the SDK, which never sees them. Nothing is raised into the SDK, where it would end every call of the
session: what went wrong is written into the errand, and the SDK is told some error.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import orjson
from aiohttp import ClientResponse
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from noetl_mcp import __version__
from noetl_mcp.wire.connections import (
    TRIP,
    TROUBLE,
    Transport,
    Trip,
    limits,
    pieces,
    tls,
    told,
    transport,
    trusts_nobody,
)
from noetl_mcp.wire.exchange import Garbled, Lost, Refused, TooLarge, Unanswered, Way
from noetl_mcp.wire.mcp_errand import ERRAND, Errand
from noetl_mcp.wire.unpacking import TooLong, unpack

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

SESSION = "mcp-session-id"
_EVENTS = "text/event-stream"
_MOST_OF_A_REFUSAL = 65_536
_SILENCE = 30.0
_MET_ALREADY = frozenset(("content-encoding", "content-length", "transfer-encoding", "connection"))
_NOT_OURS = frozenset(("host", "connection", "content-length", "accept-encoding", "user-agent"))

_ANSWERED = Trip(None, 0.0)
"""Stands for a request whose answer had begun: it was sent, whatever happens."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is, and how it is reached. Two that differ share no session."""

    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    way: Way = field(default=Way(), repr=False)
    connect_seconds: float = 10.0
    most_bytes: int = 16_777_216

    @property
    def name(self) -> str:
        """The server without what may be secret in its URL."""
        place = urlsplit(self.url)
        return f"{place.scheme}://{place.netloc.rpartition('@')[2]}"


class Line(httpx2.AsyncBaseTransport):
    """Sends the requests of one session; lives as long as it."""

    def __init__(self, place: Place) -> None:
        context = _context(place)
        self._place = place
        self._kept = transport(context, place.way.proxy, own=False)
        self._own = transport(context, place.way.proxy, own=True)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of the SDK and return the answer, or an error in its place."""
        errand = ERRAND.get()
        if errand is None or request.method != "POST" or not errand.is_free():
            silence = None if request.method == "GET" else _SILENCE
            return await self._answered(request, Errand(), silence)
        return await self._answered(request, errand, None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._kept.aclose()
        await self._own.aclose()

    async def _answered(
        self, request: httpx2.Request, errand: Errand, silence: float | None
    ) -> httpx2.Response:
        """Exchange in a task of its own, which can be dropped without harm to the SDK's."""
        errand.begin()
        doing = asyncio.create_task(self._exchange(request, errand, silence))
        errand.stop = doing.cancel
        try:
            return await doing
        except asyncio.CancelledError:
            if not errand.is_dropped:
                raise
            errand.failure = Lost(f"{self._what}: the answer was not waited for")
        except (Refused, Unanswered) as problem:
            errand.failure = problem
        return _instead()

    async def _exchange(
        self, request: httpx2.Request, errand: Errand, silence: float | None
    ) -> httpx2.Response:
        content = await request.aread()
        url = _with_query(str(request.url), self._place.query)
        headers = [*self._headers(request)]
        response = await self._sent(request.method, url, headers, content, errand, silence)
        errand.status = response.status
        errand.headers = {name.lower(): value for name, value in response.headers.items()}
        errand.in_session = SESSION in request.headers
        if response.status >= 400:
            errand.body = await self._body(response, _MOST_OF_A_REFUSAL, cut=True)
            return _answer(response, errand.body)
        if response.status < 300 and errand.headers.get("content-type", "").startswith(_EVENTS):
            errand.stop = response.close
            return _answer(response, _Events(response, errand, self._what))
        return _answer(response, await self._body(response, self._place.most_bytes))

    async def _sent(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        content: bytes,
        errand: Errand,
        silence: float | None,
    ) -> ClientResponse:
        """Send once; or twice, when a kept connection turns out to be gone."""
        trip = Trip(errand.leave, perf_counter())
        trip.url = url
        may_take = limits(self._place.connect_seconds, silence)
        way: Transport = self._own if errand.own else self._kept
        for is_last in (errand.own, True):
            token = TRIP.set(trip)
            try:
                return await way.ask(method, url, headers, content, may_take)
            except TROUBLE as error:
                lost = _without_url(told(error, trip, self._what), self._what)
                is_stale = isinstance(lost, Lost) and trip.reused and not lost.timed_out
                if is_last or not is_stale:
                    raise lost from None
            finally:
                TRIP.reset(token)
            way = self._own
            trip.begin_again()
        raise AssertionError  # the last one returns or raises

    def _headers(self, request: httpx2.Request) -> Iterator[tuple[str, str]]:
        """Yield what the protocol says, and then what the step adds to it."""
        said = {name: value for name, value in request.headers.items() if name not in _NOT_OURS}
        yield from said.items()
        yield "accept-encoding", "identity"
        given = {name.lower() for name, _ in self._place.headers}
        if "user-agent" not in given:
            yield "user-agent", f"noetl-mcp/{__version__}"
        yield from (pair for pair in self._place.headers if pair[0].lower() not in said)

    async def _body(self, response: ClientResponse, most: int, *, cut: bool = False) -> bytes:
        """Read an answer to its end, up to the bound."""
        found, size = list[bytes](), 0
        try:
            async for piece in pieces(response):
                found.append(piece)
                size += len(piece)
                if size > most:
                    break
        except TROUBLE as error:
            raise told(error, _ANSWERED, self._what) from None
        finally:
            if size > most:
                response.close()
            else:
                response.release()
        body = b"".join(found)
        if size > most and not cut:
            raise TooLarge(f"{self._what}: the answer has more than {most} bytes")
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding in ("", "identity") or not body:
            return body[:most]
        try:
            return unpack(body, coding, most)
        except TooLong:
            raise TooLarge(f"{self._what}: the answer has more than {most} bytes") from None
        except ValueError as broken:
            raise Garbled(f"{self._what}: the answer cannot be unpacked: {broken}") from None

    @property
    def _what(self) -> str:
        return self._place.name


class _Events(httpx2.AsyncByteStream):
    """A stream of events as it comes."""

    def __init__(self, response: ClientResponse, errand: Errand, what: str) -> None:
        self._response, self._errand, self._what = response, errand, what

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in pieces(self._response):
                yield piece
        except TROUBLE as error:
            self._errand.failure = told(error, _ANSWERED, self._what)
            raise httpx2.ReadError("the answer broke off") from None

    async def aclose(self) -> None:
        """Close the connection: to the server this is a cancel when the answer is not there."""
        self._response.close()


@asynccontextmanager
async def streamable_http(place: Place) -> AsyncIterator["TransportStreams"]:
    """Yield the SDK's streams to a place; raise `Refused` when it cannot be one."""
    try:
        url = httpx2.URL(place.url)
    except httpx2.InvalidURL:
        raise Refused("bad-url", "the URL cannot be read") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise Refused("bad-url", "the URL of an MCP server begins with http:// or https://")
    client = httpx2.AsyncClient(transport=Line(place), trust_env=False, timeout=None)
    most = place.most_bytes
    async with (
        client,
        streamable_http_client(place.url, http_client=client, max_sse_event_size=most) as streams,
    ):
        yield streams


def _without_url(lost: Unanswered, what: str) -> Unanswered:
    """Leave out what a library says where it names the whole URL, for that may hold a secret."""
    if "://" not in lost.message.removeprefix(what):
        return lost
    words = f"{what}: the connection was lost"
    return type(lost)(words, status=lost.status, timed_out=lost.timed_out, lasting=lost.lasting)


def _context(place: Place) -> ssl.SSLContext:
    is_plain = not place.url.lower().startswith("https:") and not (
        place.way.proxy or ""
    ).lower().startswith("https:")
    return trusts_nobody() if is_plain else tls(place.way)


def _with_query(url: str, query: tuple[tuple[str, str], ...]) -> str:
    if not query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query, quote_via=quote, safe='')}"


def _answer(response: ClientResponse, body: "bytes | _Events") -> httpx2.Response:
    headers = [(n, v) for n, v in response.headers.items() if n.lower() not in _MET_ALREADY]
    if isinstance(body, bytes):
        return httpx2.Response(response.status, headers=headers, content=body)
    return httpx2.Response(response.status, headers=headers, stream=body)


def _instead() -> httpx2.Response:
    """Return an error for the SDK; the errand knows better."""
    error = {"code": INTERNAL_ERROR, "message": "there is no answer"}
    body = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return httpx2.Response(500, headers={"content-type": "application/json"}, content=body)


__all__ = ["SESSION", "Line", "Place", "streamable_http"]
