"""Which names the templates of a node know, and what each of them is. Part of the pass `names`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from noetl_mcp.compiler.draft import Draft, Node, Placed
from noetl_mcp.playbook.references import FIXED_NAMES

When = Literal["before", "in", "after"]
Found = Literal["loop", "sibling", "input", "step", "workload", "fixed", "set", "global"]

GLOBALS = frozenset(("range", "dict", "namespace", "cycler", "joiner", "now"))
AFTER = frozenset(
    [
        "this",
        "result",
        "output",
        "outcome",
        "response",
        "event",
        "error",
        "attempt",
        "status_code",
        "success",
        "status",
    ]
)
ALWAYS = (FIXED_NAMES - {"this", "result"}) | {"ctx"}
LOOP = frozenset(("_loop", "parent", "iter", "index", "batch"))
_MOST_HYPHENS = 10
_NOT_WORD = re.compile(r"\W")


def safe(name: str) -> str:
    """Return the name under which a template can read something with, say, a hyphen."""
    return _NOT_WORD.sub("_", name)


@dataclass(frozen=True)
class Names:
    """What a whole playbook knows by name; shared by all its nodes."""

    draft: Draft
    set_names: frozenset[str] = frozenset()
    item_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names that tasks of an iterator set, for their own item alone, by iterator."""
    payloads: Mapping[str, frozenset[str] | None] = field(default_factory=dict)

    @cached_property
    def steps(self) -> dict[str, str]:
        """Nodes that templates may read, by name and by safe name."""
        own = [
            node.name
            for node in self.draft.nodes.values()
            if not node.hidden or node.name in self.resources
        ]
        return {safe(name): name for name in own} | {name: name for name in own}

    @cached_property
    def hyphenated(self) -> dict[str, str]:
        """The first node with a hyphen in its name, by each part that ends before a hyphen."""
        found: dict[str, str] = {}
        for name in self.steps:
            parts = name.split("-")[:_MOST_HYPHENS]
            for count in range(1, len(parts)):
                found.setdefault("-".join(parts[:count]), name)
        return found

    @cached_property
    def resources(self) -> frozenset[str]:
        """The names of resources."""
        mcp = self.draft.playbook.mcp
        return frozenset(r.name for r in mcp.resources) if mcp is not None else frozenset()

    @cached_property
    def workload(self) -> frozenset[str] | None:
        """The declared variables; None when the playbook declares nothing at all."""
        declared = self.draft.playbook.workload
        return frozenset(declared) if declared is not None else None


def names_of(draft: Draft) -> Names:
    """Gather what is known in a playbook."""
    set_names: set[str] = set()
    item_names: dict[str, set[str]] = {}
    for node in draft.nodes.values():
        if "set" in node.care and node.within is not None:
            item_names.setdefault(node.within, set()).update(node.care["set"].value)
        elif "set" in node.care:
            set_names |= set(node.care["set"].value)
    keys: dict[str, set[str]] = {}
    open_ended: set[str] = set()
    for edge in draft.edges:
        if edge.set is not None:
            set_names |= set(edge.set.value)
        if edge.data is not None:
            value = edge.data.value
            if isinstance(value, dict):
                keys.setdefault(edge.target, set()).update(value)
            else:
                open_ended.add(edge.target)
    payloads: dict[str, frozenset[str] | None] = {
        target: frozenset(known) for target, known in keys.items()
    }
    payloads |= dict.fromkeys(open_ended)
    items = {owner: frozenset(known) for owner, known in item_names.items()}
    return Names(draft, frozenset(set_names), items, payloads)


@dataclass(frozen=True, slots=True)
class Scope:
    """What one place of a playbook knows: a node, and whether its body has run."""

    names: Names
    node: Node
    when: When
    inputs: frozenset[str] | None
    """Keys of the input; None when they cannot be known before it runs."""

    @property
    def set_names(self) -> frozenset[str]:
        """Names that were set under `ctx` and can be read here."""
        inside = self.names.item_names.get(self.node.within or "")
        return self.names.set_names | inside if inside else self.names.set_names

    def find(self, name: str) -> Found | None:
        """Say what a bare name is here, by the order of lookup."""
        node, names = self.node, self.names
        if node.within is not None and (name in LOOP or name == self.element):
            return "loop"
        if name in node.siblings:
            return "sibling"
        if self.inputs is not None and name in self.inputs:
            return "input"
        if name in names.steps:
            return "step"
        if names.workload is not None and name in names.workload:
            return "workload"
        if name in ALWAYS or (name in AFTER and self.when == "after"):
            return "fixed"
        if name in self.set_names:
            return "set"
        return "global" if name in GLOBALS else None

    @property
    def element(self) -> str:
        """What the item of the iterator around this node is called."""
        owner = self.names.draft.nodes.get(self.node.within or "")
        placed = owner.settings.get("element") if owner is not None else None
        return str(placed.value) if placed is not None else "item"

    def known(self) -> list[str]:
        """Return every bare name known here, for suggestions."""
        names = self.names
        found = {*names.steps, *(names.workload or ()), *ALWAYS, *self.set_names}
        found |= {*self.node.siblings, *(self.inputs or ())}
        if self.when == "after":
            found |= AFTER
        if self.node.within is not None:
            found |= {self.element, "_loop"}
        return sorted(found)


def scope_of(node: Node, when: When, names: Names) -> Scope:
    """Return the scope of a node's own templates."""
    if node.speaks_for is not None and node.speaks_for in names.draft.nodes:
        own = names.draft.nodes[node.speaks_for]
        return Scope(names, own, "after", input_keys(own, names, "after"))
    return Scope(names, node, when, input_keys(node, names, when))


def input_keys(node: Node, names: Names, when: When) -> frozenset[str] | None:
    """Return the keys of a node's input, as far as they are known before it runs."""
    if node.at[:2] == ("mcp", "resources") or (node.turn is not None and node.data is None):
        return names.workload or frozenset()
    if node.at[:2] == ("mcp", "tools"):
        return _arguments(node)
    payload = names.payloads.get(node.input_of or node.name, frozenset())
    if node.within is not None:
        owner = names.draft.nodes.get(node.within)
        outer = input_keys(owner, names, "in") if owner is not None else frozenset()
        payload = None if payload is None or outer is None else payload | outer
    if isinstance(node.data, Placed) or payload is None:
        return None
    if when == "before" or node.data is None:
        return payload
    return payload | frozenset(node.data)


def _arguments(node: Node) -> frozenset[str] | None:
    schema = node.care.get("input_schema")
    properties = schema.value.get("properties") if schema is not None else None
    if not isinstance(properties, dict) or schema is None:
        return None
    return frozenset(properties) if schema.value.get("additionalProperties") is not True else None
