"""The one door to httpx: send a request, and return the whole answer or say what became of it.

httpx is the face and httpx-aiohttp the transport, called directly: no cookies, no redirects unless
asked, no proxies of the environment unless asked. A write has a connection of its own, follows
nothing and is sent once; reads share kept connections, and one is sent again only when the server
had closed the kept one meanwhile. Which answers are failures is not decided here.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterable, Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import IO
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from noetl_mcp import __version__
from noetl_mcp.cuts import beginning
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
from noetl_mcp.wire.exchange import (
    Answer,
    Garbled,
    Lost,
    NotSent,
    Refused,
    Request,
    TimedOut,
    TooLarge,
    Way,
    basic,
)
from noetl_mcp.wire.redirects import moved, next_request
from noetl_mcp.wire.unpacking import CODINGS, TooLong, unpack

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BREAK = re.compile(r"[\r\n\0]")
_OURS = frozenset(("content-length", "transfer-encoding"))
_LARGE = 1_000_000
_USUAL = {
    "accept": (b"Accept", b"*/*"),
    "accept-encoding": (b"Accept-Encoding", CODINGS.encode()),
    "user-agent": (b"User-Agent", f"noetl-mcp/{__version__}".encode()),
}


class Client:
    """The connections of one process; lives in one event loop."""

    def __init__(self, *, env_proxies: bool = False) -> None:
        self._env_proxies = env_proxies
        self._contexts: dict[Way, ssl.SSLContext] = {}
        self._transports: dict[tuple[Way, bool, bool], Transport] = {}

    async def send(
        self, request: Request, *, write: bool, may_send: Callable[[], None] | None = None
    ) -> Answer:
        """Return the whole answer, whatever its status.

        `may_send` is called when the connection stands, right before the first byte; what it raises
        comes out of here. Raises `Refused` when the request itself is wrong, else an `Unanswered`:
        `NotSent`, `Lost`, `TimedOut`, `TooLarge` or `Garbled`.
        """
        began = perf_counter()
        request = _with_login(request)
        trip = Trip(may_send, began)
        try:
            async with asyncio.timeout(request.timeout):
                own = write or bool(request.parts)  # files are read once, so nothing is tried again
                answer = await self._ask(request, trip, own=own)
                for _ in range(0 if write else request.redirects):
                    if not moved(answer):
                        break
                    request, trip = next_request(request, answer), Trip(may_send, began)
                    answer = await self._ask(request, trip, own=bool(request.parts))
        except TimeoutError:
            words = f"{_what(request)}: no whole answer within {request.timeout:g} s"
            kind = NotSent if trip.never_left else TimedOut
            raise kind(words, status=trip.status, timed_out=True) from None
        if not write and request.redirects and moved(answer):
            raise Refused("too-many-redirects", f"more than {request.redirects} redirects")
        return answer

    async def close(self) -> None:
        """Close every connection."""
        transports, self._transports = list(self._transports.values()), {}
        for one in transports:
            await one.aclose()

    async def _ask(self, request: Request, trip: Trip, *, own: bool) -> Answer:
        """Send once; or twice, when a kept connection turns out to be gone."""
        if not request.reaches(request.url):
            raise Refused("not-allowed", f"{_origin(request.url)} is not among the allowed servers")
        try:
            return await self._exchange(request, trip, own=own)
        except Lost as lost:
            is_stale = trip.reused and trip.status is None and not lost.timed_out
            if own or not is_stale:
                raise
        trip.begin_again()
        return await self._exchange(request, trip, own=True)

    async def _exchange(self, request: Request, trip: Trip, *, own: bool) -> Answer:
        way, url = self._transport(request, own=own), _url(request.url)
        is_small = not request.parts and len(request.content) < _LARGE
        trip.url = _spelt(url)
        token = TRIP.set(trip)
        try:
            headers, body = await (_small if is_small else _large)(way, url, request, trip)
        except TROUBLE as error:
            raise told(error, trip, _what(request)) from None
        finally:
            TRIP.reset(token)
        elapsed = round(perf_counter() - trip.began, 6)
        return Answer(trip.status or 0, headers, body, trip.url, elapsed)

    def _transport(self, request: Request, *, own: bool) -> Transport:
        """Return the transport for a way; certificates are loaded once, and only for TLS."""
        way = request.way
        if self._env_proxies and way.proxy is None:
            way = replace(way, proxy=_env_proxy(request.url))
        is_plain = _is_plain(request.url) and _is_plain(way.proxy or "")
        found = self._transports.get((way, is_plain, own))
        if found is None:
            context = trusts_nobody() if is_plain else self._contexts.get(way) or tls(way)
            if not is_plain:
                self._contexts[way] = context
            found = transport(context, way.proxy, own=own)
            self._transports[way, is_plain, own] = found
        return found


def _is_plain(url: str) -> bool:
    return not url.lstrip()[:6].lower().startswith("https:")


def _env_proxy(url: str) -> str | None:
    place = urlsplit(url)
    if proxy_bypass(place.netloc.rpartition("@")[2]):
        return None
    return getproxies().get(place.scheme.lower())


def _with_login(request: Request) -> Request:
    """Move a user and a password from the URL into a header, where they cannot be shown."""
    if "@" not in request.url:
        return request
    try:
        place = urlsplit(request.url)
    except ValueError:
        raise Refused("bad-url", "the URL cannot be read") from None
    if place.username is None:
        return request
    url = place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()
    if any(name.lower() == "authorization" for name, _ in request.headers):
        return replace(request, url=url)
    known = basic(unquote(place.username), unquote(place.password or ""))
    return replace(request, url=url, headers=(*request.headers, ("Authorization", known)))


async def _small(
    way: Transport, url: httpx.URL, request: Request, trip: Trip
) -> tuple[dict[str, str], bytes]:
    """Exchange a request whose body is at hand and short, past httpx."""
    may_take = limits(request.connect_timeout, request.silence)
    asked = [(name.decode(), value.decode()) for name, value in _headers(request)]
    response = await way.ask(request.method, trip.url, asked, request.content, may_take)
    trip.status = response.status
    try:
        headers = _by_name(response.raw_headers)
        return headers, await _body(pieces(response), headers, request, response.status)
    finally:
        await response.__aexit__(None, None, None)


async def _large(
    way: Transport, url: httpx.URL, request: Request, trip: Trip
) -> tuple[dict[str, str], bytes]:
    """Exchange a request with a long body, or one of several parts."""
    with ExitStack() as files:
        response = await way.handle_async_request(_asked(request, url, files))
        trip.status = response.status_code
        try:
            headers = _by_name(response.headers.raw)
            assert isinstance(response.stream, AsyncIterable)
            body = await _body(response.stream, headers, request, response.status_code)
            return headers, body
        finally:
            await response.aclose()


def _asked(request: Request, url: httpx.URL, files: ExitStack) -> httpx.Request:
    """Make httpx's request of ours; refuse what would break the protocol."""
    headers = _headers(request)
    timeout = httpx.Timeout(None, read=request.silence, pool=request.connect_timeout)
    extensions = {"timeout": timeout.as_dict()}
    if request.parts:
        parts = [
            (one.name, (one.filename, _opened(one.content, files), one.content_type))
            for one in request.parts
        ]
        return httpx.Request(
            request.method, url, headers=headers, files=parts, extensions=extensions
        )
    body = httpx.ByteStream(request.content)
    asked = httpx.Request(request.method, url, headers=headers, stream=body, extensions=extensions)
    asked.headers.encoding = "utf-8"  # else it is guessed anew for each header
    # It goes out as a stream; aiohttp warns of a large one in memory.
    asked.headers["Content-Length"] = str(len(request.content))
    return asked


@lru_cache(maxsize=512)
def _url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip()).copy_with(fragment=None)
    except (httpx.InvalidURL, UnicodeError):
        raise Refused("bad-url", "the URL cannot be read") from None
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > 65_535:
        raise Refused("bad-url", "a URL begins with http:// or https:// and names a server")
    return url


def _spelt(url: httpx.URL) -> str:
    """Spell a URL as it is sent, always with a path; user and fragment are gone already."""
    return f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}"


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    """Check the headers, and add those that every request has."""
    found, missing = [], dict(_USUAL)
    for name, value in request.headers:
        small = name.lower()
        missing.pop(small, None)
        if not _NAME.fullmatch(name) or _BREAK.search(value):
            raise Refused(
                "bad-header", f"the header {beginning(name, 60)!r} holds what no header may hold"
            )
        if small in _OURS:
            raise Refused("bad-header", f"the header {name!r} is set by the request itself")
        found.append((name.encode(), value.encode()))
    found.extend(missing.values())
    return found


def _opened(content: bytes | Path, files: ExitStack) -> bytes | IO[bytes]:
    if isinstance(content, bytes):
        return content
    try:
        return files.enter_context(content.open("rb"))
    except OSError as error:
        raise Refused("bad-file", f"cannot read {content}: {error.strerror}") from None


def _by_name(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found = dict[str, str]()
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), _text(value)
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _body(
    stream: AsyncIterable[bytes], headers: dict[str, str], request: Request, status: int
) -> bytes:
    """Read the body, packed and unpacked, up to the bound."""
    most, length = request.max_bytes, headers.get("content-length", "")
    if request.method != "HEAD" and length.isdecimal() and int(length) > most:
        raise _too_large(request, status)
    pieces, size = list[bytes](), 0
    codings = headers.get("content-encoding")
    heard = None if codings or not 200 <= status < 300 else request.heard
    async for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise _too_large(request, status)
        if heard is not None:
            heard(piece)
    body = b"".join(pieces)
    if not codings or not body:
        return body
    try:
        return unpack(body, codings, most)
    except TooLong:
        raise _too_large(request, status) from None
    except ValueError as broken:
        words = f"{_what(request)}: the answer cannot be unpacked: {broken}"
        raise Garbled(words, status=status) from None


def _too_large(request: Request, status: int) -> TooLarge:
    words = f"{_what(request)}: the answer has more than {request.max_bytes} bytes"
    return TooLarge(words, status=status)


def _what(request: Request) -> str:
    """Name a request without what may be secret in it."""
    return f"{request.method} {_origin(request.url)}"


def _origin(url: str) -> str:
    place = _url(url)
    return f"{place.scheme}://{place.netloc.decode()}"


__all__ = ["Client"]
