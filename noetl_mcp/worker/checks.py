"""Turn a step's `check` into a call: a reading step that tells what became of a write."""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.playbook.values import Duration
from noetl_mcp.tasks.calls import Call, Failed, Surroundings
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.worker.fitting import fitted, fitted_value
from noetl_mcp.worker.settle import Work


def check_call(
    tree: Mapping[str, Any], spec: TaskSpec | None, work: Work, around: Surroundings
) -> Call:
    """Return the call that asks what became of a write."""
    kind = str(tree.get("type", "http"))
    if spec is None:
        raise Failed("no-such-task", f"a check of type '{kind}' cannot be done", retriable=False)
    name, covered = work.node.name, tree.get("settings", {})
    given: Any = uncovered(covered)
    return Call(
        task=kind,
        settings=fitted(spec.settings, given, name, covered, "check"),
        input=uncovered(tree.get("input", tree.get("data"))),
        around=around,
        execution_id=work.run.id,
        step=name,
        attempt=work.lease.attempt,
        timeout=fitted_value(Duration | None, tree.get("timeout"), "check.timeout", name) or 30.0,
    )


__all__ = ["check_call"]
