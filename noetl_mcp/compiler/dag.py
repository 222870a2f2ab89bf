"""The plan as a networkx graph, for questions of graph theory. Judges nothing."""

import networkx as nx

from noetl_mcp.compiler.plan import Plan


def dag_of(plan: Plan) -> "nx.DiGraph[int]":
    """Return the steps of a plan by number, with their ways; hidden last steps are left out."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    shown = [n for n, step in enumerate(plan.steps) if not step.name.startswith("$")]
    graph.add_nodes_from(shown)
    graph.add_edges_from(
        (edge.source, edge.target, {"kind": edge.kind})
        for edge in plan.edges
        if edge.source in graph and edge.target in graph
    )
    return graph


def longest_way(plan: Plan) -> list[str]:
    """Return the names of the steps on the longest way: nothing makes an execution shorter."""
    return [plan.steps[number].name for number in nx.dag_longest_path(dag_of(plan))]


def most_at_once(plan: Plan) -> int:
    """Return how many steps can run side by side at most, counted by distance from the start."""
    return max((len(level) for level in nx.topological_generations(dag_of(plan))), default=0)
