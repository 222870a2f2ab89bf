"""Decide what of an execution that ended is done again. Pure: rows in, rows out.

What failed or was cancelled begins again; whatever it had told others is taken back, and their
joins are counted anew. What is done stays done, unless it lies behind the step that is named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from noetl_mcp.broker.places import body_of, inside
from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.recount import Count, Stand, is_open, makes_up, recount
from noetl_mcp.queue.lease import WIDTH, State

Key = tuple[int, int]
"""A step and the item it is done for."""
_BROKEN = (State.DEAD, State.CANCELLED)


class Row(NamedTuple):
    """A step as it stood when the execution ended."""

    stand: Stand
    note: str | None = None
    is_answered: bool = False
    error: str | None = None


class Fan(NamedTuple):
    """The window of an iterator as it stood."""

    total: int
    next: int


class Again(NamedTuple):
    """A step that begins again; `fresh` forgets its note and its answer."""

    idx: int
    item: int
    counted: Count
    fresh: bool = False
    note: str | None = None


class Window(NamedTuple):
    """An iterator that waits for its items again: so many are at work, so many may be."""

    idx: int
    item: int
    live: int
    note: str


@dataclass(slots=True)
class Reset:
    """What begins again, what waits again, and what is forgotten."""

    ready: list[Again] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    waiting: list[tuple[int, int, Count]] = field(default_factory=list)
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    """Steps with the first and the last of the items of which nothing is kept."""
    kept: set[Key] = field(default_factory=set)
    """Cancelled steps whose signals still count."""
    behind: list[Key] = field(default_factory=list)
    """What was decided before and is decided anew."""

    def add(self, other: "Reset") -> None:
        """Take over what was found elsewhere."""
        self.ready += other.ready
        self.windows += other.windows
        self.waiting += other.waiting
        self.gone += other.gone
        self.kept |= other.kept
        self.behind += other.behind


@dataclass(frozen=True, slots=True)
class Past:
    """An execution that ended, as far as it is asked about."""

    program: Program
    rows: Mapping[Key, Row]
    fans: Mapping[Key, Fan]

    def reset(self, begin: int | None = None) -> Reset:
        """Return what is done again; from the step `begin` on, when one is named."""
        program = self.program
        scope = [n for n in program.nodes if n.within is None and not n.finals]
        found = self._scope(scope, 0, begin)
        if not found.ready and not found.windows:
            end = program.nodes[program.end]
            found.ready.append(Again(end.idx, 0, Count(0, 1), fresh=True))
        for node in program.nodes:
            if is_final(program, node):
                first, last = inside(0, node.depth)
                found.gone.append((node.idx, first, last))
        return found

    def _scope(self, nodes: Sequence[Node], item: int, begin: int | None = None) -> Reset:
        """Reset the steps of one scope: the execution's own, or those of one item."""
        rows = {n.idx: self.rows[n.idx, item] for n in nodes if (n.idx, item) in self.rows}
        broken = {idx for idx, row in rows.items() if self._is_broken(idx, row)}
        behind = set(self._after(self._seeds(broken, rows, begin)))
        begins = (broken | ({begin} if begin is not None else set())) - behind
        stands = {
            idx: rows[idx].stand
            for idx in (node.idx for node in nodes)
            if idx in rows and idx not in begins and idx not in behind
        }
        stands |= {idx: Stand(State.WAITING) for idx in begins | behind}
        counts = recount(self.program, stands)
        found = Reset(behind=[(idx, item) for idx in sorted(behind & set(rows))])
        for idx in sorted(begins):
            self._begin(found, idx, item, rows[idx], counts.get(idx), fresh=idx == begin)
        for idx in sorted(behind):
            node = self.program.nodes[idx]
            found.gone += self._inner(node, item)
            self._wait(found, node, item, counts[idx])
        return found

    def _is_broken(self, idx: int, row: Row) -> bool:
        if row.stand.state == State.FAILED:
            return not makes_up(self.program.nodes[idx], row.stand)
        return row.stand.state in _BROKEN

    def _seeds(
        self, broken: Iterable[int], rows: Mapping[int, Row], begin: int | None
    ) -> Iterator[int]:
        """Return the steps that heard of what is taken back."""
        for idx in broken:
            if rows[idx].stand.state == State.FAILED and not rows[idx].stand.stuck:
                ways = self.program.nodes[idx].ways
                yield from (way.target for way in ways if way.kind == "failed")
        if begin is not None:
            yield from (way.target for way in self.program.nodes[begin].ways)

    def _after(self, seeds: Iterable[int]) -> Iterator[int]:
        """Return steps and all that lies behind them."""
        pending, seen = list(seeds), set[int]()
        while pending:
            idx = pending.pop()
            if idx not in seen:
                seen.add(idx)
                yield idx
                pending += [way.target for way in self.program.nodes[idx].ways]

    def _wait(self, found: Reset, node: Node, item: int, count: Count) -> None:
        """Let a step wait anew for what leads to it, or begin where nothing is to be waited for."""
        if is_open(node, count):
            found.ready.append(Again(node.idx, item, count, fresh=True))
        elif count.toward < node.waits:
            found.waiting.append((node.idx, item, count))
        else:
            found.gone.append((node.idx, item, item))

    def _begin(
        self, found: Reset, idx: int, item: int, row: Row, count: Count | None, *, fresh: bool
    ) -> None:
        node = self.program.nodes[idx]
        count = count or Count(0, 1)
        if fresh:
            found.gone += self._inner(node, item)
            found.ready.append(Again(idx, item, count, fresh=True))
            return
        if row.stand.state == State.CANCELLED:
            found.kept.add((idx, item))
        fan = self.fans.get((idx, item))
        if not node.hands_out or row.is_answered or fan is None or row.note is None:
            found.ready.append(Again(idx, item, count, note=row.note))
            return
        live = self._items(found, node, item, fan)
        if live == 0 and fan.next >= fan.total:
            found.ready.append(Again(idx, item, count, note=row.note))
        else:
            found.windows.append(Window(idx, item, live, row.note))

    def _items(self, found: Reset, iterator: Node, item: int, fan: Fan) -> int:
        """Reset the items that are not well done; return how many there are."""
        body = [self.program.nodes[idx] for idx in iterator.body]
        nodes = [node for node in body if node.within == iterator.idx]
        entries = self.program.entries_of(iterator)
        live = 0
        for number in range(item * WIDTH + 1, item * WIDTH + 1 + fan.next):
            if not any((node.idx, number) in self.rows for node in nodes):
                found.ready += [Again(idx, number, Count(0, 1), fresh=True) for idx in entries]
                live += 1
                continue
            inner = self._scope(nodes, number)
            live += bool(inner.ready or inner.windows)
            found.add(inner)
        return live

    def _inner(self, node: Node, item: int) -> list[tuple[int, int, int]]:
        """Return what of an iterator's items is forgotten with it."""
        if not node.hands_out:
            return []
        return [(one.idx, *inside(item, depth)) for one, depth in body_of(self.program, node)]


def is_final(program: Program, node: Node) -> bool:
    """Whether a step belongs to the `finally` steps, or to the items of one of them."""
    while node.within is not None:
        node = program.nodes[node.within]
    return node.finals


__all__ = ["Again", "Fan", "Key", "Past", "Reset", "Row", "Window", "is_final"]
