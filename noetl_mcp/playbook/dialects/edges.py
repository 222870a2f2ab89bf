"""Read `next`, `case` and `on_error` in all their forms into plain lists of edges."""

from noetl_mcp.playbook.dialects.conditions import bare, both, read_conditions
from noetl_mcp.playbook.dialects.events import awaited
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import shape

_PAYLOADS = ("input", "payload", "args", "with", "params")
_EDGE_KEYS = frozenset(("step", "when", "data", "set"))
_MODES = {"exclusive": "exclusive", "first": "exclusive", "inclusive": "inclusive", "seed": "seed"}


def read_next(entries: Entries, reading: Reading) -> None:
    """Turn `next` into a list of edges, with `route` and, for failures, `on_error`."""
    node = entries.get("next")
    if node is None:
        return
    arcs, route = node, None
    if node.mapping is not None and ("arcs" in node.mapping or "spec" in node.mapping):
        arcs, route = _router(node, reading)
    settle_edges(entries, node, read_edges(arcs, reading, None), route, reading)


def read_edges(node: Node, reading: Reading, when: Node | None) -> list[Node]:
    """Read one way on or a list of them, all under the same condition."""
    items = reading.fitting(_as_list(node))
    taken = [one for item in items if (one := item.get("when") or item.get("condition"))]
    found: list[Node] = []
    for item in items:
        otherwise = None
        if item.get("else") is not None:
            own = item.get("when") or item.get("condition")
            is_plain = when is None and (own is None or len(items) == 1)
            others = taken if own is None else [own]
            otherwise = None if is_plain else _otherwise(when, others)
        found += _edge(item, reading, when, otherwise)
    return found


def _otherwise(when: Node | None, taken: list[Node]) -> Node | None:
    """Return the condition of an `else` that stands below a condition, or beside others."""
    words = " or ".join(f"({bare(one)})" for one in taken if isinstance(one.value, str))
    if not words:
        return when
    neither = taken[0].become("{{ not (" + words + ") }}")
    return neither if when is None else both(when, neither)


def settle_edges(
    entries: Entries, node: Node, found: list[Node], route: Node | None, reading: Reading
) -> None:
    """Put edges where they belong: failures under `on_error`, the others under `next`."""
    ways: list[Node] = []
    failures: list[Node] = []
    for edge in found:
        (failures if _fires_on_failure(edge, reading) else ways).append(edge)
    entries["next"] = node.become(list(ways))
    if route is not None and (len(ways) > 1 or route.value == "seed"):
        entries["route"] = route
    if failures:
        add_failures(entries, node, failures, reading)


def add_failures(entries: Entries, node: Node, failures: list[Node], reading: Reading) -> None:
    """Put the ways after a failure beside those that `on_error` names."""
    read_on_error(entries, reading)
    former = entries.get("on_error")
    edges = former.get("edges") if former is not None else None
    if former is not None and edges is None:
        reading.say(
            shape.KEYS_TOGETHER,
            former,
            at_key=True,
            where="a step",
            first="on_error: continue",
            second="a way on for failures",
        )
    kept = (edges.items or []) if edges is not None else []
    entries["on_error"] = node.become({"edges": node.become([*kept, *failures])})


def _router(node: Node, reading: Reading) -> tuple[Node, Node | None]:
    """Read the newest form: `next: {spec: {mode}, arcs: []}`."""
    entries = dict(node.mapping or {})
    arcs = entries.pop("arcs", None) or node.become([])
    spec = entries.pop("spec", None)
    for key, child in entries.items():
        near = reading.report.near(key, ("spec", "arcs"))
        reading.say(
            shape.UNKNOWN_KEY,
            child,
            at_key=True,
            suggestion=near,
            where="'next'",
            key=key,
            known="spec, arcs",
        )
        if near == "arcs" and not arcs.items:
            arcs = child
    mode = (spec.get("mode") if spec else None) or node.become("exclusive")
    if spec is not None and spec.mapping is None:
        reading.wrong_kind(spec, "'spec'", "a map of keys", "write 'spec: {mode: …}'")
    inner = (spec.mapping or {}) if spec is not None else {}
    others = {key: child for key, child in inner.items() if key != "mode"}
    reading.drop(others, *list(others), known=("mode",))
    if mode.text not in _MODES:
        reading.wrong_kind(mode, "'mode'", "exclusive or inclusive", "write one of these")
    return arcs, mode.become(_MODES.get(str(mode.value), "exclusive"))


def _as_list(node: Node) -> list[Node]:
    if node.items is not None:
        return node.items
    return [] if node.value is None else [node]


def _edge(
    node: Node, reading: Reading, when: Node | None, otherwise: Node | None = None
) -> list[Node]:
    """Read one entry of `next`; `then` and `else` may give several edges."""
    if isinstance(node.value, str):
        entries: Entries = {"step": node}
        if when is not None:
            entries["when"] = when
        return [node.become(entries)]
    if node.mapping is None:
        reading.wrong_kind(
            node,
            "a way on",
            "a step's name or a map",
            "write '- NAME' or '- {step: NAME, when: …}'",
        )
        return []
    entries = dict(node.mapping)
    reading.rename(entries, "when", "condition")
    read_conditions(entries, reading, "when")
    if "then" in entries or "else" in entries:
        return _branches(node, entries, reading, when, otherwise)
    if when is not None:
        entries["when"] = both(when, entries["when"]) if "when" in entries else when
    return [node.become(_settle_edge(node, entries, reading))]


def _branches(
    node: Node,
    entries: Entries,
    reading: Reading,
    when: Node | None,
    otherwise: Node | None,
) -> list[Node]:
    then, other = entries.pop("then", None), entries.pop("else", None)
    if other is not None and other.value is None and then is not None and "when" not in entries:
        reading.say(shape.MISPLACED_ELSE, other, at_key=True)
        other, then = then, None
    edges = []
    if then is not None:
        own = entries.get("when")
        condition = both(when, own) if when is not None and own is not None else own or when
        edges += read_edges(then, reading, condition)
    if other is not None:
        edges += read_edges(other, reading, otherwise)
    entries.pop("when", None)
    for key, child in entries.items():
        known = "when, then, else"
        reading.say(
            shape.UNKNOWN_KEY, child, at_key=True, where="a branch of 'next'", key=key, known=known
        )
    return edges


def _settle_edge(node: Node, entries: Entries, reading: Reading) -> Entries:
    for old in _PAYLOADS:
        reading.rename(entries, "data", old, hint=old not in ("input", "args"))
    reading.drop(entries, *[key for key in ("spec",) if key in entries])
    _settle_set(entries, reading)
    if "name" in entries and "step" not in entries:
        reading.rename(entries, "step", "name")
    _known_only(entries, reading)
    return entries


_SCOPES = ("ctx.", "iter.", "step.")


def _settle_set(entries: Entries, reading: Reading) -> None:
    """On an edge `set` fills the next step's input, but for names below `ctx` and the like."""
    given = entries.pop("set", None)
    if given is None:
        return
    if given.mapping is None:
        reading.wrong_kind(given, "'set'", "a map of names", "write 'set: {ctx.NAME: …}'")
        return
    scoped = {k: v for k, v in given.mapping.items() if k.startswith(_SCOPES)}
    ctx = {k.partition(".")[2]: v for k, v in scoped.items()}
    rest = {k: v for k, v in given.mapping.items() if k not in scoped}
    if ctx:
        entries["set"] = given.become(dict(ctx))
    if rest:
        data = entries.get("data")
        entries["data"] = given.become({**(data.mapping or {} if data else {}), **rest})


_SYNONYMS = {"cond": "when", "if": "when", "expr": "when", "goto": "step", "to": "step"}


def _known_only(entries: Entries, reading: Reading) -> None:
    for key in [key for key in entries if key not in _EDGE_KEYS]:
        child = entries.pop(key)
        names = ("step", "when", "then", "else", "data", "set")
        near = _SYNONYMS.get(key) or _nearest(key, entries, names, reading)
        reading.say(
            shape.UNKNOWN_KEY,
            child,
            at_key=True,
            suggestion=near,
            where="a way on",
            key=key,
            known=", ".join(names),
        )
        if near in ("when", "step") and near not in entries:
            entries[near] = child


def _nearest(key: str, entries: Entries, names: tuple[str, ...], reading: Reading) -> str | None:
    """A way needs a step: while it has none, that is what was most likely meant."""
    if "step" not in entries and reading.report.near(key, ("step",)) == "step":
        return "step"
    return reading.report.near(key, names)


def _fires_on_failure(edge: Node, reading: Reading) -> bool:
    """Take an event out of an edge's condition and say whether it is that of a failure."""
    entries = edge.mapping if edge.mapping is not None else {}
    if "when" not in entries:
        return False
    outcome, when = awaited(entries["when"], reading)
    if when is None:
        entries.pop("when")
    else:
        entries["when"] = when
    return outcome == "failed"


def read_on_error(entries: Entries, reading: Reading) -> None:
    """Read `on_error: continue | STEP | edges` into one shape."""
    node = entries.get("on_error")
    if node is None or (node.mapping is not None and "edges" in node.mapping):
        return
    if node.value == "continue":
        entries["on_error"] = node.become({"goes_on": node.become(True)})
        return
    edges = read_edges(node, reading, None)
    for edge in edges:
        _fires_on_failure(edge, reading)
    entries["on_error"] = node.become({"edges": node.become(list(edges))})
