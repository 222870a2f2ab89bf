"""Where steps wait when they are ready: their queue, their rank, what they must not crowd, and what
their lease means. Decides nothing of a single execution.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.queue.pools import aside, queue_name

WRITES, ARMED_LATER, CHECKED, IDEMPOTENT = 1, 2, 3, 4
ASIDE = -10_000
"""The priority of executions that nobody but their starter may work on; people cannot give it."""
_COMPUTING = frozenset({"python", "duckdb", "save.duckdb", "save.python", "floorplan"})


@dataclass(frozen=True, slots=True)
class Lane:
    """Where a step waits when it is ready."""

    pool: str = ""
    rank: int = 0
    limits: tuple[str, ...] = ()
    maxes: tuple[int, ...] = ()
    writes: int = 0

    def moved(self, priority: int) -> "Lane":
        """Return the lane of an execution with a priority of its own."""
        if priority == ASIDE:
            return replace(self, pool=aside(self.pool))
        return replace(self, rank=self.rank - priority) if priority else self

    @property
    def judging(self) -> "Lane":
        """The lane for an answer that is only judged: a lease from it announces no write."""
        return replace(self, writes=ARMED_LATER) if self.writes else self

    @property
    def queue(self) -> str:
        """The queue's name: that of the pool, or of the limits, which only the limits open."""
        return f"={'+'.join(self.limits)}@{self.pool}" if self.limits else self.pool


def demand_open(execution_id: int, priority: int) -> None:
    """Refuse to begin anew what nobody but its starter may work on."""
    if priority == ASIDE:
        raise NotAllowed(
            f"execution {execution_id} belongs to a cassette: only the 'run' that recorded it or"
            " played it back could work on it; start the playbook anew with 'run'"
        )


def lane_of(
    step: Mapping[str, Any], plan: Mapping[str, Any], *, writes: bool, computes: bool = False
) -> Lane:
    """Return the lane of a step of a plan; a type that is not built in says whether it computes."""
    said = step.get("pool")
    pool = queue_name(
        said if isinstance(said, str) else "",
        plan["format"],
        computes=computes or step["type"] in _COMPUTING,
    )
    names, maxes = _limits(step, plan["options"])
    priority = step.get("priority", 0)
    rank = -priority if isinstance(priority, int) else 0
    how = 0
    if writes:
        how = IDEMPOTENT if step.get("idempotent") is True else WRITES
        how = CHECKED if how == WRITES and "check" in step else how
    if step["type"] == "save.postgres":
        how = IDEMPOTENT
    if step["type"] == "turn.call" and any(one.get("writes") for one in plan["tools"].values()):
        how = ARMED_LATER
    return Lane(pool, rank, names, maxes, how)


def _limits(
    step: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return what a step must not crowd, by name in order, and how many there may be."""
    said = step.get("limits")
    if not said:
        return (), ()
    declared = options.get("limits", {})
    found: dict[str, int] = {}
    for one in said if isinstance(said, list) else [said]:
        name, most = (one, None) if isinstance(one, str) else (one["name"], one.get("max"))
        found[name] = declared.get(name, 1) if most is None else most
    names = tuple(sorted(found))
    return names, tuple(found[name] for name in names)


__all__ = [
    "ARMED_LATER",
    "ASIDE",
    "CHECKED",
    "IDEMPOTENT",
    "WRITES",
    "Lane",
    "demand_open",
    "lane_of",
]
