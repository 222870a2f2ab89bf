"""A playbook between two passes: nodes and edges by name. Decides nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from noetl_mcp.playbook.model import Playbook
from noetl_mcp.playbook.node import Path
from noetl_mcp.tasks.contract import TaskSpec

SECOND = " (second)"
"""Marks a node whose name is taken: it is looked at, and never part of a plan."""

EdgeKind = Literal["next", "error", "failed", "need"]
Phase = Literal["body", "finally"]


class Placed(NamedTuple):
    """A value and where it is written, since a node may be put together from several places."""

    value: Any
    at: Path

    def down(self, *path: str | int) -> Path:
        """The place of something inside the value."""
        return (*self.at, *path)


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to another.

    `next` follows success and `error` a failure that it settles; `failed` only looks on, the
    failure stays one; `need` waits for a value and passes no control.
    """

    source: str
    target: str
    kind: EdgeKind = "next"
    when: Placed | None = None
    data: Placed | None = None
    set: Placed | None = None
    at: Path = ()
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One thing the plan will do, with everything that was written about it.

    `care` holds retry, timeout, expect and the like as they stand in the model; `within` names the
    iterator whose items the node is done for; `speaks_for` names the node whose result and names
    this node's own templates see (a save, for instance); `input_of` the node whose ways bring the
    payload that its input begins with (the head of a sequence).
    """

    name: str
    type: str
    at: Path
    settings: Mapping[str, Placed] = field(default_factory=dict)
    data: Mapping[str, Placed] | Placed | None = None
    care: Mapping[str, Placed] = field(default_factory=dict)
    hidden: bool = False
    phase: Phase = "body"
    route: Literal["seed", "exclusive", "inclusive"] = "seed"
    join: Literal["all", "any", "settled"] = "all"
    within: str | None = None
    speaks_for: str | None = None
    input_of: str | None = None
    siblings: Mapping[str, str] = field(default_factory=dict)
    goes_on: bool = False
    writes: bool = False
    turn: str | None = None
    round: int = 0

    def told(self) -> str:
        """Say to a person which step is meant, whatever it was unfolded into."""
        if self.at[:2] == ("mcp", "tools"):
            return f"tool '{self.name}'"
        if self.at[:2] == ("mcp", "resources"):
            return f"resource '{self.name}'"
        if self.turn is not None and self.at[:1] == ("mcp",):
            return f"turn '{self.turn}'"
        if self.within is not None and self.name == f"{self.within}.item":
            return f"the task of step '{self.within}'"
        owner, _, number = self.name.rpartition(".save.")
        return f"the save of step '{owner}'" if owner and number else f"step '{self.name}'"

    def with_(self, **changes: Any) -> "Node":
        """Return the same node with some fields changed."""
        return replace(self, **changes)


class Ref(NamedTuple):
    """A template of `user` reads the result of `used`."""

    used: str
    user: str
    optional: bool
    at: Path
    word: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What the passes hand to each other.

    `set_reads` holds (node, name) for every name set by another step that a node's templates read.
    """

    playbook: Playbook
    tasks: Mapping[str, TaskSpec]
    nodes: Mapping[str, Node] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    entries: tuple[str, ...] = ()
    ends: Mapping[str, str] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    assumed_actions: frozenset[str] = frozenset()
    refs: tuple[Ref, ...] = ()
    set_reads: frozenset[tuple[str, str]] = frozenset()
    tools: Mapping[str, Node] = field(default_factory=dict)

    def with_(self, **changes: Any) -> "Draft":
        """Return the same draft with some fields changed."""
        return replace(self, **changes)

    def outgoing(self) -> dict[str, list[Edge]]:
        """Return the edges by source, in their order."""
        found: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
        return found

    def incoming(self) -> dict[str, list[Edge]]:
        """Return the edges by target, in their order."""
        found: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge)
        return found


def strings(placed: Placed) -> Iterator[tuple[str, Path]]:
    """Yield every text inside a value, keys left out, with its place."""
    stack: list[tuple[Any, Path]] = [(placed.value, placed.at)]
    while stack:
        value, at = stack.pop()
        if isinstance(value, str):
            yield value, at
        elif isinstance(value, dict):
            stack += [(child, (*at, key)) for key, child in value.items()]
        elif isinstance(value, (list, tuple)):
            stack += [(child, (*at, index)) for index, child in enumerate(value)]
