"""Keep credentials sealed: AES-256-GCM under a key that does not stand in the database.

Never prints, logs or lists a value. What is sealed is bound to its name, its type and its key: a
row that was moved, renamed or changed does not open.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from noetl_mcp.catalog.credential_types import problem_of
from noetl_mcp.catalog.keys import KEY_VARIABLE, Keys, keys_at, make_key_file
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.diagnostics import closest, shorten
from noetl_mcp.playbook.node import Json

SQL = statements(__file__, "credentials.sql")
MOST_BYTES = 65_536
_FORM = b"\x01"
_NONCE = 12
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,49}")


class WrongCredential(Exception):
    """A credential cannot be stored, found or opened; the text says why, without its values."""


@dataclass(frozen=True, slots=True)
class Credential:
    """An opened credential; its values are not part of how it prints."""

    name: str
    type: str
    fields: Mapping[str, Json] = field(repr=False)

    def as_auth(self) -> dict[str, Json]:
        """Return the map that a task gets: its values, and its type."""
        return {"type": self.type, **self.fields}


@dataclass(frozen=True, slots=True)
class Listed:
    """What may be shown of a credential."""

    name: str
    type: str
    key_id: str
    updated_at: datetime


def seal(keys: Keys, name: str, type: str, fields: Mapping[str, Json]) -> bytes:
    """Return fields sealed under the current key, for this name and type alone."""
    nonce = os.urandom(_NONCE)
    key = AESGCM(keys.by_id[keys.current])
    sealed = key.encrypt(nonce, orjson.dumps(dict(fields)), _bound(keys.current, name, type))
    return _FORM + nonce + sealed


def unseal(keys: Keys | None, name: str, type: str, key_id: str, sealed: bytes) -> dict[str, Json]:
    """Return what was sealed; refuse what was sealed for another name, type or key."""
    key = None if keys is None else keys.by_id.get(key_id)
    if key is None:
        raise WrongCredential(
            f"credential '{name}' is sealed with the key {key_id}, which is not here;"
            f" bring its key file, or add the key to {KEY_VARIABLE}"
        )
    nonce, rest = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
    try:
        if sealed[:1] != _FORM:
            raise InvalidTag
        found: dict[str, Json] = orjson.loads(
            AESGCM(key).decrypt(nonce, rest, _bound(key_id, name, type))
        )
    except (InvalidTag, ValueError):
        raise WrongCredential(
            f"credential '{name}' was changed outside and cannot be opened; set it again"
        ) from None
    return found


def _bound(key_id: str, name: str, type: str) -> bytes:
    return orjson.dumps(["noetl-mcp credential", 1, key_id, type, name])


class Credentials:
    """The credentials of a database, opened and sealed with keys that are held beside it."""

    def __init__(self, connection: Connection[TupleRow], keys: Keys | None) -> None:
        self._connection = connection
        self._keys = keys

    def set(self, name: str, type: str, fields: Mapping[str, Json]) -> None:
        """Store a credential, in place of one of that name."""
        _demand_good(name, type, fields)
        keys = self._current()
        sealed = seal(keys, name, type, fields)
        row = {"name": name, "type": type, "sealed": sealed, "key_id": keys.current}
        self._connection.execute(SQL["put"], row)

    def get(self, name: str) -> Credential:
        """Return a credential with its values, for whoever must use it."""
        row = self._connection.execute(SQL["get"], {"name": name}).fetchone()
        if row is None:
            near = closest(name, [one.name for one in self.names()])
            store = f"store it with: noetl-mcp credential set {shorten(name)} --type …"
            more = f"did you mean '{near}'?" if near else store
            raise WrongCredential(f"there is no credential '{shorten(name)}'; {more}")
        type, sealed, key_id = row
        fields = unseal(self._keys, name, type, key_id, bytes(sealed))
        return Credential(name, type, MappingProxyType(fields))

    def names(self) -> tuple[Listed, ...]:
        """Return what there is, without the values."""
        return tuple(Listed(*row) for row in self._connection.execute(SQL["names"]).fetchall())

    def delete(self, name: str) -> bool:
        """Remove a credential, and say whether there was one."""
        return self._connection.execute(SQL["delete"], {"name": name}).rowcount == 1

    def reseal(self) -> int:
        """Seal everything under the current key, and return how many were under another one."""
        keys, done = self._current(), 0
        with self._connection.transaction():
            otherwise = {"key_id": keys.current}
            rows = self._connection.execute(SQL["sealed_otherwise"], otherwise).fetchall()
            for name, type, was, key_id in rows:
                fields = unseal(keys, name, type, key_id, bytes(was))
                row: dict[str, Any] = {"name": name, "was": was, "key_id": keys.current}
                row["sealed"] = seal(keys, name, type, fields)
                done += self._connection.execute(SQL["reseal"], row).rowcount
        return done

    def _current(self) -> Keys:
        if self._keys is None:
            raise WrongCredential(f"there is no key to seal with; set {KEY_VARIABLE}")
        return self._keys


def credentials_at(
    connection: Connection[TupleRow], home: Path, key: str | None, *, may_make_key: bool = False
) -> Credentials:
    """Return the credentials of a database with the keys of this installation.

    The first key is made in the home folder when asked for, but never beside credentials that are
    sealed with another one: half of them could then be opened here and half there.
    """
    keys = keys_at(home, key)
    store = Credentials(connection, keys)
    if keys is not None or not may_make_key:
        return store
    if there := store.names():
        raise WrongCredential(
            f"the credentials of this database are sealed with the key {there[0].key_id}, which is"
            f" not here; bring its key file, or put the key into {KEY_VARIABLE}"
        )
    return Credentials(connection, make_key_file(home))


def _demand_good(name: str, type: str, fields: Mapping[str, Json]) -> None:
    if not _NAME.fullmatch(name):
        raise WrongCredential(
            f"'{shorten(name)}' is no name for a credential: letters, digits, '_', '-', '.' and"
            " '/' make one"
        )
    if not _TYPE.fullmatch(type):
        raise WrongCredential(
            f"'{shorten(type)}' is no type of a credential: bearer, basic and postgres are"
        )
    if not fields:
        raise WrongCredential(f"credential '{name}' has no fields")
    if "type" in fields:
        raise WrongCredential(f"'type' of credential '{name}' is said beside its fields")
    for key in fields:
        if not key.strip() or len(key) > 200:
            raise WrongCredential(f"'{shorten(key)}' is no name for a field")
    try:
        size = len(orjson.dumps(dict(fields)))
    except orjson.JSONEncodeError:
        raise WrongCredential(f"a field of credential '{name}' is no JSON") from None
    if size > MOST_BYTES:
        raise WrongCredential(f"credential '{name}' has {size:,} bytes, more than {MOST_BYTES:,}")
    if (problem := problem_of(type, fields)) is not None:
        raise WrongCredential(problem)


__all__ = [
    "MOST_BYTES",
    "SQL",
    "Credential",
    "Credentials",
    "Listed",
    "WrongCredential",
    "credentials_at",
    "seal",
    "unseal",
]
