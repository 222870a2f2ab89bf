"""Compile a text in a test, and look at what came of it."""

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.plan import Plan
from noetl_mcp.playbook.load import load
from noetl_mcp.tasks.registry import BUILT_IN

HEAD = "kind: Playbook\nmetadata: {name: a, path: a/b}\n"


def plan_of(body: str) -> Plan:
    """Return the plan of a playbook whose header is given; it must have no errors."""
    loaded = load(HEAD + body)
    plan = compile_playbook(loaded, BUILT_IN)
    assert plan is not None, [f"{f.place.line}: {f.message}" for f in loaded.report]
    return plan


def found_in(body: str, *severities: str) -> list[str]:
    """Return the findings of a playbook as `line name`, of some severities or of all."""
    loaded = load(HEAD + body)
    compile_playbook(loaded, BUILT_IN)
    return [
        f"{found.place.line} {found.rule.name}"
        for found in loaded.report
        if not severities or found.severity in severities
    ]


def ways(plan: Plan) -> list[str]:
    """Return the ways of a plan as `source -> target when …`, the hidden last step left out."""
    lines = []
    for edge in plan.edges:
        source, target = plan.steps[edge.source].name, plan.steps[edge.target].name
        if target.startswith("$"):
            continue
        arrow = {"next": "->", "error": "-!>", "failed": "-?>", "need": "=>"}[edge.kind]
        when = plan.templates[edge.when]["text"] if isinstance(edge.when, int) else edge.when
        lines.append(f"{source} {arrow} {target}" + (f" when {when}" if when is not None else ""))
    return lines
