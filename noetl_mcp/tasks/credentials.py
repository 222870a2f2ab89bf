"""What stored credentials add to a request: headers, or a part of the query. Sends nothing.

A credential is a map with a `type`. Its values never stand in what is said here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from noetl_mcp.tasks.calls import Failed
from noetl_mcp.wire.exchange import basic

Pair = tuple[str, str]
_TOKEN = ("token", "access_token", "key", "value")


@dataclass(frozen=True, slots=True)
class Known:
    """How we make ourselves known; `secrets` are the values that must not be shown."""

    headers: tuple[Pair, ...] = field(default=(), repr=False)
    query: tuple[Pair, ...] = field(default=(), repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class _Credential:
    """One credential, and how it is called in a message."""

    alias: str
    type: str
    values: Mapping[str, Any] = field(repr=False)

    def get(self, *names: str) -> str | None:
        """Return the first of some entries as text, without the line end that files have."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                return str(value).strip()
        return None

    def need(self, *names: str) -> str:
        """Return the first of some entries, which must not be empty."""
        found = self.get(*names)
        if not found:
            raise _wrong(f"{self.called} of type '{self.type}' needs '{names[0]}'")
        return found

    @property
    def called(self) -> str:
        return f"the credential '{self.alias}'" if self.alias else "the credential"


def known_by(auth: Mapping[str, Mapping[str, Any]]) -> Known:
    """Return what all credentials of a call add together; refuse two for the same header."""
    parts = [_one(alias, values) for alias, values in auth.items()]
    headers = tuple(pair for part in parts for pair in part.headers)
    names = [name.lower() for name, _ in headers]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(f"two credentials of the step set the header '{name}'")
    return Known(
        headers,
        tuple(pair for part in parts for pair in part.query),
        tuple(secret for part in parts for secret in part.secrets),
    )


def _one(alias: str, values: Mapping[str, Any]) -> Known:
    written = str(values.get("type") or values.get("service") or "")
    kind = written.strip().lower().replace("-", "_")
    credential = _Credential(alias, kind, values)
    make = _TYPES.get(kind)
    if make is None:
        said = f"has the type '{written}'" if written else "has no type"
        allowed = "bearer, basic, api_key or header; http and jsonrpc take oauth2 too"
        raise _wrong(f"{credential.called} {said}; a request takes {allowed}")
    return make(credential)


def _bearer(credential: _Credential) -> Known:
    token = credential.need(*_TOKEN)
    return Known((("Authorization", f"Bearer {token}"),), (), (token,))


def _basic(credential: _Credential) -> Known:
    user = credential.need("username", "user", "login")
    password = credential.get("password") or ""
    if ":" in user:
        raise _wrong(f"{credential.called}: a user name must not hold a colon")
    value = basic(user, password)
    return Known((("Authorization", value),), (), (password, value.removeprefix("Basic ")))


def _api_key(credential: _Credential) -> Known:
    key = credential.need("key", "value", "api_key", "token")
    query = credential.get("query", "query_name", "param")
    name = credential.get("header", "header_name", "name")
    if query is None and credential.get("in", "location") == "query":
        query = name or "api_key"
    if query is not None:
        return Known((), ((query, key),), (key,))
    return Known(((name or "X-API-Key", key),), (), (key,))


def _header(credential: _Credential) -> Known:
    name, value = credential.need("name", "header"), credential.need("value", "key", "token")
    return Known(((name, value),), (), (value,))


_TYPES: Mapping[str, Callable[[_Credential], Known]] = MappingProxyType(
    {
        "bearer": _bearer,
        "bearer_token": _bearer,
        "basic": _basic,
        "http_basic": _basic,
        "api_key": _api_key,
        "apikey": _api_key,
        "header": _header,
    }
)


def _wrong(message: str) -> Failed:
    return Failed("bad-auth", message, retriable=False)


__all__ = ["Known", "Pair", "known_by"]
