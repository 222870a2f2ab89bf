"""Open connections: httpx's requests go out through httpx-aiohttp. All that knows aiohttp is here.

Keeps no cookies, asks no environment, follows nothing and tries nothing again; what became of a
request is written into its `Trip`, and from there `told` makes the one error that our side knows.
"""

import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

import aiohttp
import httpx
from aiohttp.client_reqrep import ClientRequest, ClientResponse
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from httpx_aiohttp import AiohttpTransport
from multidict import CIMultiDict
from yarl import URL

from noetl_mcp.wire.exchange import Lost, NotSent, Refused, TimedOut, Unanswered, Way, basic

TROUBLE = (
    httpx.HTTPError,
    httpx.StreamError,
    httpx.InvalidURL,
    aiohttp.ClientError,
    OSError,
    ValueError,
    RuntimeError,
)
"""What the libraries raise, each in its own case; a task's `HandedBack` is none of them."""

_LONGEST_HEADER = 65_536


class Trip:
    """What is known of one request on its way; the evidence for `NotSent`."""

    __slots__ = ("began", "connected", "connecting", "may_send", "reused", "status", "url")

    def __init__(self, may_send: Callable[[], None] | None, began: float) -> None:
        self.began = began
        self.url = ""
        self.may_send = may_send
        self.connecting = False
        self.connected = False
        self.reused = False
        self.status: int | None = None

    def begin_again(self) -> None:
        """Forget the connection; a read may try another one."""
        self.connecting = self.connected = False

    @property
    def never_left(self) -> bool:
        """Whether a connection was looked for and never handed out: no byte can have been sent."""
        return self.connecting and not self.connected


TRIP: ContextVar[Trip] = ContextVar("TRIP")


class _Dropped(aiohttp.ClientError):
    """A lost connection under a name for which aiohttp has no second try."""


class _Connector(aiohttp.TCPConnector):
    """Hands connections out, and notes on the trip when it did so."""

    def __init__(self, context: ssl.SSLContext, *, own: bool) -> None:
        super().__init__(limit=0, ssl=context, force_close=own)
        self._handed_out: WeakSet[object] = WeakSet()

    async def connect(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Connect, then ask for the last time whether we may send: connecting can take long."""
        trip = TRIP.get()
        if trip.connected:
            raise _Dropped  # the library would send it a second time
        trip.connecting = True
        connection = await super().connect(req, traces, timeout)
        try:
            if trip.may_send is not None:
                trip.may_send()
        except BaseException:
            connection.close()
            raise
        trip.connected = True
        if not self.force_close:
            trip.reused = connection.protocol in self._handed_out
            self._handed_out.add(connection.protocol)
        return connection


async def _only_once(
    request: ClientRequest, send: Callable[[ClientRequest], Awaitable[ClientResponse]]
) -> ClientResponse:
    """Send a request once, to the very URL.

    aiohttp sends PUT and DELETE again by itself when the connection is lost, also on a fresh one.
    It also spells a URL anew (`%2F` in a query becomes `/`), which breaks signed ones.
    """
    request.url = URL(TRIP.get().url, encoded=True)
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as lost:
        raise _Dropped from lost


class Transport(AiohttpTransport):
    """httpx-aiohttp, and the way past it for small requests.

    Its requests, answers and header maps cost as much as sending does, and a small request needs
    none of them.
    """

    async def ask(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        content: bytes,
        limits: aiohttp.ClientTimeout,
    ) -> ClientResponse:
        """Send a request whose body is at hand; return the answer before its body is read."""
        session, proxy = self.client, self.proxy
        if not isinstance(session, aiohttp.ClientSession):
            session = self.client = self.get_client()
        return await session.request(
            method,
            URL(url, encoded=True),
            headers=CIMultiDict(headers),
            data=content or None,
            allow_redirects=False,
            auto_decompress=False,
            compress=False,
            timeout=limits,
            proxy=None if proxy is None else str(proxy.url),
            proxy_headers=None if proxy is None else proxy.headers,
        )


async def pieces(response: ClientResponse) -> AsyncIterator[bytes]:
    """Yield the body as it comes."""
    while not response.content.at_eof():
        yield await response.content.readany()


@lru_cache(maxsize=64)
def limits(connect: float, silence: float | None) -> aiohttp.ClientTimeout:
    """Return how long a connection, and each further byte, may take."""
    return aiohttp.ClientTimeout(connect=connect, sock_read=silence)


def transport(context: ssl.SSLContext, proxy: str | None, *, own: bool) -> Transport:
    """Return a transport whose connections are kept for later, or are each request's own."""

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=_Connector(context, own=own),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_only_once,),
            skip_auto_headers=("Content-Type",),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    return Transport(
        verify=context, client=session, proxy=_proxy(proxy) if proxy is not None else None
    )


def trusts_nobody() -> ssl.SSLContext:
    """Return a context for requests without TLS; it takes no time, and no certificate is good."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def tls(way: Way) -> ssl.SSLContext:
    """Trust the given file alone; else what this machine trusts and what httpx brings along."""
    try:
        if way.ca_file:
            context = ssl.create_default_context(cafile=way.ca_file)
        else:
            context = httpx.create_ssl_context(trust_env=False)
            context.load_default_certs()
        if way.client_cert:
            context.load_cert_chain(way.client_cert, way.client_key, password=_no_password)
    except OSError as unreadable:
        reason = unreadable.strerror or type(unreadable).__name__
        files = ", ".join(filter(None, (way.ca_file, way.client_cert, way.client_key)))
        raise Refused("tls-files", f"cannot use the TLS files ({files}): {reason}") from None
    if not way.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    """Without it OpenSSL would ask on the terminal, and wait."""
    return ""


def _proxy(url: str) -> httpx.Proxy:
    """Credentials go as a header; aiohttp moves it to where its kind of proxying wants it."""
    parts = urlsplit(url)
    place = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if parts.username is None:
        return httpx.Proxy(place)
    known = basic(unquote(parts.username), unquote(parts.password or ""))
    return httpx.Proxy(place, headers={"Authorization": known})


def told(error: BaseException, trip: Trip, what: str) -> Unanswered:
    """Return what an error of the libraries means; `what` names the request without secrets."""
    causes = list(_causes(error))
    timed_out = any(isinstance(one, TimeoutError) for one in causes)
    words = next(filter(None, map(_words, causes)), "") or type(causes[-1]).__name__
    if trip.never_left:
        untrusted = any(isinstance(one, ssl.CertificateError) for one in causes)
        return NotSent(f"{what}: {words}", timed_out=timed_out, lasting=untrusted)
    if timed_out:
        return TimedOut(f"{what}: the server fell silent", status=trip.status, timed_out=True)
    return Lost(f"{what}: {words}", status=trip.status)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _words(error: BaseException) -> str:
    """Say it in words; the libraries' own contain URLs, and those contain secrets."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            certificate = error.certificate_error
            return f"no TLS: {getattr(certificate, 'verify_message', '') or 'wrong certificate'}"
        case aiohttp.ClientConnectorSSLError():
            return f"no TLS: {error.os_error.strerror or 'the handshake failed'}"
        case aiohttp.ClientConnectorDNSError():
            return f"the name '{error.host}' is not known"
        case aiohttp.ClientProxyConnectionError():
            return f"no connection to the proxy: {_reason(error.os_error)}"
        case aiohttp.ClientConnectorError():
            return f"no connection: {_reason(error.os_error)}"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy refused with {error.status}"
        case aiohttp.ConnectionTimeoutError():
            return "no connection in time"
        case aiohttp.ServerDisconnectedError():
            return "the server closed the connection without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off"
        case aiohttp.ClientResponseError():
            return "what came back is not HTTP"
        case aiohttp.ClientOSError():
            return f"the connection was lost: {_reason(error)}"
    return ""


def _reason(error: OSError) -> str:
    """Return the system's word for it; that of asyncio is an address, with all that is in it."""
    if error.errno:
        return os.strerror(error.errno)
    said = error.strerror or ""
    return "no reason given" if not said or "://" in said else said


__all__ = [
    "TRIP",
    "TROUBLE",
    "Transport",
    "Trip",
    "limits",
    "pieces",
    "tls",
    "told",
    "transport",
    "trusts_nobody",
]
