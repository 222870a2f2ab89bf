"""Keep the tokens by which programs and people make themselves known to the web face.

Only digests are stored, so a token is shown once and never again. A token has one role; each role
may what the former may, and more.
"""

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from noetl_mcp.database import Connection, TupleRow, statements

SQL = statements(__file__, "access.sql")
ROLES = ("viewer", "operator", "admin")
"""A viewer looks, an operator starts and decides, an admin keeps keys."""
LOCAL, SOMEBODY = "local", "somebody"
"""Who asks without a token: from this machine, or with a callback's own."""
RESERVED = frozenset({LOCAL, SOMEBODY})
PREFIX = "noetl_"
LONGEST = timedelta(days=36_525)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}")


class WrongToken(Exception):
    """A token cannot be made so; the text says why."""


class Holder(NamedTuple):
    """Who holds a token, and what he may."""

    name: str
    role: str


class Listed(NamedTuple):
    """What may be shown of a token."""

    name: str
    role: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    holds: bool


class Tokens:
    """The tokens of one database."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self._connection = connection

    def create(self, name: str, role: str, lasts: timedelta | None = None) -> str:
        """Return a new token, which is not to be had again."""
        if not _NAME.fullmatch(name):
            raise WrongToken("a name is letters, digits and . _ - @, at most 100 of them")
        if name in RESERVED:
            raise WrongToken(f"'{name}' is the name of those who ask without a token")
        if role not in ROLES:
            raise WrongToken(f"a role is one of {', '.join(ROLES)}")
        if lasts is not None and lasts <= timedelta():
            raise WrongToken("a token lasts some time, or for ever")
        if lasts is not None and lasts > LONGEST:
            raise WrongToken("a token lasts a hundred years at most, or for ever")
        token = PREFIX + secrets.token_urlsafe(32)
        values = {
            "name": name,
            "role": role,
            "digest": _digest(token),
            "seconds": None if lasts is None else lasts.total_seconds(),
        }
        if self._connection.execute(SQL["create"].encode(), values).fetchone() is None:
            raise WrongToken(f"there is a token '{name}' already; revoke it first")
        return token

    def list(self) -> list[Listed]:
        """Return all tokens, those that hold no longer too."""
        return [Listed(*row) for row in self._connection.execute(SQL["list"].encode()).fetchall()]

    def revoke(self, name: str) -> bool:
        """Let a token hold no longer; say whether there was one."""
        return self._connection.execute(SQL["revoke"].encode(), {"name": name}).rowcount > 0

    def known(self, token: str) -> Holder | None:
        """Return who holds a token; None when it does not hold."""
        row = self._connection.execute(SQL["known"].encode(), {"digest": _digest(token)}).fetchone()
        return None if row is None else Holder(*row)

    def any(self) -> bool:
        """Whether there is one that holds."""
        row = self._connection.execute(SQL["any"].encode()).fetchone()
        return row is not None and bool(row[0])


def may(role: str, wanted: str) -> bool:
    """Whether a role is enough for what another one may."""
    return ROLES.index(role) >= ROLES.index(wanted)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


__all__ = [
    "LOCAL",
    "LONGEST",
    "PREFIX",
    "RESERVED",
    "ROLES",
    "SOMEBODY",
    "Holder",
    "Listed",
    "Tokens",
    "WrongToken",
    "may",
]
