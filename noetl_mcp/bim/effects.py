"""What a remote method does to a model. A method that is not known writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Effect = Literal["reads", "writes", "destroys"]


def leaf(method: str) -> str:
    """Return the last part of a dotted name: `element.create_wall` is `create_wall`."""
    return method.strip().rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods of one server, by leaf, and the other names they go by."""

    effects: Mapping[str, Effect]
    aliases: Mapping[str, str]

    def name(self, method: str) -> str:
        """Return the one name of a method, whatever it was called by."""
        bare = leaf(method)
        return self.aliases.get(bare, bare)

    def knows(self, method: str) -> bool:
        """Whether the registry has the method."""
        return self.name(method) in self.effects

    def effect(self, method: str) -> Effect:
        """Return what a method does; one that is not known writes."""
        return self.effects.get(self.name(method), "writes")

    def reads(self, method: str) -> bool:
        """Whether a method is known to change nothing."""
        return self.effect(method) == "reads"

    def writes(self, method: str) -> bool:
        """Whether a method changes something, or may."""
        return not self.reads(method)


def registry(*, reads: str, writes: str, destroys: str, aliases: Mapping[str, str]) -> Methods:
    """Build a registry from names in plain text; one that stands twice counts as the worst."""
    effects: dict[str, Effect] = {}
    effects.update(dict.fromkeys(reads.split(), "reads"))
    effects.update(dict.fromkeys(writes.split(), "writes"))
    effects.update(dict.fromkeys(destroys.split(), "destroys"))
    return Methods(MappingProxyType(effects), MappingProxyType(dict(aliases)))


__all__ = [
    "Effect",
    "Methods",
    "leaf",
    "registry",
]
