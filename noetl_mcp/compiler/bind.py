"""Pass: steps become nodes; workbook actions are put in their places and settings are checked.

Before: a draft whose names are resolved. After: one node or more for every step, and the edges
as written; an iterator has body nodes, a sequence a chain, a save outside the log a hidden node.
"""

from dataclasses import dataclass, field, replace

from noetl_mcp.compiler.bodies import Bodies, chain_of, iterate
from noetl_mcp.compiler.draft import Draft, Edge, Node, Phase, Placed
from noetl_mcp.compiler.layers import Workbook, settle, written_care
from noetl_mcp.compiler.saving import save_nodes
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.model import UNSAID, Step
from noetl_mcp.playbook.model import Edge as WrittenEdge
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import flow, names, shape

_STEP_CARE = ("when", "priority", "repeat", "result")


@dataclass(slots=True)
class _Making:
    """The nodes and edges made so far; `ways` are those that steps write themselves."""

    draft: Draft
    report: Report
    bodies: Bodies
    ways: list[Edge] = field(default_factory=list)
    ends: dict[str, str] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    steps: dict[Phase, set[str]] = field(default_factory=dict)


def bind(draft: Draft, report: Report) -> Draft:
    """Make nodes of steps."""
    book = draft.playbook
    workbook = Workbook(draft, report)
    making = _Making(draft, report, Bodies(workbook, report))
    making.steps["body"] = {step.step for step in book.workflow}
    making.steps["finally"] = {step.step for step in book.finally_}
    for index, step in enumerate(book.workflow):
        _step(step, ("workflow", index), "body", making)
    for index, step in enumerate(book.finally_):
        _step(step, ("finally", index), "finally", making)
    _say_unused(workbook, draft, report)
    entries = _entries(draft, making)
    heads = making.heads
    ways = [replace(way, target=heads.get(way.target, way.target)) for way in making.ways]
    return draft.with_(
        nodes=making.bodies.nodes,
        edges=(*making.bodies.edges, *ways),
        ends=making.ends,
        entries=tuple(heads.get(name, name) for name in entries),
    )


def _entries(draft: Draft, making: _Making) -> tuple[str, ...]:
    book = draft.playbook
    if not book.workflow:
        return ()
    if "start" in making.steps["body"]:
        return ("start",)
    first = book.workflow[0].step
    if not first.startswith(UNSAID):
        making.report.say(flow.NO_START, ("workflow", 0, "step"), step=first)
    return (first,)


def _say_unused(workbook: Workbook, draft: Draft, report: Report) -> None:
    """Report actions that nobody asks for; their insides are checked all the same."""
    for index, action in enumerate(draft.playbook.workbook):
        at: Path = ("workbook", index)
        if not action.name:
            report.say(shape.MISSING_KEY, at, where="a workbook action", key="name")
        if action.name in workbook.used:
            continue
        if action.name and action.name not in draft.assumed_actions and action.name[0] != UNSAID:
            report.say(names.UNUSED_ACTION, (*at, "name"), name=action.name)
        settle(action, at, workbook)


def _step(step: Step, at: Path, phase: Phase, making: _Making) -> None:
    """Make the nodes of one step and its edges."""
    bodies = making.bodies
    settled = settle(step, at, bodies.workbook)
    care = settled.care | written_care(step, at, _STEP_CARE)
    goes_on = step.on_error.goes_on if step.on_error is not None else False
    node = Node(
        step.step,
        settled.type,
        at,
        settled.settings,
        settled.data,
        care,
        phase=phase,
        route=step.route,
        join=step.join,
        goes_on=goes_on,
        turn=step.turn if settled.type == "turn" else None,
    )
    node = bodies.add(node)
    if settled.type == "sequence":
        making.heads[node.name] = chain_of(node, settled.tasks, bodies)
    if settled.type == "iterator":
        iterate(node, step, bodies)
    last = save_nodes(bodies.nodes[node.name], bodies.nodes, bodies.edges, making.report)
    making.ends[node.name] = last
    _edges(step, at, node, last, making)


def _edges(step: Step, at: Path, node: Node, last: str, making: _Making) -> None:
    """Make the edges that a step writes."""
    seen: set[tuple[str, str]] = set()
    for index, edge in enumerate(step.next or ()):
        place: Path = (*at, "next", index)
        made = _edge(edge, place, last, making)
        if made is None:
            continue
        key = (made.target, str(edge.when))
        if key in seen:
            if edge.step == made.target:
                making.report.say(flow.DOUBLE_EDGE, (*place, "step"), name=made.target)
            continue
        seen.add(key)
        making.ways.append(made)
    if at[0] == "finally" and step.next is None:
        _go_on(at, node, last, making)
    edges = step.on_error.edges if step.on_error is not None else ()
    for index, edge in enumerate(edges):
        made = _edge(edge, (*at, "on_error", "edges", index), node.name, making)
        if made is not None:
            making.ways.append(replace(made, kind="error"))


def _go_on(at: Path, node: Node, last: str, making: _Making) -> None:
    """Steps of `finally` that lead nowhere lead to the following one, whatever came of them."""
    listed, index = making.draft.playbook.finally_, at[1]
    assert isinstance(index, int)
    if index + 1 < len(listed):
        after = listed[index + 1].step
        making.ways += [Edge(last, after, at=at), Edge(node.name, after, "error", at=at)]


def _edge(edge: WrittenEdge, at: Path, source: str, making: _Making) -> Edge | None:
    """Make an edge; one that leads to an unknown step leads to the assumed one, or nowhere."""
    known = making.steps["body" if at[0] == "workflow" else "finally"]
    target = edge.step if edge.step in known else making.draft.assumed.get(edge.step)
    if target is None:
        return None
    return Edge(
        source,
        target,
        "next",
        Placed(edge.when, (*at, "when")) if edge.when is not None else None,
        Placed(edge.data, (*at, "data")) if edge.data is not None else None,
        Placed(edge.set, (*at, "set")) if edge.set is not None else None,
        at,
    )
