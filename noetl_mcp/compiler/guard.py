"""Pass: what writes is known, confirmed and bounded.

Before: nodes that do not say whether they write. After: `writes` is decided for each, and every
write that is not confirmed, not bounded or not declared is told.
"""

from noetl_mcp.bim.effects import leaf
from noetl_mcp.bim.revit.methods import METHODS as REVIT
from noetl_mcp.bim.rhino.methods import METHODS as RHINO
from noetl_mcp.compiler.draft import Draft, Node
from noetl_mcp.diagnostics import Report
from noetl_mcp.errors import Rule
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import effects
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.json_values import problem_of_pointer
from noetl_mcp.tasks.sql_words import looks_like_writing

_METHODS = {"revit": REVIT, "rhino": RHINO}
_BOUNDED = frozenset(("revit", "rhino", "jsonrpc"))
_WITHOUT_TASK = frozenset(
    ("router", "sequence", "set", "noop", "iterator", "playbook", "wait", "approve", "callback")
)


def guard(draft: Draft, report: Report) -> Draft:
    """Decide what writes and say what is missing around it."""
    nodes = dict(draft.nodes)
    _judge_limits(draft, report)
    for name, node in draft.nodes.items():
        spec = draft.tasks.get(node.type)
        if spec is None:
            _judge_structure(node, report)
            _judge_cache(node, report, writes=False)
            continue
        writes = _writes(node, spec, report)
        _judge_method(node, report)
        nodes[name] = node.with_(writes=writes)
        _judge_cache(node, report, writes=writes)
        if node.at[:2] == ("mcp", "resources"):
            continue
        if writes:
            _judge_write(node, spec, draft, report)
        elif _bounds_changes(node) and _value(node, "writes") is not True:
            where = node.told()
            report.say(
                effects.BOUNDS_WITHOUT_WRITE, node.care["expect"].at, at_key=True, where=where
            )
        _judge_bounds(node, report)
        _judge_check(node, draft, report)
    return draft.with_(nodes=nodes)


def _bounds_changes(node: Node) -> bool:
    """Whether a step bounds what it changes; what it finds can be bounded where it reads, too."""
    expect = node.care.get("expect")
    return expect is not None and any(key not in _BOUND_READS for key in expect.value)


_BOUND_READS = frozenset(("minCandidates", "maxCandidates", "exactTargets", "equals"))


def _judge_limits(draft: Draft, report: Report) -> None:
    """A limit needs a number somewhere, and one at the top somebody to keep it."""
    numbers = draft.playbook.limits
    used: set[str] = set()
    for node in draft.nodes.values():
        placed = node.care.get("limits")
        for index, limit in enumerate(placed.value if placed is not None else ()):
            name = str(limit["name"])
            used.add(name)
            if placed is None or "max" in limit or name in numbers:
                continue
            near = report.near(name, numbers)
            report.say(effects.LIMIT_WITHOUT_NUMBER, placed.down(index), suggestion=near, name=name)
    for name in numbers:
        if name not in used:
            report.say(effects.UNUSED_LIMIT, ("limits", name), at_key=True, name=name)


def _judge_method(node: Node, report: Report) -> None:
    """Tell methods that a model server does not have, and bodies that a reading request drops."""
    placed = node.settings.get("method")
    known = _METHODS.get(node.type)
    method = placed.value if placed is not None else "GET"
    is_literal = placed is not None and isinstance(method, str) and not is_template(method)
    if known is not None and placed is not None and is_literal and not known.knows(method):
        near = report.near(leaf(method), known.effects)
        report.say(effects.UNKNOWN_METHOD, placed.at, suggestion=near, name=method, type=node.type)
    body = next((key for key in ("json", "form", "body", "files") if key in node.settings), None)
    asks_only = node.type == "http" and method in ("GET", "HEAD")
    if asks_only and body is not None and not report.has():
        place = node.settings[body].at
        report.say(effects.BODY_NOT_SENT, place, at_key=True, method=method, key=body)


def _judge_structure(node: Node, report: Report) -> None:
    """A step that only holds others changes nothing itself; bounds belong on those that do."""
    if "expect" in node.care:
        place = node.care["expect"].at
        report.say(effects.BOUNDS_WITHOUT_WRITE, place, at_key=True, where=node.told())


def _judge_cache(node: Node, report: Report, *, writes: bool) -> None:
    """Former results are given only instead of a task that reads or computes."""
    placed = node.care.get("cache")
    if placed is None:
        return
    why = None
    if writes:
        why = "it writes"
    elif "repeat" in node.care:
        why = "it is repeated"
    elif node.type in _WITHOUT_TASK:
        why = f"'{node.type}' has no task of its own"
    if why is not None:
        report.say(effects.CACHE_NOT_USED, placed.at, at_key=True, where=node.told(), why=why)


def _value(node: Node, key: str) -> object:
    placed = node.care.get(key)
    return placed.value if placed is not None else None


def _writes(node: Node, spec: TaskSpec, report: Report) -> bool:
    by_type = spec.writes({key: placed.value for key, placed in node.settings.items()})
    said = node.care.get("writes")
    if spec.sql and (said is None or said.value is not True):
        _judge_sql(node, spec, report)
    if said is None:
        return by_type
    if said.value is False and by_type and not spec.may_say_writes:
        where = node.told()
        report.say(effects.WRITES_FIXED, said.at, at_key=True, where=where, type=node.type)
        return True
    return bool(said.value)


def _judge_sql(node: Node, spec: TaskSpec, report: Report) -> None:
    for key in spec.sql:
        placed = node.settings.get(key)
        if placed is None:
            continue
        texts = placed.value if isinstance(placed.value, list) else [placed.value]
        if any(isinstance(text, str) and looks_like_writing(text) for text in texts):
            where = node.told()
            report.say(effects.SQL_WRITES, placed.at, at_key=True, where=where)


def _judge_write(node: Node, spec: TaskSpec, draft: Draft, report: Report) -> None:
    where = node.told()
    if _value(node, "confirm") is not True and spec.confirmation != "never":
        must = spec.confirmation == "refused" or draft.playbook.require_confirm
        rule: Rule = effects.REFUSED_WRITE if must else effects.UNCONFIRMED_WRITE
        report.say(rule, _name_of(node), where=where)
    if "retry" in node.care and _value(node, "idempotent") is not True:
        report.say(effects.RETRIED_WRITE, node.care["retry"].at, at_key=True, where=where)
    if node.type in _BOUNDED and "expect" not in node.care:
        report.say(effects.UNBOUNDED_WRITE, _name_of(node), where=where)


def _name_of(node: Node) -> tuple[str | int, ...]:
    """The place to point at when a node as a whole is meant: its type."""
    return (*node.at, "type")


def _judge_bounds(node: Node, report: Report) -> None:
    expect = node.care.get("expect")
    if expect is None:
        return
    for counter in ("Updated", "Created", "Deleted", "Candidates"):
        least, most = expect.value.get(f"min{counter}"), expect.value.get(f"max{counter}")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            report.say(
                effects.IMPOSSIBLE_BOUNDS,
                expect.down(f"min{counter}"),
                at_key=True,
                counter=counter,
                least=least,
                most=most,
            )
    equals = expect.value.get("equals")
    for name in equals if isinstance(equals, dict) else ():
        why = problem_of_pointer(str(name))
        if why is not None and not is_template(str(name)):
            place = expect.down("equals", name)
            report.say(effects.EQUALS_NO_POINTER, place, at_key=True, name=name, why=why)


def _judge_check(node: Node, draft: Draft, report: Report) -> None:
    check = node.care.get("check")
    if check is None:
        return
    spec = draft.tasks.get(str(check.value.get("type")))
    settings = check.value.get("settings") or {}
    if check.value.get("writes") or (spec is not None and spec.writes(settings)):
        report.say(effects.CHECK_WRITES, check.at, at_key=True, where=node.told())
