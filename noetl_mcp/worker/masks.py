"""Keep secrets out of whatever is kept: results, errors, logs. Masks exact texts, nothing else."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.worker.settle import Fault

PUBLIC_FIELDS = frozenset(
    {"type", "host", "port", "database", "dbname", "user", "username", "name"}
)
"""What anybody may see of a credential."""
SHORTEST = 4
"""Shorter secrets are not looked for: they would blank out half of every text."""


def secrets_of(credential: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a credential that nobody may see, however deep they stand in it."""
    for name, value in credential.items():
        if name not in PUBLIC_FIELDS:
            yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from secrets_of(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


@dataclass(slots=True, eq=False)
class Mask:
    """The secrets that a step was given."""

    secrets: set[str] = field(default_factory=set)

    def add(self, secrets: Iterable[str]) -> None:
        """Look for these from now on."""
        self.secrets.update(one for one in secrets if len(one) >= SHORTEST)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    def value(self, value: Any) -> Any:
        """Return a value without secrets in its texts."""
        if not self.secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(one) for one in value]
        return value

    def fault(self, fault: Fault) -> Fault:
        """Return a failure without secrets."""
        if not self.secrets:
            return fault
        return replace(fault, message=self.text(fault.message), details=self.value(fault.details))


__all__ = ["SHORTEST", "Mask", "secrets_of"]
