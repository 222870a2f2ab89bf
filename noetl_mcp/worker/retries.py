"""Decide whether a failed attempt is tried again, and after how long. Pure but for chance."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.asked import Asked, truth
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.run import Run
from noetl_mcp.playbook.care import Retry
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Lease
from noetl_mcp.worker.again import fitted_retry
from noetl_mcp.worker.settle import Fault

FORBIDDEN = frozenset(("read-only", "unconfirmed"))
"""Failures of what may not be done here: every further attempt would meet the same."""


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
        bounds = fitted_retry(said, self.node.name)
        made = lease.attempt - lease.crashes - _before(lease)
        if made >= bounds.max_attempts:
            return None
        if truth(said.get("stop_when", False)):
            return None
        if "retry_when" in said:
            if not truth(said["retry_when"]):
                return None
        elif not fault.retriable:
            return None
        wait = _grown(bounds, made)
        if bounds.jitter:
            wait *= random.uniform(0.5, 1.0)
        return Again(max(wait, fault.retry_after or 0.0))


def _grown(bounds: Retry, made: int) -> float:
    """Return the wait after so many attempts."""
    try:
        grown = bounds.initial_delay * bounds.backoff_multiplier ** (made - 1)
    except OverflowError:
        return bounds.max_delay if bounds.initial_delay else 0.0
    return float(min(grown, bounds.max_delay))


def _before(lease: Lease) -> int:
    """Return how many attempts former rounds of a repeated step took."""
    kept = decode(lease.note) if lease.note else None
    return int(kept.get("attempt", 0)) if isinstance(kept, dict) else 0


def policy_of(node: Node, run: Run, item: int, payload: Mapping[str, Any]) -> Policy:
    """Return what a step says about trying again."""
    return Policy(node)


__all__ = ["Again", "Policy", "policy_of"]
