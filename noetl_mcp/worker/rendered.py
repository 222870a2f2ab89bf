"""Render what a step is given: its input, its settings, its SQL, its bounds. Sends nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noetl_mcp.broker.asked import plain
from noetl_mcp.broker.names import Scope
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.trees import Tree
from noetl_mcp.compiler.plan import TEMPLATE_MARK
from noetl_mcp.playbook.rendering.render import compile_text
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.values import Duration, Model
from noetl_mcp.tasks.calls import Failed, Statement
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.sql_text import bind
from noetl_mcp.worker.fitting import fitted_value

_LATER = {"iterator": ("where", "order_by")}
"""Settings that are rendered for each item."""
SPEAKS_OK = frozenset({"revit", "rhino", "jsonrpc"})
"""Of these an answer with `ok: false` is a failure, whatever it was asked."""


@dataclass(slots=True, eq=False)
class Rendered:
    """Everything a step's task is given, with secrets still covered."""

    node: Node
    scope: Mapping[str, object]
    payload: Mapping[str, Any]
    input: Any
    settings: Mapping[str, Any]
    sql: Sequence[Statement]
    expect: Mapping[str, Any]
    auth: Any
    timeout: float | None
    model: type[Model] | None
    data: Any = None

    @property
    def saves(self) -> bool:
        """Whether it is a save behind another step."""
        return self.node.type.startswith("save.")

    @property
    def secrets(self) -> Iterator[Secret]:
        """What must not be seen."""
        yield from secrets_in(self.settings)
        yield from secrets_in(self.input)
        yield from secrets_in(self.auth)
        yield from secrets_in(self.data)
        for statement in self.sql:
            yield from secrets_in(list(statement.values))


def render_call(run: Run, node: Node, item: int, former: Known | None = None) -> Rendered:
    """Render a step; raise RenderError, with the place of what cannot be rendered.

    `former` is what the round before gave, for a step that is repeated.
    """
    if node.rendered is not None:
        found: Rendered = node.rendered
        return found
    payload, given, scope = _given(run, node, item, former)
    model, sql_keys = _form(node)
    settings, sql = _settings(run, node, scope, sql_keys)
    care = node.care
    timeout = care["timeout"].render(scope) if "timeout" in care else None
    found = Rendered(
        node,
        scope,
        payload,
        given,
        settings,
        sql,
        care["expect"].render(scope) if "expect" in care else {},
        care["auth"].render(scope) if "auth" in care else None,
        fitted_value(Duration | None, plain(timeout, "timeout"), "timeout", node.name),
        model,
    )
    if found.saves:
        found.data = _saved(run, node, item, scope)
    elif node.is_constant and not item and not node.care:
        found.scope = {}
        node.rendered = found
    return found


def render_judged(run: Run, node: Node, item: int) -> Rendered:
    """Render what a step is judged by, and nothing of what it sends: its body has answered."""
    payload, given, scope = _given(run, node, item)
    expect = node.care["expect"].render(scope) if "expect" in node.care else {}
    settings = {}
    if node.type in SPEAKS_OK and node.settings is not None:
        method = node.settings.part("method")
        settings = {} if method is None else {"method": method.render(scope)}
    return Rendered(node, scope, payload, given, settings, (), expect, None, None, None)


def _given(
    run: Run, node: Node, item: int, former: Known | None = None
) -> tuple[Mapping[str, Any], Any, Mapping[str, object]]:
    """Return what the ways to a step carry, its whole input, and what its templates see."""
    payload = run.brought(node, item) if node.comes else {}
    scope = run.program.names.scope(node.idx, run.sight(node, item, payload=payload, own=former))
    given = None
    if node.input is not None:
        given = node.input.render(scope)
    elif item and node.type == "python":
        given = _item_of(run, node, scope)
    if payload:
        given = {**given, **payload} if isinstance(given, dict) else dict(payload)
    if given is not None and isinstance(scope, Scope):
        scope = scope.with_input(given)
    return payload, given, scope


def _item_of(run: Run, node: Node, scope: Mapping[str, object]) -> dict[str, Any] | None:
    """Return the item by its name: a function without input of its own is called with it."""
    if node.within is None:
        return None
    name = run.program.names.element(node.within)
    return {name: scope[name]}


def _form(node: Node) -> tuple[type[Model] | None, frozenset[str]]:
    """Return the settings model of a step's type, and which of its settings hold SQL."""
    if node.spec is not None:
        return node.spec.settings, node.spec.sql
    target = SAVE_TARGETS.get(node.type.removeprefix("save."))
    if node.type.startswith("save.") and target is not None:
        return target.settings, target.sql
    return None, frozenset()


def _settings(
    run: Run, node: Node, scope: Mapping[str, object], sql_keys: frozenset[str]
) -> tuple[Mapping[str, Any], tuple[Statement, ...]]:
    if node.settings is None:
        return {}, ()
    later = _LATER.get(node.type, ())
    return settings_of(run, node.settings, node.more["settings"], scope, sql_keys, later)


def settings_of(
    run: Run,
    tree: Tree,
    written: Mapping[str, Any],
    scope: Mapping[str, object],
    sql_keys: frozenset[str],
    later: Sequence[str] = (),
) -> tuple[Mapping[str, Any], tuple[Statement, ...]]:
    """Return rendered settings, and the statements in them with their values bound."""
    bound = [key for key in written if key in sql_keys]
    if not bound and not any(key in written for key in later):
        return tree.render(scope), ()
    settings: dict[str, Any] = {}
    statements: list[Statement] = []
    for key in written:
        if key in bound:
            texts = _texts(run, written[key])
            settings[key] = texts
            statements += [one for text in texts for one in _bound(text, scope)]
        elif key not in later:
            part = tree.part(key)
            settings[key] = part.render(scope) if part is not None else None
    return settings, tuple(statements)


def _texts(run: Run, written: Any) -> list[str]:
    """Return SQL as its author wrote it: what is rendered in it is bound, never pasted."""
    found: list[str] = []
    for one in written if isinstance(written, list) else [written]:
        if isinstance(one, dict) and TEMPLATE_MARK in one:
            found.append(run.program.plan["templates"][one[TEMPLATE_MARK]]["text"])
        else:
            found.append(str(one))
    return found


def _bound(text: str, scope: Mapping[str, object]) -> Sequence[Statement]:
    try:
        return bind(text, lambda inner: compile_text(inner)(scope))
    except ValueError as problem:
        raise Failed("sql", str(problem), retriable=False) from None


def _saved(run: Run, node: Node, item: int, scope: Mapping[str, object]) -> dict[str, Any]:
    """Return what a save keeps and how."""
    tree = node.care.get("data")
    if tree is not None:
        data = tree.render(scope)
    else:
        source = node.more["speaks_for"]
        left = run.left.get((source, run.seen_from(node, item, source)))
        data = None
        if left is not None:
            data = left.known.error if left.known.failed else left.known.result
    key = node.care["key"].render(scope) if "key" in node.care else None
    return {"data": data, "mode": node.more.get("mode"), "key": key}


def secrets_in(value: Any) -> Iterator[Secret]:
    """Return all secrets in a value."""
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from secrets_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from secrets_in(one)


__all__ = [
    "SPEAKS_OK",
    "Rendered",
    "render_call",
    "render_judged",
    "secrets_in",
    "settings_of",
]
