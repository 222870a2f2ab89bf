"""Find for each reader of a name under `ctx` the steps that may have set it. Part of `freeze`."""

from collections.abc import Mapping

from noetl_mcp.compiler.draft import Draft
from noetl_mcp.compiler.order import reached


def setters(draft: Draft, names: list[str]) -> Mapping[str, Mapping[str, list[str]]]:
    """Return by reader and name the steps that set it before, the latest first.

    `names` are the nodes in the order they can run. Only steps from which control leads to the
    reader count, so that a value never depends on which of two branches was faster. What a task of
    an iterator sets is seen by the tasks behind it, for the same item.
    """
    if not draft.set_reads:
        return {}
    rank = {name: number for number, name in enumerate(names)}
    by_name = _by_name(draft)
    before: dict[str, list[str]] = {}
    for edge in draft.edges:
        before.setdefault(edge.target, []).append(edge.source)
    for node in draft.nodes.values():
        if node.within is not None:
            before.setdefault(node.name, []).append(node.within)
    found: dict[str, dict[str, list[str]]] = {}
    for reader, name in sorted(draft.set_reads):
        if reader not in rank:
            continue
        above = reached([reader], before)
        inside = draft.nodes[reader].within
        givers = [
            giver
            for giver in by_name.get(name, ())
            if giver in above and giver in rank and draft.nodes[giver].within in (None, inside)
        ]
        givers.sort(key=rank.__getitem__, reverse=True)
        found.setdefault(reader, {})[name] = givers
    return found


def _by_name(draft: Draft) -> dict[str, list[str]]:
    givers: dict[str, list[str]] = {}
    for node in draft.nodes.values():
        if "set" in node.care:
            for name in node.care["set"].value:
                givers.setdefault(name, []).append(node.name)
    for edge in draft.edges:
        for name in edge.set.value if edge.set is not None else ():
            if edge.source not in givers.setdefault(name, []):
                givers[name].append(edge.source)
    return givers
