"""Pass: the edges make a graph without circles in which every step can be reached.

Before: nodes and edges as written, with needs. After: only what can run, without the needs that
its order fulfils anyway, joined on a hidden last step.
"""

from collections import Counter

from noetl_mcp.compiler.circles import break_circles
from noetl_mcp.compiler.draft import SECOND, Draft, Edge, Node
from noetl_mcp.compiler.liveness import judge_refs
from noetl_mcp.compiler.order import reached, sort
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.model import UNSAID
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import flow

END = "$end"
FINALLY_END = "$finally"


def check_graph(draft: Draft, report: Report) -> Draft:
    """Check and complete the graph."""
    if not draft.nodes:
        return draft
    _say_odd_steps(draft, report)
    draft = draft.with_(edges=break_circles(draft, report))
    draft = _say_unreachable(_with_entries(draft), report)
    draft = judge_refs(draft, report)
    return _joined(draft)


def _with_entries(draft: Draft) -> Draft:
    """Without a beginning (every turn needs another), begin with what nothing leads to."""
    if draft.entries:
        return draft
    led_to = {edge.target for edge in draft.edges if edge.kind != "need"}
    first = [node.name for node in draft.nodes.values() if node.phase == "body"]
    return draft.with_(entries=tuple(name for name in first if name not in led_to))


def _say_unreachable(draft: Draft, report: Report) -> Draft:
    """Report steps that no way leads to, and leave them out of the plan."""
    after = leads_to(draft)
    finals = [node.name for node in draft.nodes.values() if node.phase == "finally"]
    found = reached([name for name in (*draft.entries, *finals[:1]) if name in after], after)
    lost = {name for name in after if name not in found}
    if not lost:
        return draft
    told = {ref.used for ref in draft.refs if ref.user not in lost and not ref.optional}
    for name in _heads(lost, after):
        node = _visible(name, lost, after, draft)
        if not node.hidden and node.name not in told:
            report.say(flow.UNREACHABLE, (*node.at, "step"), name=node.name)
    for ref in draft.refs:
        if ref.used in lost and ref.user not in lost and not ref.optional:
            where = draft.nodes[ref.user].told()
            report.say(flow.NEVER_RUNS, ref.at, word=ref.word, where=where, name=ref.used)
    return _without(draft, lost)


def _visible(name: str, lost: set[str], after: dict[str, list[str]], draft: Draft) -> Node:
    """Return the step that a person wrote where a hidden one begins: a turn's, a sequence's."""
    queue, seen = [name], {name}
    for one in queue:
        node = draft.nodes[one]
        if one in lost and not node.hidden:
            return node
        further = [other for other in after[one] if other not in seen]
        seen.update(further)
        queue += further
    return draft.nodes[name]


def leads_to(draft: Draft) -> dict[str, list[str]]:
    """Return where control goes from each node, body nodes of iterators left out."""
    after: dict[str, list[str]] = {
        name: [] for name, node in draft.nodes.items() if node.within is None
    }
    for edge in draft.edges:
        if edge.kind != "need" and edge.source in after and edge.target in after:
            after[edge.source].append(edge.target)
    return after


def _heads(lost: set[str], after: dict[str, list[str]]) -> list[str]:
    """Return where each unreachable part begins: its first step, or one of its circle."""
    led_to = {target for name in lost for target in after[name] if target != name}
    heads = [name for name in after if name in lost and name not in led_to]
    seen = reached(heads, after)
    for name in after:
        if name in lost and name not in seen:
            heads.append(name)
            reached([name], after, seen)
    return [name for name in heads if SECOND not in name and not name.startswith(UNSAID)]


def _without(draft: Draft, lost: set[str]) -> Draft:
    nodes = {
        name: node
        for name, node in draft.nodes.items()
        if name not in lost and node.within not in lost
    }
    edges = tuple(edge for edge in draft.edges if edge.source in nodes and edge.target in nodes)
    refs = tuple(ref for ref in draft.refs if ref.used in nodes and ref.user in nodes)
    return draft.with_(nodes=nodes, edges=edges, refs=refs)


def _say_odd_steps(draft: Draft, report: Report) -> None:
    """Report joins of one, an end that goes on, results nobody gets, ways never taken."""
    incoming, outgoing = draft.incoming(), draft.outgoing()
    for name, node in draft.nodes.items():
        ways = [edge for edge in outgoing[name] if edge.kind == "next"]
        arrivals = [edge for edge in incoming[name] if edge.kind in ("next", "error")]
        if node.join == "any" and not node.hidden and len(arrivals) < 2:
            report.say(flow.JOIN_OF_ONE, (*node.at, "join"), name=name)
        if name == "end" and ways and node.phase == "body":
            report.say(flow.END_GOES_ON, ways[0].at, name=ways[0].target)
        if "result" in node.care and ways:
            report.say(flow.RESULT_NOT_LAST, node.care["result"].at, at_key=True, name=name)
        _say_constant_ways(node, ways, report)


def _say_constant_ways(node: Node, ways: list[Edge], report: Report) -> None:
    for edge in ways:
        if edge.when is not None and edge.when.value is False:
            why = "its condition is always false"
            report.say(flow.NEVER_TRUE, edge.when.at, name=edge.target, why=why)
    always = next((e for e in ways if e.when is not None and e.when.value is True), None)
    if always is None or node.route != "seed":
        return
    for edge in ways:
        if edge.when is None:
            why = f"the way to '{always.target}' is always taken"
            at: Path = (*edge.at, "step")
            report.say(flow.ALWAYS_TRUE, at, why=why)


def _joined(draft: Draft) -> Draft:
    """Join everything that leads nowhere on a hidden last step, one for each phase."""
    outgoing = draft.outgoing()
    nodes, edges = dict(draft.nodes), list(draft.edges)
    phases: tuple[tuple[Node, str], ...] = (
        (Node(END, "router", (), hidden=True, join="settled"), "body"),
        (Node(FINALLY_END, "router", (), hidden=True, phase="finally", join="settled"), "finally"),
    )
    arrivals = Counter(edge.target for edge in draft.edges if edge.kind in ("next", "error"))
    for name, node in draft.nodes.items():
        if node.hidden and node.join == "any" and arrivals[name] < 2:
            nodes[name] = node.with_(join="all")
    impatient = {node.name for node in nodes.values() if node.join == "any"}
    early = {edge.source for edge in draft.edges if edge.target in impatient}
    for end, phase in phases:
        inside = [n for n in draft.nodes.values() if n.phase == phase and n.within is None]
        if not inside:
            continue
        last = [
            node.name
            for node in inside
            if node.name in early
            or not any(edge.kind in ("next", "need") for edge in outgoing[node.name])
        ]
        nodes[end.name] = end
        edges += [Edge(name, end.name) for name in last]
    return draft.with_(nodes=nodes, edges=tuple(edges))


def order(draft: Draft) -> list[str]:
    """Return the nodes so that everything stands behind what it waits for; ties as written."""
    ways = [(edge.source, edge.target) for edge in draft.edges]
    ways += [(n.within, n.name) for n in draft.nodes.values() if n.within is not None]
    return sort(draft.nodes, ways)[0]
