"""What a dry run has found so far: writes, gaps, failures, and which steps are reached for certain.

Decides nothing about a step; whoever goes through the playbook tells it and asks it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.program import Program, Way
from noetl_mcp.broker.run import Run, item_name
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import WIDTH, State
from noetl_mcp.queue.memory import Key, Store
from noetl_mcp.worker.rehearsed_writes import Write
from noetl_mcp.worker.settle import Work

_SETTLED = 2


@dataclass(eq=False)
class Story:
    """The state of one dry run, with the executions that it starts."""

    store: Store
    runs: dict[int, Run] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    """By execution: the path under which its playbook was asked for."""
    writes: list[Write] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """By step: why it could not be looked at."""
    assumed: dict[str, str] = field(default_factory=dict)
    """By step: what was taken for granted."""
    predicted: dict[int, set[int]] = field(default_factory=dict)
    """By execution: the steps that write and were not sent."""
    failures: dict[int, str] = field(default_factory=dict)
    """By execution: the error that it will end with."""
    stops: set[Key] = field(default_factory=set)
    """The steps behind which nothing is reached."""
    results: dict[int, Any] = field(default_factory=dict)
    """By execution: its result, with what is not known inside."""
    perhaps_runs: set[int] = field(default_factory=set)
    later_runs: set[int] = field(default_factory=set)
    """The executions that begin behind a write."""
    perhaps_steps: set[Key] = field(default_factory=set)
    perhaps_items: set[Key] = field(default_factory=set)
    """The iterators of which nobody knows whether they have an item at all."""
    perhaps_ways: set[Key] = field(default_factory=set)
    """By execution, number of the way and item: the ways that are only perhaps taken."""
    _ancestors: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    # What is told

    def leave_out(self, work: Work, why: str) -> None:
        """Note that a step could not be looked at."""
        self.unknown.setdefault(self.name(work), why)

    def predict(self, work: Work) -> None:
        """Note that a step writes and was not sent."""
        self.predicted.setdefault(work.run.id, set()).add(work.node.idx)

    def name(self, work: Work) -> str:
        """Return what a step is called where steps of several playbooks are listed."""
        run = work.run
        return f"{work.node.name}{self.place(run)}"

    def place(self, run: Run) -> str:
        """Return in which playbook an execution is, where it is not the first one."""
        return "" if run.context.parent_execution is None else f" in {self.paths.get(run.id)}"

    def note(self, write: Write) -> None:
        """Keep what was found out about a write."""
        self.writes.append(write)

    # What is asked

    def is_perhaps(self, work: Work) -> bool:
        """Whether it is open if a step is reached at all."""
        return self._perhaps(work.run, work.node.idx, work.item)

    def perhaps_done(self, run: Run, idx: int) -> bool:
        """Whether it is open if a step outside of iterators has anything to do."""
        return not run.program.nodes[idx].bare and self._perhaps(run, idx, 0)

    def _perhaps(self, run: Run, idx: int, item: int) -> bool:
        if run.id in self.perhaps_runs or (run.id, idx, item) in self.perhaps_steps:
            return True
        node = run.program.nodes[idx]
        if node.within is not None:
            outer = (run.id, node.within, item // WIDTH)
            if outer in self.perhaps_items or self._perhaps(run, node.within, item // WIDTH):
                return True
        ways = [(source, way) for source, way in _ways_to(run.program, idx)]
        if not ways:
            return False
        if node.join == _SETTLED:
            return all(self._perhaps(run, s, run.seen_from(node, item, s)) for s, _ in ways)
        return not any(
            self._brings_control(run, source, way, run.seen_from(node, item, source))
            for source, way in ways
        )

    def _brings_control(self, run: Run, source: int, way: Way, item: int) -> bool:
        """Whether a way is taken for certain."""
        row = self.store.steps.get((run.id, source, item))
        if row is None or row.state not in (State.DONE, State.FAILED):
            return False
        took = decode(row.extra).get("took") if row.extra else None
        if took is None and row.state == State.DONE:
            took = [way.number] if way.kind == "next" else []
        if way.number not in (took or ()) or (run.id, way.number, item) in self.perhaps_ways:
            return False
        return not self._perhaps(run, source, item)

    def item_of(self, work: Work) -> str | None:
        """Return which item a step is done for; None where one stands for all of them."""
        run = work.run
        if any((run.id, *outer) in self.perhaps_items for outer in run.outer(work.node, work.item)):
            return None
        return item_name(work.item) if work.item else None

    def is_later(self, work: Work) -> bool:
        """Whether a step comes behind a write that was not sent."""
        run, node = work.run, work.node
        predicted = self.predicted.get(run.id, set())
        if run.id in self.later_runs or (node.finals and predicted):
            return True
        return bool(predicted & self._before(run.program, node.idx))

    def is_stopped(self, work: Work) -> bool:
        """Whether a step stands behind one that ends the execution."""
        stops = {idx for number, idx, _ in self.stops if number == work.run.id}
        if not stops or work.node.finals:
            return False
        return bool(stops & self._before(work.run.program, work.node.idx))

    def _before(self, program: Program, idx: int) -> frozenset[int]:
        """Return the steps that come before a step, and those inside iterators among them."""
        key = (id(program), idx)
        if key not in self._ancestors:
            found: set[int] = set()
            pending = [idx]
            while pending:
                node = program.nodes[pending.pop()]
                around = () if node.within is None else (node.within,)
                sources = [source for source, _ in _ways_to(program, node.idx)]
                more = {*sources, *around, *node.body} - found
                found |= more
                pending += more
            self._ancestors[key] = frozenset(found)
        return self._ancestors[key]

    def calls_itself(self, run: Run, path: str) -> bool:
        """Whether a playbook is among those that are under way above an execution."""
        above: Run | None = run
        while above is not None:
            if self.paths.get(above.id, above.program.path) == path:
                return True
            parent = above.context.parent_execution
            above = None if parent is None else self.runs[parent]
        return False


def _ways_to(program: Program, idx: int) -> Iterator[tuple[int, Way]]:
    for node in program.nodes:
        for way in node.ways:
            if way.target == idx:
                yield node.idx, way


__all__ = ["Story"]
