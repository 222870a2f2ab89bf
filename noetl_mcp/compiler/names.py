"""Pass: every template parses, every name in it is known, and what it needs becomes an edge.

Before: nodes whose templates nobody has looked at. After: a `need` edge for every result that a
template reads, and `refs`, from which the pass `graph` judges whether it will be there.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from noetl_mcp.compiler.constants import say_constant
from noetl_mcp.compiler.draft import Draft, Edge, Node, Placed, Ref, strings
from noetl_mcp.compiler.prompts import check_prompts
from noetl_mcp.compiler.result_keys import say_loop_key, say_result_key
from noetl_mcp.compiler.scope import Names, Scope, names_of, safe, scope_of
from noetl_mcp.compiler.unused import say_unused
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import FIXED_NAMES, read_reference
from noetl_mcp.playbook.template import TemplateProblem, Use, read_template
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import flow, templates
from noetl_mcp.rules import names as rules

_AFTER = frozenset(("set", "save", "repeat", "result", "assert", "retry", "on_error"))


class Reading(NamedTuple):
    """A template, where it stands, and what it may know."""

    text: str
    at: Path
    scope: Scope
    user: str


def check_names(draft: Draft, report: Report) -> Draft:
    """Look at every template of a draft."""
    names = names_of(draft)
    refs: dict[tuple[str, str], Ref] = {}
    set_reads: set[tuple[str, str]] = set()
    for reading in _readings(draft, names):
        set_reads |= _set_reads(reading)
        for ref in _look(reading, draft, report):
            former = refs.get((ref.used, ref.user))
            if former is None or (former.optional and not ref.optional):
                refs[ref.used, ref.user] = ref
    for ref in _references(draft):
        refs.setdefault((ref.used, ref.user), ref)
    _workload(draft, names, report)
    check_prompts(draft, report)
    say_unused(draft.with_(refs=tuple(refs.values())), report)
    direct = {(edge.source, edge.target) for edge in draft.edges}
    needs = [
        Edge(ref.used, ref.user, "need", at=ref.at)
        for ref in refs.values()
        if (ref.used, ref.user) not in direct
        and draft.nodes[ref.used].phase == draft.nodes[ref.user].phase
    ]
    return draft.with_(
        edges=(*draft.edges, *needs),
        refs=tuple(refs.values()),
        set_reads=frozenset(set_reads),
    )


def _readings(draft: Draft, names: Names) -> Iterator[Reading]:
    for node in draft.nodes.values():
        yield from _of_node(node, names, _waits_at(node, draft))
    users = _users_of_tools(draft)
    for tool in draft.tools.values():
        if tool.name in users:
            yield from _of_node(tool, names, users[tool.name])
    for edge in draft.edges:
        if edge.copies or edge.source not in draft.nodes or edge.kind == "need":
            continue
        source = draft.nodes[edge.source]
        scope, user = scope_of(source, "after", names), _waits_at(source, draft)
        for placed in (edge.when, edge.data, edge.set):
            if placed is not None and placed.at[:1] != ("mcp",):
                yield from _texts(placed, scope, user)


def _waits_at(node: Node, draft: Draft) -> str:
    """Return the node that must wait for what this node's templates read."""
    if node.within is not None:
        return node.within
    if node.speaks_for is not None and node.speaks_for in draft.nodes:
        return _waits_at(draft.nodes[node.speaks_for], draft)
    return node.name


def _users_of_tools(draft: Draft) -> dict[str, str]:
    """Return the first model step that may call each tool."""
    users: dict[str, str] = {}
    for node in draft.nodes.values():
        if node.type == "turn.model":
            for tool in node.settings.get("tools_allowed", _NONE).value:
                users.setdefault(tool, node.name)
    return users


_NONE = Placed((), ())


def _of_node(node: Node, names: Names, user: str) -> Iterator[Reading]:
    """Yield the templates of a node, each with what it knows at its time."""
    before = scope_of(node, "before", names)
    inside = scope_of(node, "in", names)
    after = scope_of(node, "after", names)
    data = node.data
    for placed in [data] if isinstance(data, Placed) else (data or {}).values():
        yield from _texts(placed, before, user)
    unrendered = _unrendered(node, names)
    for key, placed in node.settings.items():
        if key in unrendered or (node.type == "turn.tools" and key == "tools"):
            continue
        scope = _item_scope(node, key, inside, names)
        yield from _texts(placed, scope, user)
    for key, placed in node.care.items():
        if key not in ("input_schema", "description"):
            yield from _texts(placed, after if key in _AFTER else inside, user)


def _unrendered(node: Node, names: Names) -> frozenset[str]:
    spec = names.draft.tasks.get(node.type)
    if spec is not None:
        return spec.code
    return frozenset(("code", "code_b64")) if node.type == "save.python" else frozenset()


def _item_scope(node: Node, key: str, inside: Scope, names: Names) -> Scope:
    """`where` and `order_by` of an iterator see the item."""
    if node.type != "iterator" or key not in ("where", "order_by"):
        return inside
    item = node.with_(within=node.name)
    return Scope(names, item, "in", inside.inputs)


def _texts(placed: Placed, scope: Scope, user: str) -> Iterator[Reading]:
    if isinstance(placed.value, str):
        if "{{" in placed.value or "{%" in placed.value or _HALF.search(placed.value):
            yield Reading(placed.value, placed.at, scope, user)
        return
    for text, at in strings(placed):
        if is_template(text) or ("}}" in text and _HALF.search(text)):
            yield Reading(text, at, scope, user)


def _set_reads(reading: Reading) -> set[tuple[str, str]]:
    """Return the names set elsewhere that a template reads, as `ctx.x` or as bare `x`."""
    names = reading.scope.set_names
    if not names:
        return set()
    try:
        uses = read_template(reading.text).uses
    except TemplateProblem:
        return set()
    scopes = ("ctx", "iter")
    found = {str(use.path[1]) for use in uses if use.root in scopes and len(use.path) > 1}
    found |= {use.root for use in uses if reading.scope.find(use.root) == "set"}
    return {(reading.scope.node.name, name) for name in found & names}


_HALF = re.compile(r"(?<!\{)\{\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?\}\}")


def _look(reading: Reading, draft: Draft, report: Report) -> Iterator[Ref]:
    """Judge one template; yield the results of other nodes that it reads."""
    try:
        template = read_template(reading.text)
    except TemplateProblem as problem:
        place = report.source.line_in(reading.at, problem.line)
        report.say(templates.TEMPLATE_SYNTAX, place, problem=problem.reason, cure=problem.cure)
        return
    if template.kind == "literal":
        report.say(templates.HALF_TEMPLATE, reading.at, text=reading.text)
    for use in template.uses:
        if _is_hyphenated(use, reading):
            return
        used = _judge(use, reading, draft, report)
        if used is not None:
            yield Ref(used, reading.user, use.optional, reading.at, use.root)


def _is_hyphenated(use: Use, reading: Reading) -> bool:
    """Whether a use is the tail of a hyphenated name, which its head has told already."""
    tails = (f"-{use.root}.", f"-{use.root} ", f"-{use.root}}}")
    return reading.scope.find(use.root) is None and any(tail in reading.text for tail in tails)


def _judge(use: Use, reading: Reading, draft: Draft, report: Report) -> str | None:
    """Say what is wrong with a name, or return the node whose result it is."""
    scope = reading.scope
    found = scope.find(use.root)
    if found is None:
        _unknown(use, reading, report)
        return None
    if found == "loop":
        say_loop_key(use, reading.at, report)
    if found == "step":
        say_result_key(draft.nodes[scope.names.steps[use.root]], use, reading.at, report)
        return _other(scope.names.steps[use.root], use, reading, draft, report)
    if found == "fixed" and len(use.path) > 1 and not use.optional:
        _member(use, reading, draft, report)
    return None


def _other(used: str, use: Use, reading: Reading, draft: Draft, report: Report) -> str | None:
    """Judge a use of another node's result; the own one is there only afterwards."""
    own = reading.scope.node
    if used in (own.name, reading.user, own.within):
        if reading.scope.when != "after" and not use.optional:
            where = f"step '{used}'"
            report.say(flow.USES_ITSELF, reading.at, word=use.root, where=where)
        return None
    other, user = draft.nodes[used], draft.nodes[reading.user]
    if other.phase == "finally" and user.phase == "body":
        where = f"step '{user.name}'"
        report.say(flow.USED_TOO_EARLY, reading.at, word=use.root, name=used, where=where)
        return None
    return used


def _unknown(use: Use, reading: Reading, report: Report) -> None:
    scope = reading.scope
    if scope.inputs is None and report.near(use.root, FIXED_NAMES) is None:
        return
    if use.optional:
        _say_misspelt(use, reading, report)
        return
    near = report.near(use.root, scope.known)
    mcp = scope.names.draft.playbook.mcp
    if mcp is not None and any(turn.name == use.root for turn in mcp.turns):
        report.say(
            flow.NEVER_RUNS,
            reading.at,
            word=use.root,
            where=scope.node.told(),
            name=use.root,
        )
        return
    cure = "declare it under workload, put it into the step's data, or correct the name"
    if use.root == "keychain":
        cure = "store the credential and write secrets.NAME, or name it in 'auth'"
    if use.root == "error":
        cure = "read it from the step that failed: STEP.error.message"
    if use.root in ("this", "result", "output") and scope.when != "after":
        cure = "the own result is there only in 'save', 'set', 'assert', 'retry' and 'next'"
    hyphenated = scope.names.hyphenated.get(use.root)
    if hyphenated is not None:
        cure = f"in a template '{hyphenated}' is written {safe(hyphenated)}"
        near = safe(hyphenated)
    report.say(
        rules.UNKNOWN_NAME,
        reading.at,
        word=use.root,
        suggestion=near,
        name=use.dotted(),
        cure=cure,
    )


def _say_misspelt(use: Use, reading: Reading, report: Report) -> None:
    """A default provides for a gap; under a misspelt name it wins every time."""
    near = report.near(use.root, reading.scope.known)
    if near is not None:
        report.say(
            templates.ALWAYS_DEFAULT,
            reading.at,
            word=use.root,
            suggestion=near,
            name=use.root,
        )


_METHODS = frozenset(("items", "keys", "values", "get"))


def _member(use: Use, reading: Reading, draft: Draft, report: Report) -> None:
    """Judge `workload.x`, `input.x`, `mcp.models.x` and the like."""
    root, leaf = use.root, str(use.path[1])
    if use.called and len(use.path) == 2 and leaf in _METHODS:
        return
    if root in ("workload", "context"):
        path = use.path[1:] if root == "context" and leaf == "input" else use.path
        if len(path) > 1:
            say_variable(str(path[1]), use, reading, report)
    elif root == "ctx" and leaf not in reading.scope.set_names:
        near = report.near(leaf, reading.scope.set_names)
        cure = f"set '{leaf}' in a step before, under 'set', or provide a default"
        if any(leaf in names for names in reading.scope.names.item_names.values()):
            cure = "it is set for each item alone; read the results of the iterator instead"
        report.say(
            rules.UNKNOWN_NAME,
            reading.at,
            word=leaf,
            suggestion=near,
            name=use.dotted(),
            cure=cure,
        )
    elif root in ("mcp", "prompts"):
        say_constant(use, reading.at, draft.playbook.mcp, report)
    elif root in ("input", "data") and reading.scope.when != "after":
        _input(leaf, use, reading, report)


def say_variable(leaf: str, use: Use, reading: Reading, report: Report) -> None:
    """Report a variable that the workload does not declare."""
    known = reading.scope.names.workload
    if known is None:
        report.say(rules.UNDECLARED_INPUT, reading.at, word=leaf, name=use.dotted(), leaf=leaf)
    elif leaf not in known:
        near = report.near(leaf, known)
        report.say(
            rules.UNDECLARED_VARIABLE,
            reading.at,
            word=leaf,
            suggestion=near,
            name=use.dotted(),
            leaf=leaf,
        )


def _input(leaf: str, use: Use, reading: Reading, report: Report) -> None:
    node, known = reading.scope.node, reading.scope.inputs
    if node.at[:2] == ("mcp", "resources") or (node.turn is not None and node.data is None):
        say_variable(leaf, use, reading, report)
        return
    if known is None or leaf in known or node.within is not None:
        return
    what = "tool" if node.at[:2] == ("mcp", "tools") else "step"
    report.say(
        rules.UNKNOWN_INPUT,
        reading.at,
        word=leaf,
        suggestion=report.near(leaf, known),
        name=use.dotted(),
        where=f"{what} '{node.name}'",
        known=", ".join(sorted(known)) or "nothing",
    )


def _references(draft: Draft) -> Iterator[Ref]:
    """Yield what turns use by reference: `use: step:x` and `use: turn:t`."""
    for node in draft.nodes.values():
        if node.type != "turn.model" or "user" not in node.settings:
            continue
        placed = node.settings["user"]
        for index, message in enumerate(placed.value):
            reference = read_reference(message.get("use") or "")
            is_there = reference is not None and reference.name in draft.nodes
            if reference is not None and is_there and reference.kind in ("step", "turn"):
                at = placed.down(index, "use")
                yield Ref(reference.name, node.name, False, at, reference.name)


def _workload(draft: Draft, names: Names, report: Report) -> None:
    """Templates in the workload know the execution and each other, and no step."""
    declared: Mapping[str, object] = draft.playbook.workload or {}
    known = frozenset(("job", "env", "secrets", "execution_id", "workload", "context", "now"))
    for key, value in declared.items():
        for text, at in strings(Placed(value, ("workload", key))):
            if not is_template(text):
                continue
            try:
                template = read_template(text)
            except TemplateProblem as problem:
                report.say(templates.TEMPLATE_SYNTAX, at, problem=problem.reason, cure=problem.cure)
                continue
            for use in template.uses:
                if use.optional or use.root in known or use.root in declared:
                    continue
                cure = "the workload knows job, env, secrets, execution_id and its own keys"
                near = report.near(use.root, lambda: {*known, *declared})
                report.say(
                    rules.UNKNOWN_NAME,
                    at,
                    word=use.root,
                    suggestion=near,
                    name=use.dotted(),
                    cure=cure,
                )
