"""Turn a finished draft into a plan: numbers for names, templates once, nothing left to decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from noetl_mcp.compiler.draft import Draft, Edge, Node, Placed
from noetl_mcp.compiler.graph import FINALLY_END, order
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK, Plan, PlanEdge, PlanStep
from noetl_mcp.compiler.scope import safe
from noetl_mcp.compiler.set_names import setters
from noetl_mcp.compiler.workload import Variable, declared
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.template import read_template
from noetl_mcp.playbook.values import is_template


class _Templates:
    """The templates of a plan, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.rows: list[dict[str, Any]] = []

    def number(self, text: str) -> int:
        """Return the number of a template, adding it when it is new."""
        if text not in self.numbers:
            self.numbers[text] = len(self.rows)
            template = read_template(text)
            row: dict[str, Any] = {"kind": template.kind, "text": text}
            if template.kind == "path":
                row["path"] = list(template.uses[0].path)
            roots = sorted({use.root for use in template.uses})
            if roots:
                row["names"] = roots
            self.rows.append(row)
        return self.numbers[text]

    def tree(self, value: Any) -> Any:
        """Return a value with every template in it replaced by its number."""
        if isinstance(value, str):
            return {TEMPLATE_MARK: self.number(value)} if is_template(value) else value
        if isinstance(value, dict):
            made = {key: self.tree(child) for key, child in value.items()}
            marked = TEMPLATE_MARK in value or LITERAL_MARK in value
            return {LITERAL_MARK: made} if marked else made
        if isinstance(value, (list, tuple)):
            return [self.tree(child) for child in value]
        return value


def freeze(draft: Draft) -> Plan:
    """Make the plan of a draft that no pass found fault with."""
    templates = _Templates()
    names = order(draft)
    numbers = {name: number for number, name in enumerate(names)}
    begins = _entries(draft)
    needs: dict[str, set[int]] = {}
    for ref in draft.refs:
        if ref.used in numbers:
            needs.setdefault(ref.user, set()).add(numbers[ref.used])
    given = setters(draft, names)
    steps = tuple(
        _step(draft.nodes[name], draft, numbers, needs.get(name, set()), begins, templates)
        for name in names
    )
    steps = tuple(_with_set(step, given.get(step.name, {}), numbers) for step in steps)
    edges = tuple(_edge(edge, numbers, templates) for edge in _sorted(draft.edges, numbers))
    tools = {name: _tool(node, draft, templates) for name, node in sorted(draft.tools.items())}
    book = draft.playbook
    inputs = tuple(_input(variable, templates) for variable in declared(book.workload or {}))
    result = _result(draft, names, numbers, templates)
    return Plan(
        {"path": book.metadata.path, "name": book.metadata.name},
        inputs,
        steps,
        edges,
        tuple(templates.rows),
        _constants(draft),
        tools,
        _options(draft),
        result,
    )


def _entries(draft: Draft) -> set[str]:
    arrived = {edge.target for edge in draft.edges if edge.kind != "need"}
    finals = [
        node.name
        for node in draft.nodes.values()
        if node.phase == "finally" and node.name not in arrived and node.name != FINALLY_END
    ]
    return {*draft.entries, *finals}


def _sorted(edges: tuple[Edge, ...], numbers: Mapping[str, int]) -> list[Edge]:
    return sorted(
        (edge for edge in edges if edge.source in numbers and edge.target in numbers),
        key=lambda edge: (numbers[edge.source], edge.kind == "need"),
    )


def _step(
    node: Node,
    draft: Draft,
    numbers: Mapping[str, int],
    needs: set[int],
    begins: set[str],
    templates: _Templates,
) -> PlanStep:
    more: dict[str, Any] = {}
    if node.settings:
        more["settings"] = _settings(node, draft, templates)
    if node.data is not None:
        more["input"] = _input_tree(node, templates)
    for key, placed in sorted(node.care.items()):
        more[key] = templates.tree(placed.value)
    for key, plain in (("route", "seed"), ("join", "all"), ("phase", "body")):
        if getattr(node, key) != plain:
            more[key] = getattr(node, key)
    for key in ("within", "speaks_for", "input_of"):
        name = getattr(node, key)
        if name is not None and name in numbers:
            more[key] = numbers[name]
    if node.siblings:
        more["siblings"] = {k: numbers[v] for k, v in node.siblings.items() if v in numbers}
    if node.turn is not None:
        more["turn"] = node.turn
    if node.goes_on:
        more["goes_on"] = True
    if needs:
        more["needs"] = sorted(needs)
    if node.name in begins:
        more["entry"] = True
    if safe(node.name) != node.name and not node.hidden:
        more["alias"] = safe(node.name)
    return PlanStep(node.name, node.type, pointer(node.at), node.hidden, node.writes, more)


def _with_set(
    step: PlanStep, given: Mapping[str, list[str]], numbers: Mapping[str, int]
) -> PlanStep:
    """Note where the names under `ctx` that a step reads come from, the latest giver first."""
    if not given:
        return step
    ctx = {name: [numbers[giver] for giver in givers] for name, givers in given.items()}
    return replace(step, more={**step.more, "ctx": ctx})


def _input_tree(node: Node, templates: _Templates) -> Any:
    if isinstance(node.data, Placed):
        return templates.tree(node.data.value)
    return {key: templates.tree(placed.value) for key, placed in (node.data or {}).items()}


def _settings(node: Node, draft: Draft, templates: _Templates) -> dict[str, Any]:
    """Program text is never rendered; it is marked so that nobody mistakes it for a template."""
    spec = draft.tasks.get(node.type)
    unrendered = spec.code if spec is not None else frozenset(("code", "code_b64"))
    found: dict[str, Any] = {}
    for key, placed in node.settings.items():
        is_raw = key in unrendered
        found[key] = placed.value if is_raw else templates.tree(placed.value)
    return found


def _edge(edge: Edge, numbers: Mapping[str, int], templates: _Templates) -> PlanEdge:
    when: int | bool | None = None
    if edge.when is not None:
        given = edge.when.value
        when = templates.number(given) if isinstance(given, str) else bool(given)
    return PlanEdge(
        numbers[edge.source],
        numbers[edge.target],
        edge.kind,
        when,
        templates.tree(edge.data.value) if edge.data is not None else None,
        templates.tree(edge.set.value) if edge.set is not None else None,
    )


def _tool(node: Node, draft: Draft, templates: _Templates) -> dict[str, Any]:
    found: dict[str, Any] = {"type": node.type, "settings": _settings(node, draft, templates)}
    if node.data is not None:
        found["input"] = _input_tree(node, templates)
    for key, placed in sorted(node.care.items()):
        found[key] = placed.value if key == "input_schema" else templates.tree(placed.value)
    if node.writes:
        found["writes"] = True
    return found


def _input(variable: Variable, templates: _Templates) -> dict[str, Any]:
    found: dict[str, Any] = {"name": variable.name}
    if variable.type is not None:
        found["type"] = variable.type
    if variable.is_declared:
        found["declared"] = True
        found["schema"] = dict(variable.schema)
    if variable.required:
        found["required"] = True
    if variable.has_default:
        found["default"] = templates.tree(variable.default)
    return found


def _constants(draft: Draft) -> dict[str, Any]:
    """What templates may read of the `mcp:` section; prompts stay texts, to be rendered on call."""
    mcp = draft.playbook.mcp
    if mcp is None:
        return {}
    return {
        section: {
            one.name: {key: value for key, value in one.plain().items() if key != "spec"}
            for one in getattr(mcp, section)
        }
        for section in ("models", "tools", "resources", "prompts", "turns")
        if getattr(mcp, section)
    }


def _options(draft: Draft) -> dict[str, Any]:
    book = draft.playbook
    found: dict[str, Any] = {}
    if book.limits:
        found["limits"] = dict(book.limits)
    if book.timeout is not None:
        found["timeout"] = book.timeout
    if book.require_confirm:
        found["require_confirm"] = True
    if book.durability != "strict":
        found["durability"] = book.durability
    return found


def _result(
    draft: Draft, names: list[str], numbers: Mapping[str, int], templates: _Templates
) -> dict[str, Any]:
    """Say where the playbook's result comes from.

    `result` of the last step that has one; else the data that the step `end` saves; else what the
    last of the steps that did something gave, in this order of preference.
    """
    ends = [n for n in names if "result" in draft.nodes[n].care and draft.nodes[n].phase == "body"]
    if ends:
        last = ends[-1]
        return {
            "step": numbers[last],
            "value": templates.tree(draft.nodes[last].care["result"].value),
        }
    end = draft.nodes.get("end")
    saves = end.care["save"].value if end is not None and "save" in end.care else ()
    for save in saves:
        if save.get("data") is not None:
            return {"step": numbers["end"], "value": templates.tree(save["data"])}
    doing = [
        numbers[name]
        for name in reversed(names)
        if draft.nodes[name].phase == "body"
        and (not draft.nodes[name].hidden or draft.nodes[name].type == "turn")
        and draft.nodes[name].type != "router"
        and draft.nodes[name].within is None
    ]
    return {"last_of": doing}


def pointer(path: Path) -> str:
    """Write a path as text: `workflow/3`."""
    return "/".join(map(str, path))
