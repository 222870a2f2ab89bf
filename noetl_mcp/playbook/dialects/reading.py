"""What every dialect reader needs: a way to complain at a node, and small moves on entries."""

from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.diagnostics import Report
from noetl_mcp.errors import Rule
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.source import Source
from noetl_mcp.rules import dialect, reading, shape

MOST_ITEMS = 150_000
Entries = dict[str, Node]
_LONGEST = 1_000


@dataclass(slots=True)
class Room:
    """How many more items may be read from the lists of a playbook."""

    left: int = MOST_ITEMS


@dataclass(frozen=True, slots=True)
class Reading:
    """The source being read, and where findings go."""

    source: Source
    report: Report
    room: Room = field(default_factory=Room)

    def say(
        self,
        rule: Rule,
        node: Node,
        *,
        at_key: bool = False,
        suggestion: str | None = None,
        **words: Any,
    ) -> None:
        """Report a rule at a node, or at its key."""
        where = node.key if at_key and node.key is not None else node
        place = self.source.span(where)
        self.report.say(rule, place, suggestion=suggestion, **words)

    def entries(self, node: Node, what: str) -> Entries | None:
        """Return a copy of a mapping's entries, or say that there should be a mapping."""
        if node.mapping is not None:
            return dict(node.mapping)
        self.wrong_kind(node, what, "a map of keys", "write 'key: value' below it")
        return None

    def listed(self, node: Node, what: str, key: str) -> list[Node]:
        """Return the items of a list; nothing counts as empty, anything else is reported."""
        if node.items is not None:
            return self.fitting(node.items)
        if node.value is None:
            return []
        if node.mapping is not None:
            self.say(dialect.LIST_AS_MAP, node, at_key=True, what=what, key=key)
            return []
        self.wrong_kind(node, what, "a list", f"write '- {key}: …' for each")
        return []

    def fitting(self, items: list[Node]) -> list[Node]:
        """Return as many items as there is room for; say once where the others begin."""
        room, self.room.left = self.room.left, max(self.room.left - len(items), -1)
        if len(items) <= room:
            return items
        if room >= 0:
            self.say(reading.TOO_MANY_VALUES, items[room], most=MOST_ITEMS)
        return items[: max(room, 0)]

    def wrong_kind(self, node: Node, what: str, wanted: str, cure: str) -> None:
        """Say that a value is of another kind than it should be."""
        self.say(shape.WRONG_KIND, node, what=what, wanted=wanted, found=shown(node), cure=cure)

    def rename(self, entries: Entries, new: str, *old: str, hint: bool = True) -> None:
        """Move the value of an older key under its newer name; the newer one wins."""
        for name in old:
            node = entries.pop(name, None)
            if node is None:
                continue
            if new in entries:
                self.say(dialect.SEVERAL_INPUTS, node, at_key=True, winner=new, loser=name)
                continue
            if hint:
                self.say(dialect.OLD_KEY, node, at_key=True, old=name, new=new)
            entries[new] = node

    def drop(self, entries: Entries, *keys: str, known: tuple[str, ...] = ()) -> None:
        """Leave out keys that mean nothing here, and say so; one nearly `known` is a mistake."""
        for key in keys:
            node = entries.pop(key, None)
            if node is None:
                continue
            near = self.report.near(key, known) if known and key not in known else None
            if near is None:
                self.say(dialect.DROPPED_KEY, node, at_key=True, key=key)
                continue
            self.say(
                shape.UNKNOWN_KEY,
                node,
                at_key=True,
                suggestion=near,
                where="this place",
                key=key,
                known=", ".join(known),
            )


def shown(node: Node) -> str:
    """Return a value as a message shows it."""
    if node.mapping is not None or node.items is not None or node.value is None:
        return node.kind
    return f"'{str(node.value)[:_LONGEST]}'"
