"""What a template gets for a name that is not there.

May be followed further (`missing.a.b`), tested with `is defined` and replaced by `default`;
refuses every other use with the full path, the first part that is missing and the closest name.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from jinja2 import StrictUndefined, TemplateRuntimeError, UndefinedError
from jinja2.utils import missing

from noetl_mcp.playbook.node import kind_of
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.rendering.views import Named

_LONGEST = 100  # characters of a name in a message, and of one that is compared with others


class NotGiven(UndefinedError):
    """What is missing is for whoever runs the program to give, not for the playbook."""


class Absent(StrictUndefined):
    """A value that is not there, and where the path to it broke off."""

    __slots__ = ("_path",)

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: Any = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
        path: str | None = None,
    ) -> None:
        is_to_give = isinstance(obj, Named) and obj.remedy is not None
        super().__init__(hint, obj, name, NotGiven if is_to_give else exc)
        self._path = path

    def further(self, path: str) -> "Absent":
        """Return what stands at a longer path: the same gap."""
        return Absent(
            self._undefined_hint,
            self._undefined_obj,
            self._undefined_name,
            self._undefined_exception,
            path,
        )

    @property
    def owner(self) -> object:
        """The value that does not have the first missing part."""
        return self._undefined_obj

    @property
    def name(self) -> object:
        """The first missing part."""
        return self._undefined_name

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return self._undefined_hint
        name = _told(self.name)
        path = self._path or name
        if self.owner is missing:
            return f"'{path}' is unknown" + (f": no '{name}'" if path != name else "")
        return f"'{path}' is unknown: {_lack(self.owner, self.name)}"


def _told(name: object) -> str:
    text = str(name) if isinstance(name, (str, int, float, Secret)) else "(…)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _lack(owner: object, name: object) -> str:
    if isinstance(owner, Named):
        lack = f"no '{_told(name)}' among {owner.called}"
        return f"{lack}; {owner.remedy(_told(name))}" if owner.remedy is not None else lack
    if isinstance(owner, Mapping):
        return f"no '{_told(name)}' in the map{_closest(_told(name), owner)}"
    if isinstance(owner, (list, tuple)) and isinstance(name, int):
        return f"no item {name} in a list of {len(owner)}"
    kind = "a secret" if isinstance(owner, Secret) else _kind(owner)
    return f"no '{_told(name)}' in {kind}"


def _kind(owner: object) -> str:
    known = owner is None or isinstance(owner, (bool, int, float, str, list, tuple))
    return kind_of(owner) if known else f"a {type(owner).__name__}"


def _closest(name: str, owner: Mapping[object, object]) -> str:
    keys = [key for key in owner.keys() if isinstance(key, str)]  # noqa: SIM118 - may be Items
    near = [key for key in keys[:1_000] if len(key) <= _LONGEST]
    close = get_close_matches(name, near, n=1) if len(name) <= _LONGEST else []
    return f", did you mean '{close[0]}'?" if close else ""


__all__ = ["Absent", "NotGiven"]
