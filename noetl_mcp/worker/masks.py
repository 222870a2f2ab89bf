"""Keep secrets out of whatever is kept: results, errors, logs, notes.

Masks the texts of secrets, in every form in which they may come back, and numbers that are secrets;
nothing else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from noetl_mcp.playbook.rendering.hiding import (
    Place,
    at_cuts,
    covered,
    quoted,
    shows_cuts,
    standing,
)
from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.worker.forms import (
    SHORTEST,
    forms_of,
    in_json,
    known_by_address,
    known_by_name,
    plain_forms_of,
    probes_of,
)
from noetl_mcp.worker.settle import Fault

PUBLIC_FIELDS = frozenset(
    {"type", "host", "port", "database", "dbname", "user", "username", "name", "in", "send"}
    | {"token_url", "client_id", "scope", "audience", "resource", "ca_file"}
)
"""What anybody may see of a credential."""
_UNUSUAL = re.compile(rb"%|\.\.\.|\xe2\x80\xa6")
"""Where one of these stands, a part of a secret may stand, or one that is quoted in part."""
_OWN_CODE = re.compile(r"secret|(postgres|duckdb)-[0-9A-Za-z-]+")
"""Codes that say nothing of a secret though it may be such a word; conditions ask for them."""


def secrets_of(credential: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a credential that nobody may see, however deep they stand in it."""
    for name, value in credential.items():
        if name not in PUBLIC_FIELDS:
            yield from _texts(value)
    yield from _told_to_servers(credential)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from secrets_of(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _told_to_servers(credential: Mapping[str, Any]) -> Iterator[str]:
    """Yield name and password in the form in which servers are told both."""
    user = next((credential[one] for one in ("username", "user", "login") if one in credential), "")
    password = credential.get("password")
    if isinstance(user, str) and user and isinstance(password, (str, int)):
        yield from known_by_name(user.strip(), str(password).strip())


@dataclass(slots=True, eq=False)
class Mask:
    """The secrets that a step was given."""

    secrets: set[str] = field(default_factory=set)
    """Everything that is looked for."""
    _numbers: set[str] = field(default_factory=set)
    _probes: set[bytes] = field(default_factory=set)
    _plain: set[str] = field(default_factory=set)
    """The secrets as they were told, for these may come back quoted in any way."""
    _sorted: tuple[str, ...] | None = None
    _joined: str = ""

    def add(self, secrets: Iterable[str | Secret]) -> None:
        """Look for these from now on; of a text that holds secrets, for the secrets in it."""
        for secret in secrets:
            for text in _atoms(secret):
                if len(text) >= SHORTEST:
                    self.secrets |= forms_of(text)
                    self._probes.update(probes_of(text))
                    self._numbers.add(text)
                    self._plain.update(plain_forms_of(text))
        self._sorted = None

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self._masked(text, self._all())

    def value(self, value: Any) -> Any:
        """Return a value without secrets in its texts and among its numbers."""
        if not self.secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        try:
            packed = orjson.dumps(value)
        except (TypeError, ValueError, RecursionError):
            return self._deeply(value, self._all(), {})
        may_hide = _UNUSUAL.search(packed) or (self._spaced and b"+" in packed)
        if not may_hide and not any(probe in packed for probe in self._probes):
            return value
        found = tuple(one for one in self._all() if in_json(one) in packed)
        return self._deeply(value, found, {})

    def fault(self, fault: Fault) -> Fault:
        """Return a failure without secrets."""
        if not self.secrets:
            return fault
        is_own = _OWN_CODE.fullmatch(fault.code) is not None
        return replace(
            fault,
            code=fault.code if is_own else self.text(fault.code),
            message=self.text(fault.message),
            details=self.value(fault.details),
        )

    @property
    def _spaced(self) -> bool:
        """Whether there are secrets with a space, which a URL may hold as a plus sign."""
        return any(" " in one for one in self._plain)

    def _all(self) -> tuple[str, ...]:
        if self._sorted is None:
            self._sorted = tuple(sorted(self.secrets, key=lambda one: (-len(one), one)))
            self._joined = "\0".join(self._sorted)
        return self._sorted

    def _masked(self, text: str, secrets: tuple[str, ...]) -> str:
        places: list[Place] = [*standing(text, secrets)]
        is_cut = shows_cuts(text)
        if is_cut:
            places += at_cuts(text, self._all(), self._joined)
        if is_cut or "%" in text:  # of a quoted sign less than that may be left
            places += quoted(text, self._plain, self._joined, plus=False)
        if "+" in text and self._spaced:
            places += quoted(text, self._plain, self._joined, plus=True)
        return covered(text, places)

    def _deeply(self, value: Any, secrets: tuple[str, ...], keys: dict[Any, Any]) -> Any:
        if isinstance(value, str):
            return self._masked(value, secrets)
        if isinstance(value, dict):
            for key in value.keys() - keys.keys():
                keys[key] = self._deeply(key, secrets, keys)
            return {keys[key]: self._deeply(one, secrets, keys) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._deeply(one, secrets, keys) for one in value]
        if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        is_whole = isinstance(value, float) and value.is_integer()
        said = {repr(abs(value)), repr(abs(int(value))) if is_whole else ""}
        return value if said.isdisjoint(self._numbers) else MASK


def _atoms(secret: str | Secret) -> Iterator[str]:
    """Yield the secrets in a text; where one is too short to be looked for, all of the text."""
    if not isinstance(secret, Secret):
        yield secret
        return
    text = secret.reveal()
    atoms = secret.atoms - {""}
    yield from atoms
    yield from known_by_address(text)
    if atoms and min(map(len, atoms)) < SHORTEST:
        yield text


__all__ = ["SHORTEST", "Mask", "secrets_of"]
