"""An execution of a dry run: what its steps see, where not all is known. Keeps nothing."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.sight import Items, Sight
from noetl_mcp.worker.rehearsed_unknown import UnknownError, holds_unknown
from noetl_mcp.worker.rehearsed_ways import failed_before


class RehearsedRun(Run):
    """An execution of a dry run; some of what it is given may not be known."""

    @cached_property
    def failed_before(self) -> Mapping[int, frozenset[int]]:
        """By step: which others must have failed when it is reached."""
        return failed_before(self.program)

    def sight(self, node: Node, item: int, **given: Any) -> Sight:
        """Return what a step can see; behind a failure there is an error, though not here."""
        found = super().sight(node, item, **given)
        failed = self.failed_before[node.idx]
        if not failed:
            return found

        def look(idx: int, indices: Items) -> Known | None:
            known = found.look(idx, indices)
            if idx not in failed or known is None or known.state != "done":
                return known
            error = UnknownError(f"{{{{ {self.program.nodes[idx].name}.error }}}}")
            return replace(known, state="failed", result=None, error=error)

        return replace(found, look=look)

    def is_behind_failure(self, node: Node) -> bool:
        """Whether a step is reached only when another one failed."""
        return bool(self.failed_before[node.idx])

    @property
    def secrets(self) -> list[str]:
        """The texts in the workload that nobody may read afterwards."""
        known = {key: one for key, one in self.workload.items() if not holds_unknown(one)}
        return Run(self.program, self.context, known, self.lanes, self.world).secrets


__all__ = ["RehearsedRun"]
