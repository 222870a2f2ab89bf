"""What is known of one execution: its program, its workload, and what came of its steps.

A cache: everything in it is in the database as well. Decides nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from noetl_mcp.broker.program import Node, Program, Way
from noetl_mcp.broker.records import Context, Outcome
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.sight import Round, Sight
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import WIDTH, State

_STATES: Mapping[int, Any] = {
    State.DONE: "done",
    State.FAILED: "failed",
    State.SKIPPED: "skipped",
    State.CANCELLED: "cancelled",
    State.DEAD: "dead",
}
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class World:
    """What templates may see of the machine: allowed variables, and secrets."""

    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(slots=True)
class Left:
    """What is known of a step: its outcome, and what it left for others."""

    known: Known
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Run:
    """An execution at work here."""

    program: Program
    context: Context
    workload: Mapping[str, Any]
    lanes: Sequence[int]
    world: World
    left: dict[tuple[int, int], Left] = field(default_factory=dict)
    collections: dict[tuple[int, int], tuple[Sequence[Any], Any]] = field(default_factory=dict)
    """By iterator: what its items are, and its own input."""
    busy: int = 0

    @property
    def secrets(self) -> list[str]:
        """The texts in the workload that nobody may read afterwards."""
        names = self.program.secret_names
        return [text for name in names for text in _texts(self.workload.get(name))]

    @property
    def id(self) -> int:
        """The execution's number."""
        return self.context.id

    def remember(self, idx: int, item: int, left: Left) -> None:
        """Keep what is known of a settled step."""
        self.left[idx, item] = left

    def learn(self, idx: int, item: int, outcome: Outcome, whole: str | None) -> None:
        """Keep what the database knows of a step; `whole` is its result's text."""
        state = _STATES.get(outcome.state)
        if state is None:
            return
        result = None if whole is None else decode(whole)
        error = None if outcome.error is None else decode(outcome.error)
        extra = {} if outcome.extra is None else decode(outcome.extra)
        note = outcome.note
        meta = decode(note) if note is not None and note.startswith('{"cached"') else None
        self.left[idx, item] = Left(Known(state, result, error, meta), extra)

    def missing(self, idxs: Iterable[int], node: Node, item: int) -> list[tuple[int, int]]:
        """Return the steps (with their items) of which nothing is known here."""
        wanted = ((idx, self.seen_from(node, item, idx)) for idx in idxs)
        return [key for key in wanted if key not in self.left and key != (node.idx, item)]

    def seen_from(self, node: Node, item: int, idx: int) -> int:
        """Return which item of another step is meant when a step looks at it."""
        depth = self.program.nodes[idx].depth
        for _ in range(node.depth - depth):
            item //= WIDTH
        return item if depth else 0

    def outer(self, node: Node, item: int) -> list[tuple[int, int]]:
        """Return the iterators (with their items) around a step, the outermost first."""
        found: list[tuple[int, int]] = []
        within = node.within
        while within is not None:
            item //= WIDTH
            found.append((within, item))
            within = self.program.nodes[within].within
        return found[::-1]

    def sight(
        self, node: Node, item: int, *, payload: Mapping[str, Any] = _NOTHING, **own: Any
    ) -> Sight:
        """Return what a step can see."""
        return Sight(
            self.id,
            self.workload,
            datetime.now(UTC),
            self._look,
            self._look_set,
            self.world.secrets,
            self.world.env,
            payload,
            rounds=self._rounds(node, item) if item else (),
            **own,
        )

    def _rounds(self, node: Node, item: int) -> tuple[Round, ...]:
        rounds = []
        numbers = []
        for _ in range(node.depth):
            numbers.append(item % WIDTH - 1)
            item //= WIDTH
        for (iterator, outer), index in zip(
            self.outer(node, _folded(numbers[::-1])), numbers[::-1], strict=True
        ):
            items, given = self.collections[iterator, outer]
            rounds.append(Round(iterator, index, items[index], len(items), given))
        return tuple(rounds)

    def _look(self, idx: int, indices: tuple[int, ...]) -> Known | None:
        left = self.left.get((idx, _folded(indices)))
        return None if left is None else left.known

    def _look_set(
        self, idx: int, way: int | None, indices: tuple[int, ...]
    ) -> Mapping[str, Any] | None:
        left = self.left.get((idx, _folded(indices)))
        if left is None or left.known.state == "skipped":
            return None
        if way is None:
            found: Mapping[str, Any] | None = left.extra.get("set")
            return found
        ways: Mapping[str, Any] = left.extra.get("ways", {})
        return ways.get(str(way))

    def brought(self, node: Node, item: int) -> dict[str, Any]:
        """Return the input that the ways to a step carry, the last one on top."""
        found: dict[str, Any] = {}
        for way in node.comes:
            source = self.source_of(way)
            left = self.left.get((source, self.seen_from(node, item, source)))
            if left is not None:
                found |= left.extra.get("data", {}).get(str(way.number), {})
        return found

    def result(self) -> Any:
        """Return what the playbook gives; raise RenderError when it cannot be rendered."""
        program = self.program
        said = program.plan["result"]
        if program.result is None:
            for idx in said.get("last_of", ()):
                left = self.left.get((idx, 0))
                if left is not None and left.known.state == "done":
                    return left.known.result
            return None
        node = program.nodes[said["step"]]
        left = self.left.get((node.idx, 0))
        if left is None or left.known.state != "done":
            return None
        scope = program.names.scope(node.idx, self.sight(node, 0, own=left.known))
        return program.result.render(scope)

    def source_of(self, way: Way) -> int:
        """Return the step that a way leads from."""
        return int(self.program.plan["edges"][way.number]["source"])


def _texts(value: Any) -> list[str]:
    """Return every text in a value, and every number as it is written."""
    if isinstance(value, Mapping):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _folded(indices: Iterable[int]) -> int:
    """Return the number of an item from its indices, the outermost first."""
    item = 0
    for index in indices:
        item = item * WIDTH + index + 1
    return item


def item_name(item: int) -> str | None:
    """Return how an item is written: `3`, or `3.7` inside another."""
    parts: list[str] = []
    while item:
        parts.append(str(item % WIDTH - 1))
        item //= WIDTH
    return ".".join(reversed(parts)) or None


__all__ = ["Left", "Run", "World", "item_name"]
