"""Count joins anew from the plan and the states of its steps. Pure: no database, no template.

Which ways a step took was written down when it was settled; nothing is evaluated again.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.route import goes_on
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State

_UNASKED = '"code":"condition"'


class Stand(NamedTuple):
    """How a step stands, as far as others depend on it."""

    state: int
    took: tuple[int, ...] | None = None
    """The ways that brought control, where they are not the usual ones."""
    stuck: bool = False
    """It failed because its ways could not be asked, so none of them was told."""


class Count(NamedTuple):
    """Of so many ways nothing is known yet, and so many brought control."""

    toward: int
    live: int


def stand_of(state: int, extra: str | None, error: str | None) -> Stand:
    """Return how a step stands, from its row."""
    took = None
    if extra is not None and '"took"' in extra:
        took = tuple(decode(extra)["took"])
    stuck = state == State.FAILED and error is not None and _UNASKED in error
    return Stand(state, took, stuck)


def makes_up(node: Node, stand: Stand) -> bool:
    """Whether the ways after a failed step made up for its failure."""
    if stand.stuck:
        return False
    took = stand.took or ()
    error_ways = any(way.kind == "error" and way.number in took for way in node.ways)
    return error_ways or goes_on(node)


def told(node: Node, stand: Stand) -> dict[int, bool]:
    """Return the ways that are decided, by number, and whether each brought control."""
    if stand.state == State.SKIPPED:
        return {way.number: False for way in node.ways}
    if stand.state == State.DONE:
        if stand.took is None:
            return {way.number: way.kind == "next" for way in node.ways}
        return {way.number: way.number in stand.took for way in node.ways}
    if stand.state != State.FAILED:
        return {}
    if makes_up(node, stand):
        return {way.number: way.number in (stand.took or ()) for way in node.ways}
    return {way.number: True for way in node.ways if way.kind == "failed"}


def recount(program: Program, stands: Mapping[int, Stand]) -> dict[int, Count]:
    """Return the counts of all steps that ways lead to from steps of which something is known.

    `stands` holds the steps of one scope: the execution's own, or those done for one item.
    """
    found: dict[int, Count] = {}
    for idx, stand in stands.items():
        node = program.nodes[idx]
        decided = told(node, stand)
        for way in node.ways:
            target = program.nodes[way.target]
            count = found.get(target.idx) or Count(target.waits, 0)
            if way.number in decided:
                count = Count(count.toward - 1, count.live + decided[way.number])
            found[target.idx] = count
    return found


def is_open(node: Node, count: Count) -> bool:
    """Whether a step waits for nothing more: all ways are decided, or the first live one came."""
    return count.toward <= 0 or (node.waits_signed < 0 and count.live > 0)


def undecided(program: Program, stands: Mapping[int, Stand], idx: int) -> list[int]:
    """Return the steps from which a step still waits to hear."""
    found = []
    for source in _sources(program, idx):
        node = program.nodes[source]
        decided = told(node, stands[source]) if source in stands else {}
        if any(way.target == idx and way.number not in decided for way in node.ways):
            found.append(source)
    return found


def _sources(program: Program, idx: int) -> Iterable[int]:
    edges = program.plan["edges"]
    return dict.fromkeys(int(edge["source"]) for edge in edges if edge["target"] == idx)


__all__ = [
    "Count",
    "Stand",
    "is_open",
    "makes_up",
    "recount",
    "stand_of",
    "told",
    "undecided",
]
