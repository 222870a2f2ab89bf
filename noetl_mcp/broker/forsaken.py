"""Find the steps whose worker is gone while no other is up to take them over. Changes nothing."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.places import written
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.typed import typed
from noetl_mcp.database import statements

SQL = statements(__file__, "forsaken.sql")
LEAST_HEARD = timedelta(seconds=3)
"""A worker that was heard of so lately is up, however short the lease is."""


class Forsaken(NamedTuple):
    """A step, and the worker that began it."""

    execution_id: int
    idx: int
    item: int
    worker: int

    def told(self, program: Program) -> dict[str, Any]:
        """Return what somebody is to do about it, as attention is told."""
        message = f"worker {self.worker} is gone; start one with: {typed('worker')}"
        name = written(program, self.idx, self.item)
        return {"step": name, "what": "worker_gone", "message": message, "worker": self.worker}


def heard_within(desk: Desk) -> float:
    """Return the seconds within which a worker that is up was heard of."""
    return max(LEAST_HEARD, desk.lease).total_seconds()


def forsaken(desk: Desk, ids: Sequence[int] | None = None) -> list[Forsaken]:
    """Return such steps of some executions, or of all."""
    values = {"ids": None if ids is None else list(ids), "lease": heard_within(desk)}
    return [Forsaken(*row) for row in desk.ask(SQL, "forsaken", **values)]


__all__ = ["LEAST_HEARD", "Forsaken", "forsaken", "heard_within"]
