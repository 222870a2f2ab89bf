"""Find the keys that credentials are sealed with, or make the first one. Never shows a key.

A key file that others may read is refused, and one that is there is never written over.
"""

import base64
import binascii
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

KEY_VARIABLE = "NOETL_CREDENTIAL_KEY"
KEY_FILE = "credential.key"
KEY_BYTES = 32
_MOST_BYTES = 10_000


class BadKey(Exception):
    """A key cannot be used; the text says which and what to do, without the key."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by their ids: the current one seals, all of them open."""

    current: str
    by_id: Mapping[str, bytes] = field(repr=False)


def keys_at(home: Path, text: str | None) -> Keys | None:
    """Return the keys of a text, else those of the file in the home folder; None without both."""
    if text is not None and text.strip():
        return read_keys(text, KEY_VARIABLE)
    return _read_file(home / KEY_FILE)


def read_keys(text: str, where: str) -> Keys:
    """Read keys in base64, with commas or blanks between; the first one is the current one."""
    keys = [_read_key(one, where) for one in re.split(r"[\s,]+", text.strip()) if one]
    if not keys:
        raise BadKey(f"{where} holds no key; {_WANTED}")
    by_id = {id_of(key): key for key in keys}
    return Keys(id_of(keys[0]), MappingProxyType(by_id))


def id_of(key: bytes) -> str:
    """Return the name of a key, from which nobody finds the key."""
    return hashlib.sha256(b"noetl-mcp credential key\0" + key).hexdigest()[:12]


def new_key() -> str:
    """Return a new key as text."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def make_key_file(home: Path) -> Keys:
    """Make the key file with a new key; of several who try at once all get the same one."""
    path = home / KEY_FILE
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = home / f".{KEY_FILE}.{secrets.token_hex(8)}"
    try:
        _write(draft, new_key() + "\n")
        os.link(draft, path)  # appears as a whole, or not at all where there is one already
        _sync(home)
    except FileExistsError:
        pass
    except OSError as error:
        raise BadKey(f"cannot make {path}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    keys = _read_file(path)
    if keys is None:
        raise BadKey(f"{path} was there a moment ago and is gone")
    return keys


_WANTED = f"a key is {KEY_BYTES} random bytes in base64, as 'openssl rand -base64 32' prints them"


def _read_key(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text.translate(_URL_SAFE), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise BadKey(f"{where} holds something that is no key; {_WANTED}")
    return key


_URL_SAFE = str.maketrans("-_", "+/")


def _read_file(path: Path) -> Keys | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadKey(f"cannot read {path}: {error.strerror}") from None
    try:
        _demand_private(path, os.fstat(file))
        text = os.read(file, _MOST_BYTES)
    finally:
        os.close(file)
    return read_keys(text.decode("ascii", "replace"), str(path))


def _demand_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise BadKey(f"{path} is no file")
    if found.st_mode & 0o077:
        raise BadKey(f"{path} can be read by others; run: chmod 600 '{path}'")
    if os.geteuid() not in (0, found.st_uid):
        raise BadKey(f"{path} belongs to another user; copy it to a file of your own")


def _write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "w", encoding="ascii") as written:
        written.write(text)
        written.flush()
        os.fsync(file)


def _sync(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


__all__ = [
    "KEY_BYTES",
    "KEY_FILE",
    "KEY_VARIABLE",
    "BadKey",
    "Keys",
    "id_of",
    "keys_at",
    "make_key_file",
    "new_key",
    "read_keys",
]
