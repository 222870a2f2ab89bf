"""Write a draft as text, so that what a pass did can be read and compared."""

from noetl_mcp.compiler.draft import Draft, Edge, Node, Placed


def written(draft: Draft) -> str:
    """Return the nodes and edges of a draft as lines."""
    lines = [line for node in draft.nodes.values() for line in _node(node)]
    lines += [_edge(edge) for edge in draft.edges]
    if draft.entries:
        lines.append(f"begins with {', '.join(draft.entries)}")
    lines += [
        f"{ref.user} reads {ref.used}{' if it is there' if ref.optional else ''}"
        for ref in draft.refs
    ]
    lines += [f"assumes {wrong} means {right}" for wrong, right in draft.assumed.items()]
    lines += [f"tool {line}" for tool in draft.tools.values() for line in _node(tool)]
    return "\n".join(lines) + "\n"


def _node(node: Node) -> list[str]:
    marks = [word for word in ("hidden", "writes", "goes_on") if getattr(node, word)]
    marks += [
        f"{key} {getattr(node, key)}"
        for key, plain in (("route", "seed"), ("join", "all"), ("phase", "body"))
        if getattr(node, key) != plain
    ]
    marks += [
        f"{key} {getattr(node, key)}"
        for key in ("within", "speaks_for")
        if getattr(node, key) is not None
    ]
    head = f"{node.name}: {node.type}" + (f" [{', '.join(marks)}]" if marks else "")
    place = "/".join(map(str, node.at))
    lines = [f"{head} at {place}"]
    fields = {**{f"  {k}": v for k, v in node.settings.items()}}
    fields |= {f"  ({k})": v for k, v in node.care.items()}
    if isinstance(node.data, Placed):
        fields["  <- "] = node.data
    elif node.data is not None:
        fields |= {f"  <- {k}": v for k, v in node.data.items()}
    return lines + [f"{key}: {placed.value!r}" for key, placed in fields.items()]


def _edge(edge: Edge) -> str:
    arrow = {"next": "->", "error": "-!>", "failed": "-?>", "need": "=>"}[edge.kind]
    parts = [f"{edge.source} {arrow} {edge.target}"]
    for word in ("when", "data", "set"):
        placed = getattr(edge, word)
        if placed is not None:
            parts.append(f"{word} {placed.value!r}")
    return " ".join(parts) + (" (copy)" if edge.copies else "")
