"""Find circles and break them, so that the other checks can go on. Part of the pass `graph`."""

from typing import TYPE_CHECKING

from noetl_mcp.compiler.draft import Draft, Edge
from noetl_mcp.compiler.order import sort
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import flow

if TYPE_CHECKING:
    import networkx as nx


def break_circles(draft: Draft, report: Report) -> tuple[Edge, ...]:
    """Report each circle once and return the edges without those that close one."""
    edges = [edge for edge in draft.edges if edge.kind != "need"]
    needs = [edge for edge in draft.edges if edge.kind == "need"]
    if _is_tangled(edges, draft):
        edges = _without_circles(edges, draft, report)
    if needs and _is_tangled([*edges, *needs], draft):
        needs = _without_early_needs(edges, needs, draft, report)
    return (*edges, *needs)


def _is_tangled(edges: list[Edge], draft: Draft) -> bool:
    """Whether there is any circle at all; there nearly never is, and networkx takes its time."""
    return bool(sort(draft.nodes, [(edge.source, edge.target) for edge in edges])[1])


def _graph(edges: list[Edge]) -> "nx.DiGraph[str]":
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((edge.source, edge.target) for edge in edges)
    return graph


def _tangles(graph: "nx.DiGraph[str]") -> list[set[str]]:
    """Return the sets of nodes that all lead to each other."""
    import networkx as nx

    return [
        part
        for part in nx.strongly_connected_components(graph)
        if len(part) > 1 or any(graph.has_edge(name, name) for name in part)
    ]


def _without_circles(edges: list[Edge], draft: Draft, report: Report) -> list[Edge]:
    import networkx as nx

    graph = _graph(edges)
    tangles = _tangles(graph)
    closing: set[tuple[str, str]] = set()
    rank = {name: index for index, name in enumerate(draft.nodes)}
    places: dict[tuple[str, str], Path] = {}
    for edge in edges:
        places.setdefault((edge.source, edge.target), edge.at)
    for part in tangles:
        inner = graph.subgraph(part)
        first = min(part, key=lambda name: rank.get(name, 0))
        circle = nx.find_cycle(inner, first)
        names = [str(source) for source, *_ in circle]
        last = (names[-1], names[0])
        path = " → ".join([*names, names[0]]) if len(names) < 12 else _shorter(names)
        report.say(flow.CYCLE, places[last], path=path)
        closing |= _backward(inner, first)
    return [edge for edge in edges if (edge.source, edge.target) not in closing]


def _shorter(names: list[str]) -> str:
    return " → ".join([*names[:6], f"… {len(names) - 8} more …", *names[-2:], names[0]])


def _backward(graph: "nx.DiGraph[str]", first: str) -> set[tuple[str, str]]:
    """Return edges without which a tangle has no circle: those back to an open node of a walk."""
    import networkx as nx

    back: set[tuple[str, str]] = set()
    state: dict[str, int] = {}
    for source, target, kind in nx.dfs_labeled_edges(graph, first):
        if kind == "forward":
            state[target] = 1
        elif kind == "reverse":
            state[target] = 2
        elif state.get(target) == 1:
            back.add((source, target))
    return back


def _without_early_needs(
    edges: list[Edge], needs: list[Edge], draft: Draft, report: Report
) -> list[Edge]:
    """Drop needs that would wait for something that itself waits for the one in need."""
    graph = _graph([*edges, *needs])
    tangled = {name: number for number, part in enumerate(_tangles(graph)) for name in part}
    if not tangled:
        return needs
    kept: list[Edge] = []
    words = {(ref.used, ref.user): ref.word for ref in draft.refs}
    for need in needs:
        is_tangled = need.source in tangled and tangled[need.source] == tangled.get(need.target)
        if not is_tangled:
            kept.append(need)
            continue
        where = draft.nodes[need.target].told()
        word = words.get((need.source, need.target))
        report.say(flow.USED_TOO_EARLY, need.at, word=word, name=need.source, where=where)
    return kept
