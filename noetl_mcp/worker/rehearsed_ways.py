"""Decide which ways lead on from a step when conditions hang on what a dry run does not know.

Every way that may be taken is taken; which of them are only perhaps taken is told.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noetl_mcp.broker.asked import Asked
from noetl_mcp.broker.program import Node, Program, Way
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.route import Routed, route
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.worker.rehearsed_unknown import (
    all_unknown,
    is_unknown,
    render_partly,
    without_unknown,
)
from noetl_mcp.worker.settle import Work

_AFTER_FAILURE = ("error", "failed")


@dataclass(slots=True)
class Ways:
    """The ways on from a step, by their numbers: those taken, and those that may be taken."""

    certain: set[int] = field(default_factory=set)
    perhaps: set[int] = field(default_factory=set)


def ways_on(node: Node, asked: Asked) -> Ways:
    """Return the ways that lead on after success."""
    ways = [way for way in node.ways if way.kind == "next"]
    mode = node.more.get("route", "seed")
    said = {way.number: _holds(way, node, asked) for way in ways if way.when is not None}
    if mode == "exclusive":
        return _first(ways, said)
    true = {number for number, holds in said.items() if holds}
    open_ones = {number for number, holds in said.items() if holds is None}
    others = {way.number for way in ways if way.when is None}
    if mode == "inclusive":
        return Ways(true | others, open_ones)
    if true:
        return Ways(true, open_ones)
    return Ways(set(), open_ones | others) if open_ones else Ways(others)


def _first(ways: list[Way], said: Mapping[int, bool | None]) -> Ways:
    found = Ways()
    for way in ways:
        holds = said.get(way.number, True)
        if holds is False:
            continue
        (found.perhaps if holds is None or found.perhaps else found.certain).add(way.number)
        if holds:
            break
    return found


def _holds(way: Way, node: Node, asked: Asked) -> bool | None:
    """Whether the condition of a way holds; None when that is not known."""
    try:
        return asked.holds(node, way)
    except RenderError as problem:
        if not is_unknown(problem):
            raise
    return None


def routed_as_known(
    work: Work, known: Known, payload: Mapping[str, Any], *, may_fail: bool
) -> tuple[Routed, Ways, dict[str, Any]]:
    """Say what follows a step, the ways that are only perhaps taken, and what it leaves behind.

    Where it `may_fail`, the ways after a failure may be taken as well.
    """
    run, node = work.run, work.node
    asked = Asked(run, node, work.item, known, payload)
    ways = ways_on(node, asked)
    after_failure = {way.number for way in node.ways if way.kind != "next"} if may_fail else set()
    ways.perhaps |= after_failure
    live = ways.certain | ways.perhaps
    extra = _leaves(work, asked, live, after_failure)
    open_node = copy.copy(node)
    open_node.care = {}
    open_node.more = {**node.more, "route": "inclusive"}
    open_node.ways = tuple(
        replace(way, kind="next", when=way.number in live, data=None, set=None) for way in node.ways
    )
    asked.node = open_node
    routed = route(run.program, open_node, "done", asked, through=False)
    routed.extra = {**without_unknown(extra), "took": sorted(live)}
    return routed, ways, {**extra, "took": sorted(live)}


def _leaves(work: Work, asked: Asked, live: set[int], failing: set[int]) -> dict[str, Any]:
    """Return the names that a step sets and the input it sends along, as far as they are known."""
    node, program = work.node, work.run.program
    scope = asked.scope(node)
    found: dict[str, Any] = {}
    if "set" in node.more:
        found["set"] = render_partly(node.more["set"], program.renderers, scope)
    for number in sorted(live):
        edge = program.plan["edges"][number]
        for key, place in (("data", "data"), ("set", "ways")):
            if key not in edge:
                continue
            if number in failing:
                value = all_unknown(edge[key])
            else:
                value = render_partly(edge[key], program.renderers, scope)
            found.setdefault(place, {})[str(number)] = value
    return found


def failed_before(program: Program) -> Mapping[int, frozenset[int]]:
    """Return, by step, which others must have failed when it is reached."""
    found: dict[int, frozenset[int]] = {}
    comes: dict[int, list[frozenset[int]]] = {}
    for node in program.nodes:  # each comes after those that lead to it
        outer = frozenset[int]() if node.within is None else found[node.within]
        ways = comes.get(node.idx)
        found[node.idx] = outer | frozenset.intersection(*ways) if ways else outer
        for way in node.ways:
            own = frozenset((node.idx,)) if way.kind in _AFTER_FAILURE else frozenset[int]()
            comes.setdefault(way.target, []).append(found[node.idx] | own)
    return found


__all__ = ["Ways", "failed_before", "routed_as_known", "ways_on"]
