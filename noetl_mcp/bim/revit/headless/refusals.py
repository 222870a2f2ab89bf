"""What a method answers when it cannot do what it was asked. Carries a code that programs know."""

from collections.abc import Iterable, Mapping
from typing import Any

from noetl_mcp.cuts import beginning
from noetl_mcp.diagnostics import closest


class Refused(Exception):
    """A call that is not done; it has changed nothing."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.more: Mapping[str, Any] = more


def unknown(what: str, name: str, known: Iterable[str]) -> Refused:
    """Return the refusal of a name that nothing has, with the nearest that there is."""
    near = closest(name, tuple(known))
    more = f"; did you mean '{near}'?" if near else ""
    return Refused("INVALID_PARAMS", f"there is no {what} '{beginning(name, 100)}'{more}")


__all__ = ["Refused", "unknown"]
