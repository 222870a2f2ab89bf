"""Read `case` of the short-lived fourth dialect where it has a plain meaning here."""

from noetl_mcp.playbook.dialects.care import read_saves
from noetl_mcp.playbook.dialects.conditions import bare
from noetl_mcp.playbook.dialects.edges import add_failures, read_edges, settle_edges
from noetl_mcp.playbook.dialects.events import Outcome, awaited
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

_READ = frozenset(("next", "sink", "set", "retry"))
_MOST_EXCLUDED = 100


def read_case(entries: Entries, reading: Reading) -> bool:
    """Turn the entries of `case` into edges, saves, retries and names to set.

    Say whether the ways on were read with it.
    """
    case = entries.pop("case", None)
    if case is None:
        return False
    former = entries.get("save")
    if former is not None and former.items is not None:  # an alias may share the list
        entries["save"] = former.become(list(former.items))
    ways: list[list[Node]] = []
    failures: list[Node] = []
    for item in case.items if case.items is not None else [case]:
        outcome, edges = _entry(item, entries, reading)
        if outcome == "failed":
            failures += edges
        elif edges:
            ways.append(edges)
    if failures:
        add_failures(entries, case, failures, reading)
    if not ways:
        return False
    after = entries.pop("next", None)
    if after is not None:
        ways.append(read_edges(after, reading, None))
    route = "exclusive"
    if any(len(edges) > 1 for edges in ways):
        route = "inclusive"
        _exclude(ways)
    every = [edge for edges in ways for edge in edges]
    settle_edges(entries, case, every, case.become(route), reading)
    return True


def _exclude(ways: list[list[Node]]) -> None:
    """Of the entries only the first that holds counts, with all its ways: say so in conditions."""
    earlier: list[str] = []
    for edges in ways[:_MOST_EXCLUDED]:
        own = next((bare(edge.get("when")) for edge in edges), None)
        for edge in edges:
            if earlier and edge.mapping is not None:
                words = f"not ({' or '.join(earlier)})"
                when = edge.get("when")
                holds = words if when is None else f"({bare(when)}) and {words}"
                edge.mapping["when"] = (when or edge).become("{{ " + holds + " }}")
        if own is not None:
            earlier.append(f"({own})")


def _entry(item: Node, entries: Entries, reading: Reading) -> tuple[Outcome, list[Node]]:
    """Read one entry; return the outcome it waits for and the ways it names."""
    if item.mapping is None:
        reading.say(dialect.CASE, item, problem="it is not a map")
        return "done", []
    then, other = item.get("then"), item.get("else")
    if then is not None and other is not None:
        reading.say(dialect.CASE, other, at_key=True, problem="it has both 'then' and 'else'")
    strange = {k: child for k, child in item.mapping.items() if k not in ("when", "then", "else")}
    reading.drop(strange, *list(strange), known=("when", "then", "else"))
    outcome, when = awaited(item.get("when"), reading)
    then = then or other
    edges: list[Node] = []
    for part in then.items if then is not None and then.items is not None else [then]:
        if part is None or part.mapping is None:
            reading.say(dialect.CASE, item, problem="it has no 'then' with keys below it")
            continue
        edges += _then(dict(part.mapping), outcome, when, entries, reading)
    return outcome, edges


def _then(
    then: Entries, outcome: Outcome, when: Node | None, entries: Entries, reading: Reading
) -> list[Node]:
    for key, child in then.items():
        if key not in _READ:
            reading.say(dialect.CASE, child, at_key=True, problem=f"'{key}' has no counterpart")
    if "sink" in then:
        _sink(then["sink"], outcome, when, entries, reading)
    for key in ("set", "retry"):
        if key in then and key in entries:
            problem = f"a second '{key}' has no counterpart"
            reading.say(dialect.CASE, then[key], at_key=True, problem=problem)
        elif key in then:
            entries[key] = then[key]
    if "set" in then and (when is not None or outcome == "failed"):
        problem = "'set' under a condition has no counterpart"
        reading.say(dialect.CASE, then["set"], at_key=True, problem=problem)
    retry = then.get("retry")
    if retry is not None and retry.mapping is not None and when is not None:
        entries["retry"] = retry.become({**retry.mapping, "retry_when": when})
    return read_edges(then["next"], reading, when) if "next" in then else []


def _sink(
    sink: Node, outcome: Outcome, condition: Node | None, entries: Entries, reading: Reading
) -> None:
    """Save after the outcome that the entry waits for, under what is left of its condition."""
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
