"""The gates that an execution takes along, wherever it is worked on: those of whoever started it.

They stand among its labels, under a name that nobody else may use, so that lists show them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.queue.encode import decode, encode

OURS = "noetl."
LABEL = "noetl.gates"
_READ_ONLY, _CONFIRM = "read-only", "require-confirm"


@dataclass(frozen=True, slots=True)
class Guards:
    """What holds for an execution besides the rules of whichever worker has its steps."""

    read_only: bool = False
    require_confirm: bool = False

    @property
    def labels(self) -> dict[str, str]:
        """The label that tells them; none when there are none."""
        said = {_READ_ONLY: self.read_only, _CONFIRM: self.require_confirm}
        names = [name for name, holds in said.items() if holds]
        return {LABEL: " ".join(names)} if names else {}


NONE = Guards()


def guards_of(labels: str | None) -> Guards:
    """Return the guards of an execution with these labels."""
    if labels is None or LABEL not in labels:
        return NONE
    said = str(decode(labels).get(LABEL, "")).split()
    return Guards(_READ_ONLY in said, _CONFIRM in said)


def carried(labels: str | None, options: Mapping[str, Any]) -> str | None:
    """Return the labels that a child has from its parent: the guards alone.

    They are those of the parent, and what the options of its plan ask for.
    """
    own = guards_of(labels)
    is_strict = own.require_confirm or options.get("require_confirm") is True
    found = Guards(own.read_only, is_strict).labels
    return encode(found) if found else None


def demand_free(labels: Mapping[str, str]) -> None:
    """Refuse labels whose names are taken."""
    for name in labels:
        if name.startswith(OURS):
            raise NotAllowed(f"labels that begin with '{OURS}', as '{name}' does, are not for you")


__all__ = ["LABEL", "Guards", "carried", "demand_free", "guards_of"]
