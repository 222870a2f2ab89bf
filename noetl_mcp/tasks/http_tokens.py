"""Get the tokens of OAuth2 client credentials, and keep each until shortly before it ends.

One request for a token serves all calls that want it. A token server that refuses fails the step
for certain, for nothing else was sent then. Tells nobody a token or a secret.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from noetl_mcp.cuts import beginning
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.http_outcome import retry_after, shown
from noetl_mcp.tasks.http_request import Allowed, way_of
from noetl_mcp.tasks.specs_web import Connection
from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Answer, NotSent, Refused, Request, Unanswered, Way, basic

TYPES = frozenset(("oauth2", "oauth2_client_credentials", "client_credentials"))
UNSAID_SECONDS, EARLY_SECONDS, EARLY_SHARE = 300.0, 30.0, 0.1
"""How long a token lasts of which nobody says it, and how long before its end it is not used."""
_TOKEN_SECONDS = 30.0
_MOST_TOKENS, _MOST_BYTES = 1_000, 262_144
_MAY_PASS = frozenset((408, 425, 429, 500, 502, 503, 504))
_FIELDS = ("scope", "audience", "resource")


@dataclass(frozen=True, slots=True)
class _Grant:
    """Who wants a token from whom; the secret only by its digest, for it is a key of a map."""

    alias: str
    url: str
    client: str
    digest: bytes
    asks: tuple[tuple[str, str], ...]
    in_body: bool
    way: Way
    secret: str = field(compare=False, repr=False)

    @property
    def called(self) -> str:
        return f"the credential '{self.alias}'" if self.alias else "the credential"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    ends: float


@dataclass(frozen=True, slots=True)
class Lent:
    """The credentials of a call with tokens in place of what they were got with."""

    auth: Mapping[str, Mapping[str, Any]] = field(repr=False)
    tokens: tuple[str, ...] = field(default=(), repr=False)
    grants: tuple[_Grant, ...] = field(default=(), repr=False)
    were_kept: bool = False
    """Whether a token is older than the call, so that a fresh one may help."""


class Tokens:
    """The tokens of one process; lives in one event loop."""

    def __init__(self, client: Client, allowed: Allowed) -> None:
        self._client = client
        self._allowed = allowed
        self._kept: dict[_Grant, _Token] = {}
        self._asking: dict[_Grant, asyncio.Lock] = {}

    async def lend(self, call: Call) -> Lent:
        """Return the credentials of a call, with a token for each that has to be got."""
        wanted = [alias for alias, one in call.auth.items() if _kind(one) in TYPES]
        if not wanted:
            return Lent(call.auth)
        auth, tokens, grants = dict(call.auth), list[str](), list[_Grant]()
        were_kept = False
        for alias in wanted:
            grant = _grant(alias, call.auth[alias], call.settings)
            token, was_kept = await self._token(grant, call)
            auth[alias] = {"type": "bearer", "token": token}
            tokens.append(token)
            grants.append(grant)
            were_kept = were_kept or was_kept
        return Lent(auth, tuple(tokens), tuple(grants), were_kept)

    def forget(self, lent: Lent) -> None:
        """Keep no token that was lent and refused."""
        for grant, text in zip(lent.grants, lent.tokens, strict=True):
            kept = self._kept.get(grant)
            if kept is not None and kept.text == text:
                del self._kept[grant]

    async def _token(self, grant: _Grant, call: Call) -> tuple[str, bool]:
        """Return a token, and whether it was there already."""
        lock = self._asking.setdefault(grant, asyncio.Lock())
        try:
            async with lock:
                kept = self._kept.pop(grant, None)
                if kept is not None and kept.ends > _now():
                    self._kept[grant] = kept  # the last one used comes last
                    return kept.text, True
                token = await self._asked(grant, call.timeout)
                if token.ends > _now():
                    self._kept[grant] = token
                while len(self._kept) > _MOST_TOKENS:
                    del self._kept[next(iter(self._kept))]
                return token.text, False
        finally:
            if not lock.locked() and self._asking.get(grant) is lock:
                del self._asking[grant]

    async def _asked(self, grant: _Grant, timeout: float | None) -> _Token:
        request = _request(grant, min(timeout or _TOKEN_SECONDS, _TOKEN_SECONDS))
        request = replace(request, reaches=self._allowed.reaches)
        try:
            answer = await self._client.send(request, write=False)
        except Refused as refused:
            raise _failed(grant, f"cannot be asked: {refused.message}", retriable=False) from None
        except Unanswered as lost:
            lasting = isinstance(lost, NotSent) and lost.lasting
            raise _failed(grant, f"did not answer: {lost.message}", retriable=not lasting) from None
        return _read(grant, answer)


def without(value: Any, tokens: Sequence[str]) -> Any:
    """Return an answer without the tokens, which nobody else knows to be secrets."""
    if not tokens:
        return value
    if isinstance(value, str):
        for token in tokens:
            value = value.replace(token, MASK)
        return value
    if isinstance(value, dict):
        return {without(key, tokens): without(one, tokens) for key, one in value.items()}
    return [without(one, tokens) for one in value] if isinstance(value, list) else value


def _now() -> float:
    return asyncio.get_running_loop().time()


def _kind(credential: Mapping[str, Any]) -> str:
    written = credential.get("type") or credential.get("service") or ""
    return str(written).strip().lower().replace("-", "_")


def _grant(alias: str, values: Mapping[str, Any], settings: Connection) -> _Grant:
    """Return who wants a token; the token server is reached as the step's server is."""
    found: dict[str, str] = {}
    for name in ("token_url", "client_id", "client_secret", *_FIELDS, "send", "ca_file"):
        value = values.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            found[name] = str(value).strip()
    whose = f"the credential '{alias}'" if alias else "the credential"
    for name in ("token_url", "client_id", "client_secret"):
        if not found.get(name):
            said = f"{whose} of type '{_kind(values)}' needs '{name}'"
            raise Failed("bad-auth", said, retriable=False)
    send = found.get("send", "header")
    if send not in ("header", "body"):
        said = f"{whose}: 'send' is 'header' or 'body', not '{beginning(send, 60)}'"
        raise Failed("bad-auth", said, retriable=False)
    way = way_of(settings)
    if "ca_file" in found:
        way = replace(way, ca_file=found["ca_file"])
    secret = found["client_secret"]
    return _Grant(
        alias,
        found["token_url"],
        found["client_id"],
        blake2b(secret.encode(errors="replace"), digest_size=16).digest(),
        tuple((name, found[name]) for name in _FIELDS if found.get(name)),
        send == "body",
        way,
        secret,
    )


def _request(grant: _Grant, timeout: float) -> Request:
    form = [("grant_type", "client_credentials"), *grant.asks]
    headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    ]
    if grant.in_body:
        form += [("client_id", grant.client), ("client_secret", grant.secret)]
    else:  # both are written as in a form first, see RFC 6749, 2.3.1
        known = basic(quote(grant.client, safe=""), quote(grant.secret, safe=""))
        headers.append(("Authorization", known))
    return Request(
        "POST",
        grant.url,
        headers=tuple(headers),
        content=urlencode(form).encode(),
        timeout=timeout,
        max_bytes=_MOST_BYTES,
        way=grant.way,
    )


def _read(grant: _Grant, answer: Answer) -> _Token:
    """Return the token that an answer holds, or say what is wrong with the answer."""
    said: Any = None
    with suppress(orjson.JSONDecodeError):
        said = orjson.loads(answer.body)
    told = said if isinstance(said, dict) else {}
    if not 200 <= answer.status <= 299:
        why = f"answered {answer.status}"
        if isinstance(told.get("error"), str):
            why += f" ({_words(grant, told['error'])})"
        details: dict[str, Json] = {"status_code": answer.status}
        if isinstance(told.get("error_description"), str):
            details["error_description"] = _words(grant, told["error_description"])
        raise _failed(
            grant,
            why,
            retriable=answer.status in _MAY_PASS,
            wait=retry_after(answer.headers, datetime.now(UTC)),
            details=details,
        )
    token, kind = told.get("access_token"), told.get("token_type", "bearer")
    if not isinstance(token, str) or not token.strip():
        raise _failed(grant, "gave no 'access_token'", retriable=False)
    if str(kind).lower() != "bearer":
        raise _failed(grant, f"gave a token of type '{_words(grant, str(kind))}'", retriable=False)
    lasts = _seconds(told.get("expires_in"))
    return _Token(token.strip(), _now() + lasts - min(EARLY_SECONDS, lasts * EARLY_SHARE))


def _seconds(said: Any) -> float:
    try:
        found = float(said)
    except (TypeError, ValueError):
        return UNSAID_SECONDS
    return found if math.isfinite(found) and found >= 0 else UNSAID_SECONDS


def _words(grant: _Grant, text: str) -> str:
    return beginning(text.replace(grant.secret, "***"), 200)


def _failed(
    grant: _Grant,
    why: str,
    *,
    retriable: bool,
    wait: float | None = None,
    details: Json = None,
) -> Failed:
    said = f"{grant.called} gives no token: {shown(grant.url, (grant.secret,))} {why}"
    return Failed("no-token", said, retriable=retriable, retry_after=wait, details=details)


__all__ = ["TYPES", "Lent", "Tokens", "without"]
