"""What the types of credentials hold. Knows names, keeps and shows no value.

A type that is not listed is for those who know it: `python` steps get its fields as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from noetl_mcp.diagnostics import closest, shorten
from noetl_mcp.playbook.node import Json

_ALMOST = 0.8


@dataclass(frozen=True, slots=True)
class CredentialType:
    """A type of credentials: what it must have, and what else it may have.

    Each group of names is one thing in its spellings, the usual one first.
    """

    needs: tuple[tuple[str, ...], ...] = ()
    takes: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every field that is known, in all spellings."""
        return tuple(name for group in (*self.needs, *self.takes) for name in group)

    @property
    def usual(self) -> tuple[str, ...]:
        """Every field that is known, in its usual spelling."""
        return tuple(group[0] for group in (*self.needs, *self.takes))


_BEARER = CredentialType(needs=(("token", "access_token", "key", "value"),))
_BASIC = CredentialType(needs=(("username", "user", "login"),), takes=(("password",),))
_API_KEY = CredentialType(
    needs=(("key", "value", "api_key", "token"),),
    takes=(
        ("header", "header_name", "name"),
        ("query", "query_name", "param"),
        ("in", "location"),
    ),
)
_HEADER = CredentialType(needs=(("name", "header"), ("value", "key", "token")))
_OAUTH2 = CredentialType(
    needs=(("token_url",), ("client_id",), ("client_secret",)),
    takes=(("scope",), ("audience",), ("resource",), ("send",), ("ca_file",)),
)
_POSTGRES = CredentialType(
    takes=(
        ("dsn", "db_conn_string", "connection_string", "url"),
        ("host", "db_host"),
        ("hostaddr",),
        ("port", "db_port"),
        ("user", "username", "db_user"),
        ("password", "db_password"),
        ("database", "dbname", "db_name"),
        ("sslmode",),
        ("sslrootcert",),
    )
)
TYPES: Mapping[str, CredentialType] = {
    "bearer": _BEARER,
    "bearer_token": _BEARER,
    "basic": _BASIC,
    "http_basic": _BASIC,
    "api_key": _API_KEY,
    "apikey": _API_KEY,
    "header": _HEADER,
    "oauth2": _OAUTH2,
    "oauth2_client_credentials": _OAUTH2,
    "client_credentials": _OAUTH2,
    "postgres": _POSTGRES,
    "postgresql": _POSTGRES,
}


def is_listed(type: str) -> bool:
    """Whether a task other than `python` knows what to do with such a credential."""
    return _folded(type) in TYPES


def problem_of(type: str, fields: Mapping[str, Json]) -> str | None:
    """Say what is wrong with the type or the fields of a credential; None when they fit."""
    known = TYPES.get(_folded(type))
    if known is None:
        near = get_close_matches(_folded(type), TYPES, n=1, cutoff=_ALMOST)
        return f"'{type}' is no type of a credential; did you mean '{near[0]}'?" if near else None
    for name in fields:
        if name not in known.names:
            return _unknown(type, name, known)
    for group in known.needs:
        if not any(_is_said(fields.get(name)) for name in group):
            others = f" (or {', '.join(group[1:])})" if group[1:] else ""
            return f"a credential of type '{type}' needs '{group[0]}'{others}"
    return None


def _unknown(type: str, name: str, known: CredentialType) -> str:
    near = closest(name, known.names)
    more = f"did you mean '{near}'?" if near else f"it takes {', '.join(known.usual)}"
    return f"a credential of type '{type}' has no field '{shorten(name)}'; {more}"


def _is_said(value: Json) -> bool:
    """Whether a field has a text or a number that a task can send."""
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _folded(type: str) -> str:
    return type.lower().replace("-", "_")


__all__ = ["TYPES", "CredentialType", "is_listed", "problem_of"]
