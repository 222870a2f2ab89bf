"""Decide whether a failed attempt is tried again, and after how long. Pure but for chance."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.asked import Asked, openly, truth
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.run import Run
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Lease
from noetl_mcp.worker.settle import Fault

FORBIDDEN = frozenset(("read-only", "unconfirmed"))
"""Failures of what may not be done here: every further attempt would meet the same."""
_NUMBERS = ("max_attempts", "initial_delay", "backoff_multiplier", "max_delay", "jitter")


@dataclass(frozen=True, slots=True)
class Again:
    """Another attempt, after so many seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Policy:
    """What a step says about trying again."""

    node: Node
    said: Mapping[str, Any] = field(default_factory=dict)

    def asks(self, asked: Asked, lease: Lease, fault: Fault) -> Again | None:
        """Return when the next attempt is due, or None when there is none."""
        tree = self.node.care.get("retry")
        if tree is None or fault.code in FORBIDDEN:
            return None
        scope = asked.scope(self.node)
        said = tree.render(scope)
        openly(said, _NUMBERS)
        made = lease.attempt - lease.crashes - _before(lease)
        if made >= int(said.get("max_attempts", 3)):
            return None
        if truth(said.get("stop_when", False)):
            return None
        if "retry_when" in said:
            if not truth(said["retry_when"]):
                return None
        elif not fault.retriable:
            return None
        first = float(said.get("initial_delay", 1.0))
        factor = float(said.get("backoff_multiplier", 2.0))
        wait = min(first * factor ** (made - 1), float(said.get("max_delay", 60.0)))
        if said.get("jitter"):
            wait *= random.uniform(0.5, 1.0)
        return Again(max(wait, fault.retry_after or 0.0))


def _before(lease: Lease) -> int:
    """Return how many attempts former rounds of a repeated step took."""
    kept = decode(lease.note) if lease.note else None
    return int(kept.get("attempt", 0)) if isinstance(kept, dict) else 0


def policy_of(node: Node, run: Run, item: int, payload: Mapping[str, Any]) -> Policy:
    """Return what a step says about trying again."""
    return Policy(node)


__all__ = ["Again", "Policy", "policy_of"]
