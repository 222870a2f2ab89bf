"""Turn a playbook into a plan by a tuple of passes, each one step further on.

`PASSES` is the compiler; a pass is a function `(draft, report) -> draft`. Nothing here reads a
file, a clock or a network.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from noetl_mcp.compiler.bind import bind
from noetl_mcp.compiler.contents import check_contents
from noetl_mcp.compiler.draft import Draft
from noetl_mcp.compiler.graph import check_graph
from noetl_mcp.compiler.guard import guard
from noetl_mcp.compiler.names import check_names
from noetl_mcp.compiler.resolve import resolve
from noetl_mcp.compiler.unfold import unfold
from noetl_mcp.compiler.workload import check_workload
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.load import Loaded
from noetl_mcp.steady import steady
from noetl_mcp.tasks.contract import TaskSpec

if TYPE_CHECKING:
    from noetl_mcp.compiler.plan import Plan

Pass = Callable[[Draft, Report], Draft]


class Broken(Exception):
    """A playbook does not compile; `report` says why."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(f"{loaded.source.file} does not compile")
        self.loaded = loaded

    @property
    def report(self) -> Report:
        """Everything that is wrong with it."""
        return self.loaded.report


PASSES: tuple[Pass, ...] = (
    resolve,
    check_workload,
    bind,
    unfold,
    check_contents,
    check_names,
    check_graph,
    guard,
)


def run_passes(loaded: Loaded, tasks: Mapping[str, TaskSpec]) -> Draft | None:
    """Run every pass over what was loaded; None when nothing could be loaded."""
    if loaded.playbook is None:
        return None
    draft = Draft(loaded.playbook, tasks)
    with steady():
        for one in PASSES:
            draft = one(draft, loaded.report)
    return draft


def compile_playbook(loaded: Loaded, tasks: Mapping[str, TaskSpec]) -> "Plan | None":
    """Return the plan; None when anything is wrong, which the report then tells."""
    draft = run_passes(loaded, tasks)
    if draft is None or loaded.report.has():
        return None
    from noetl_mcp.compiler.freeze import freeze  # checking alone never needs it

    with steady():
        return freeze(draft)


def plan_of(loaded: Loaded, tasks: Mapping[str, TaskSpec]) -> "Plan":
    """Return the plan; raise Broken when anything is wrong."""
    plan = compile_playbook(loaded, tasks)
    if plan is None:
        raise Broken(loaded)
    return plan


__all__ = ["PASSES", "Broken", "Pass", "compile_playbook", "plan_of", "run_passes"]
