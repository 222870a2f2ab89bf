"""Render what a step is given as far as it is known, where `render_call` finds a gap.

Sends nothing; raises for everything that is wrong, and for nothing that is merely not known.
"""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.broker.names import Scope
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.run import Run
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK
from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from noetl_mcp.tasks.calls import Failed, Statement
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.sql_text import bind
from noetl_mcp.worker.rehearsed_unknown import (
    Unknown,
    is_unknown,
    render_partly,
    unknowns,
)
from noetl_mcp.worker.rendered import Rendered, render_call


def rendered_as_known(run: Run, node: Node, item: int) -> tuple[Rendered, tuple[str, ...]]:
    """Return what a step is given, and what of it is not known."""
    try:
        found = render_call(run, node, item)
    except RenderError as problem:
        if not is_unknown(problem):
            raise
        found = _partly(run, node, item)
    values = [one.values for one in found.sql]
    parts = (found.settings, found.input, found.expect, found.auth, found.data, values)
    return found, tuple(dict.fromkeys(text for part in parts for text in unknowns(part)))


def _partly(run: Run, node: Node, item: int) -> Rendered:
    payload = run.brought(node, item) if node.comes else {}
    scope: Any = run.program.names.scope(node.idx, run.sight(node, item, payload=payload))

    def known(key: str) -> Any:
        return render_partly(node.more[key], run.program.renderers, scope)

    given = known("input") if "input" in node.more else None
    if payload:
        given = {**given, **payload} if isinstance(given, dict) else dict(payload)
    if given is not None and isinstance(scope, Scope):
        scope = scope.with_input(given)
    sql = _sql_keys(node)
    written = _opened(node.more.get("settings", {}))
    settings = {
        key: render_partly(value, run.program.renderers, scope)
        for key, value in written.items()
        if key not in sql
    }
    statements = [
        one
        for key in written
        if key in sql
        for text in _texts(run, written[key])
        for one in _bound(text, scope)
    ]
    timeout = known("timeout") if "timeout" in node.more else None
    found = Rendered(
        node,
        scope,
        payload,
        given,
        settings,
        statements,
        known("expect") if "expect" in node.more else {},
        known("auth") if "auth" in node.more else None,
        float(timeout) if isinstance(timeout, (int, float)) else None,
        None,
    )
    if found.saves:
        found.data = _saved(run, node, item, scope)
    return found


def _opened(written: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = written.get(LITERAL_MARK, written)
    return found


def _sql_keys(node: Node) -> frozenset[str]:
    if node.spec is not None:
        return node.spec.sql
    target = SAVE_TARGETS.get(node.type.removeprefix("save."))
    return target.sql if target is not None else frozenset()


def _texts(run: Run, written: Any) -> list[str]:
    """Return SQL as its author wrote it."""
    return [
        run.program.plan["templates"][one[TEMPLATE_MARK]]["text"]
        if isinstance(one, dict)
        else str(one)
        for one in (written if isinstance(written, list) else [written])
    ]


def _bound(text: str, scope: Mapping[str, object]) -> tuple[Statement, ...]:
    def value(inner: str) -> Any:
        try:
            return compile_text(inner)(scope)
        except RenderError as problem:
            if not is_unknown(problem):
                raise
        return Unknown(inner)

    try:
        return bind(text, value)
    except ValueError as problem:
        raise Failed("sql", str(problem), retriable=False) from None


def _saved(run: Run, node: Node, item: int, scope: Mapping[str, object]) -> dict[str, Any]:
    renderers = run.program.renderers
    if "data" in node.more:
        data = render_partly(node.more["data"], renderers, scope)
    else:
        source = node.more["speaks_for"]
        left = run.left.get((source, run.seen_from(node, item, source)))
        data = None if left is None else left.known.result
    key = render_partly(node.more["key"], renderers, scope) if "key" in node.more else None
    return {"data": data, "mode": node.more.get("mode"), "key": key}


__all__ = ["rendered_as_known"]
