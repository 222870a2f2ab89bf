"""Stand before every route: which host was meant, who sent the browser, who asks and what he may.

A page of another site can make a browser send requests here, and a name can be made to lead here:
so the Host must be one of ours, and an Origin must be the very host that was asked. Lets nobody in
from elsewhere without a token.
"""

import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noetl_mcp.catalog.access import LOCAL, ROLES, SOMEBODY, Holder
from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.wire.addresses import is_local

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
HEALTH = "/health"
CALLBACKS = "/api/callbacks/"
"""Whoever comes to these needs no token: it is told nothing, or brings a token of its own."""
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/@\[\]]+))(?::[0-9]{1,5})?")
_ONCE = ("host", "origin", "authorization", "content-type", "content-length")


class Caller(NamedTuple):
    """Who asks, and what he may."""

    who: str
    role: str
    token: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether he sits at this machine; a token may bear any name."""
        return self.token is None and self.role == ROLES[-1]

    def __repr__(self) -> str:
        return f"Caller({self.who!r}, {self.role!r})"


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom the guard lets in."""

    hosts: frozenset[str] = LOCAL_NAMES
    any_address: bool = False
    """Whether a host that is an address is let through; a name that leads here never is."""
    tokens: bool = False
    """Whether everybody needs a token."""


def policy_for(host: str, more: tuple[str, ...] = (), *, tokens: bool = False) -> Policy:
    """Return the policy of a server at an address; from elsewhere everybody needs a token."""
    names = {name.lower() for name in more}
    if is_local(host):
        return Policy(LOCAL_NAMES | names | {host}, tokens=tokens)
    own = {socket.gethostname().lower(), socket.getfqdn().lower()}
    anywhere = host in ("0.0.0.0", "::", "")
    return Policy(LOCAL_NAMES | names | own | {host}, any_address=anywhere, tokens=True)


class Guard:
    """Checks each request, and says who asks; `tells` makes an answer of what is refused."""

    def __init__(
        self,
        app: ASGIApp,
        policy: Policy,
        known: Callable[[str], Awaitable[Holder | None]],
        tells: Callable[[Fault], ASGIApp] = refused,
    ) -> None:
        self.app = app
        self.policy = policy
        self.known = known
        self.tells = tells

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                # An answer is what its type says, whatever a browser finds in it.
                MutableHeaders(scope=message).setdefault("X-Content-Type-Options", "nosniff")
            await send(message)

        try:
            scope.setdefault("state", {})["caller"] = await self._checked(scope)
        except Fault as fault:
            await self.tells(fault)(scope, receive, answer)
            return
        await self.app(scope, receive, answer)

    async def _checked(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        _demand_plain(scope, headers)
        host = headers.get("host", "")
        if not self._is_ours(name_of(host)):
            raise Fault(
                421,
                "wrong-host",
                f"this server is not '{host[:100]}'; start it with --allow-host for another name",
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Fault(403, "wrong-origin", "a page of another site may not ask here")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
            if not navigates:
                raise Fault(403, "wrong-origin", "a page of another site may not ask here")
        return await self._caller(scope, headers)

    def _is_ours(self, name: str) -> bool:
        if name and name in self.policy.hosts:
            return True
        if not self.policy.any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def _caller(self, scope: Scope, headers: Headers) -> Caller:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if token and kind.lower() == "bearer":
            holder = await self.known(token.strip())
            if holder is None:
                raise Fault(401, "unknown-token", "the token is not known, or holds no longer")
            return Caller(holder.name, holder.role, token.strip())
        if scope["path"] == HEALTH or str(scope["path"]).startswith(CALLBACKS):
            return Caller(SOMEBODY, ROLES[0])
        if self.policy.tokens:
            raise Fault(
                401, "no-token", "send a token: Authorization: Bearer … ('noetl-mcp token create')"
            )
        return Caller(LOCAL, ROLES[-1])


def _demand_plain(scope: Scope, headers: Headers) -> None:
    """Refuse what could be read in two ways, and what no text that is kept may hold."""
    for name in _ONCE:
        if len(headers.getlist(name)) > 1:
            raise Fault(400, "wrong-header", f"the header '{name}' must be there once")
    if "\0" in scope["path"]:
        raise Fault(400, "wrong-value", "the path of the address holds a NUL character")
    query = scope["query_string"].decode("latin-1")
    if "%00" not in query:
        return
    for name, value in parse_qsl(query, keep_blank_values=True):
        if "\0" in name + value:
            where = name.replace("\0", "")[:100]
            raise Fault(400, "wrong-value", f"the parameter '{where}' holds a NUL character")


def name_of(host: str) -> str:
    """Return the name or the address in a Host header, without its port; empty when it is none."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found is not None else ""


__all__ = ["Caller", "Guard", "Policy", "name_of", "policy_for"]
