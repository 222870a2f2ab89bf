"""Read `case` of the short-lived fourth dialect where it has a plain meaning here."""

from noetl_mcp.playbook.dialects.care import read_saves
from noetl_mcp.playbook.dialects.edges import read_edges, settle_edges
from noetl_mcp.playbook.dialects.events import awaited
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

_READ = frozenset(("next", "sink", "set", "retry"))


def read_case(entries: Entries, reading: Reading) -> bool:
    """Turn the entries of `case` into edges, saves, retries and names to set.

    Say whether the ways on were read with it.
    """
    case = entries.pop("case", None)
    if case is None:
        return False
    edges: list[Node] = []
    former = entries.get("save")
    if former is not None and former.items is not None:  # an alias may share the list
        entries["save"] = former.become(list(former.items))
    for item in case.items if case.items is not None else [case]:
        edges += _entry(item, entries, reading)
    if not edges:
        return False
    after = entries.pop("next", None)
    if after is not None:
        edges += read_edges(after, reading, None)
    settle_edges(entries, case, edges, case.become("exclusive"), reading)
    return True


def _entry(item: Node, entries: Entries, reading: Reading) -> list[Node]:
    if item.mapping is None:
        reading.say(dialect.CASE, item, problem="it is not a map")
        return []
    when, then = item.get("when"), item.get("then") or item.get("else")
    strange = {k: child for k, child in item.mapping.items() if k not in ("when", "then", "else")}
    reading.drop(strange, *list(strange), known=("when", "then", "else"))
    edges: list[Node] = []
    for part in then.items if then is not None and then.items is not None else [then]:
        if part is None or part.mapping is None:
            reading.say(dialect.CASE, item, problem="it has no 'then' with keys below it")
            continue
        edges += _then(dict(part.mapping), when, entries, reading)
    return edges


def _then(then: Entries, when: Node | None, entries: Entries, reading: Reading) -> list[Node]:
    for key, child in then.items():
        if key not in _READ:
            reading.say(dialect.CASE, child, at_key=True, problem=f"'{key}' has no counterpart")
    if "sink" in then:
        _sink(then["sink"], when, entries, reading)
    for key in ("set", "retry"):
        if key in then and key in entries:
            problem = f"a second '{key}' has no counterpart"
            reading.say(dialect.CASE, then[key], at_key=True, problem=problem)
        elif key in then:
            entries[key] = then[key]
    return read_edges(then["next"], reading, when) if "next" in then else []


def _sink(sink: Node, when: Node | None, entries: Entries, reading: Reading) -> None:
    """Save after the outcome that the entry waits for, under what is left of its condition."""
    outcome, condition = awaited(when, reading)
    for save in read_saves(sink, reading).items or []:
        if save.mapping is None:
            continue
        if condition is not None:
            save.mapping.setdefault("when", condition)
        if outcome == "failed":
            save.mapping.setdefault("on", save.become("error"))
        former = entries.get("save")
        if former is None or former.items is None:
            entries["save"] = sink.become([save] if former is None else [former, save])
        else:
            former.items.append(save)
