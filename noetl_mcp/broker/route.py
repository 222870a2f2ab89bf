"""Decide what follows a settled step: which ways are taken, what is passed through, who is told.

Pure: no clock, no database, no logging. Conditions are asked through `Judge`, once; what they
gave is written down and never asked again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from noetl_mcp.broker.program import Node, Program, Way
from noetl_mcp.queue.lease import State

Outcome = Literal["done", "failed", "skipped"]


class Judge(Protocol):
    """Answers what only templates can answer, about a step and with its result in sight."""

    def holds(self, node: Node, way: Way) -> bool:
        """Whether the condition of a way holds."""

    def runs(self, node: Node) -> bool:
        """Whether a step without a body is passed, by its own condition."""

    def leaves(self, node: Node, taken: Sequence[Way]) -> dict[str, Any]:
        """Return what a step leaves behind: names it sets, input it sends along."""

    def gives(self, node: Node) -> Any:
        """Return the result of a step without a body."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A step that was settled on the way, without a lease."""

    node: Node
    state: State
    result: Any
    extra: dict[str, Any]


@dataclass(slots=True)
class Routed:
    """What follows: steps passed through, tokens by step, and which ends were reached."""

    extra: dict[str, Any] = field(default_factory=dict)
    passed: list[Passed] = field(default_factory=list)
    tokens: dict[int, list[int]] = field(default_factory=dict)
    """By step: how many ways are decided now, and how many of them bring control."""
    reached: list[int] = field(default_factory=list)
    """Hidden last steps that were passed."""
    begun: list[int] = field(default_factory=list)
    """Steps that nothing leads to and that begin now."""
    through: bool = True


def route(
    program: Program, node: Node, outcome: Outcome, judge: Judge, *, through: bool = True
) -> Routed:
    """Say what follows a step, as far as no other step has to be waited for.

    Without `through` every step that follows is told, even one without a body: so one whose
    condition cannot be asked fails by itself.
    """
    found = Routed(through=through)
    found.extra = _follow(program, node, outcome, judge, found)
    return found


def begin(program: Program, entries: Sequence[int], judge: Judge) -> Routed:
    """Say what an execution, or its end, begins with."""
    found = Routed()
    for idx in entries:
        node = program.nodes[idx]
        if node.bare and node.waits == 0:
            _enter(program, node, judge, found)
        else:
            found.begun.append(idx)
    return found


def _follow(
    program: Program, node: Node, outcome: Outcome, judge: Judge, found: Routed
) -> dict[str, Any]:
    """Decide every way on from a step; return what it leaves behind."""
    live = taken(node, outcome, judge)
    extra = judge.leaves(node, live) if outcome != "skipped" else {}
    numbers = [way.number for way in live]
    if numbers != _by_default(node, outcome):
        extra["took"] = numbers
    for way in node.ways:
        _step_on(program, program.nodes[way.target], way.number in numbers, judge, found)
    return extra


def taken(node: Node, outcome: Outcome, judge: Judge) -> list[Way]:
    """Return the ways that bring control."""
    if outcome == "skipped":
        return []
    if outcome == "failed":
        settled = [w for w in node.ways if w.kind == "error" and _holds(node, w, judge)]
        looking = [w for w in node.ways if w.kind == "failed"]
        if not settled and goes_on(node):
            settled = _ordinary(node, judge)
        return sorted([*settled, *looking], key=lambda way: way.number)
    return _ordinary(node, judge)


def settles(node: Node, live: Sequence[Way]) -> bool:
    """Whether the ways taken after a failure make up for it."""
    return goes_on(node) or any(way.kind == "error" for way in live)


def goes_on(node: Node) -> bool:
    """Whether the ordinary ways are taken after a failure, and the execution goes on."""
    return bool(node.more.get("goes_on")) or node.more.get("on_failure") == "warn"


def _ordinary(node: Node, judge: Judge) -> list[Way]:
    """Return the ways taken after success: all true ones, else all without a condition."""
    ways = [way for way in node.ways if way.kind == "next"]
    mode = node.more.get("route", "seed")
    if mode == "exclusive":
        return next(([way] for way in ways if _holds(node, way, judge)), [])
    if mode == "inclusive":
        return [way for way in ways if _holds(node, way, judge)]
    fired = [way for way in ways if way.when is not None and _holds(node, way, judge)]
    return fired or [way for way in ways if way.when is None]


def _holds(node: Node, way: Way, judge: Judge) -> bool:
    if way.when is None or isinstance(way.when, bool):
        return way.when is not False
    return judge.holds(node, way)


def _by_default(node: Node, outcome: Outcome) -> list[int]:
    """Return the ways that are taken when nothing else is written down."""
    if outcome != "done":
        return []
    return [way.number for way in node.ways if way.kind == "next"]


def _step_on(program: Program, target: Node, live: bool, judge: Judge, found: Routed) -> None:
    """Tell a step that one of its ways is decided; go on through it where nothing else waits."""
    if target.waits != 1:
        count = found.tokens.setdefault(target.idx, [0, 0])
        count[0] += 1
        count[1] += live
        return
    runs = live or target.join == 2
    if runs and not (target.bare and found.through):
        found.tokens[target.idx] = [1, int(live)]
        return
    if target.idx in (program.end, program.finally_end):
        found.reached.append(target.idx)
        return
    if not runs:
        place = len(found.passed)
        extra = _follow(program, target, "skipped", judge, found)
        found.passed.insert(place, Passed(target, State.SKIPPED, None, extra))
        return
    _enter(program, target, judge, found)


def _enter(program: Program, target: Node, judge: Judge, found: Routed) -> None:
    """Pass a step without a body, unless its own condition skips it."""
    place = len(found.passed)
    if not judge.runs(target):
        extra = _follow(program, target, "skipped", judge, found)
        found.passed.insert(place, Passed(target, State.SKIPPED, None, extra))
        return
    result = judge.gives(target)
    extra = _follow(program, target, "done", judge, found)
    found.passed.insert(place, Passed(target, State.DONE, result, extra))


__all__ = ["Judge", "Outcome", "Passed", "Routed", "begin", "goes_on", "route", "settles", "taken"]
