"""Read how far an execution is, cheaply enough to ask again and again. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from noetl_mcp.broker.refusals import Unknown
from noetl_mcp.broker.run import item_name
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.diagnostics import closest
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State, Status

SQL = statements(__file__, "progress.sql")
SETTLED = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.CANCELLED, State.DEAD})


class Standing(NamedTuple):
    """How an execution stands; `halt` says why nothing further of it begins."""

    status: int
    outcome: int
    path: str | None
    version: int | None
    plan: int
    halt: int | None
    started: datetime
    ended: datetime | None

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return self.status != Status.RUNNING


class Step(NamedTuple):
    """One step as it stands now."""

    idx: int
    item: int
    state: int
    attempt: int
    ready_at: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    error: str | None
    note: str | None
    is_answered: bool = False
    """It waits no more for anybody: what it waited for is there."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in SETTLED

    @property
    def fault(self) -> Mapping[str, Any]:
        """Its error, read."""
        return decode(self.error) if self.error else {}

    @property
    def waits_for(self) -> Mapping[str, Any]:
        """What it is parked for, read."""
        said = decode(self.note) if self.note else {}
        return said if isinstance(said, dict) else {}


class Fan(NamedTuple):
    """How far an iterator is."""

    idx: int
    total: int
    ended: int
    failed: int


class Begun(NamedTuple):
    """Where the present round of an execution begins: after an event, and when."""

    event: int
    at: datetime


class Told(NamedTuple):
    """What is told: a line that was printed, a further attempt, or how a doubt was settled."""

    id: int
    kind: int
    idx: int | None
    item: int | None
    attempt: int | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a plan's steps, and which of them the compiler added."""

    names: Sequence[str]
    hidden: frozenset[int]
    iterators: Mapping[int, int] = field(default_factory=dict)
    """By the only step that an iterator does for its items: that iterator, which names them."""

    def of(self, idx: int, item: int = 0) -> str:
        """Return how a step is written: `each`, or `each[3]` for an item."""
        said = item_name(item)
        return self.names[idx] if said is None else f"{self.names[self.shown(idx)]}[{said}]"

    def shown(self, idx: int) -> int:
        """Return the step under whose name the items of a step are known."""
        return self.iterators.get(idx, idx)


class Progress:
    """Reads one execution through one connection."""

    def __init__(self, connection: Connection[TupleRow], execution_id: int) -> None:
        self.connection = connection
        self.id = execution_id

    def _rows(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(SQL[name].encode(), {"id": self.id, **values}).fetchall()

    def standing(self) -> Standing | None:
        """Return how it stands; None when there is no such execution."""
        rows = self._rows("execution")
        return Standing(*rows[0]) if rows else None

    def names(self, plan: int) -> Names:
        """Return the names of its steps."""
        steps = self._plan(plan)
        hidden = frozenset(n for n, step in enumerate(steps) if step.get("hidden"))
        inside: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            if "within" in step and "speaks_for" not in step:
                inside.setdefault(step["within"], []).append(number)
        alone = {own[0]: iterator for iterator, own in inside.items() if len(own) == 1}
        return Names([step["name"] for step in steps], hidden, alone)

    def begun(self) -> Begun | None:
        """Return where its present round begins; None in the first one."""
        rows = self._rows("begun")
        return Begun(*rows[0]) if rows else None

    def plan_pools(self, plan: int) -> tuple[str, ...]:
        """Return the pools that its steps ask for, the usual one among them."""
        said = (step.get("pool") for step in self._plan(plan))
        return tuple(sorted({"", *(pool for pool in said if isinstance(pool, str))}))

    def _plan(self, number: int) -> list[dict[str, Any]]:
        rows = self._rows("plan", plan=number)
        found: list[dict[str, Any]] = decode(rows[0][0])["steps"] if rows else []
        return found

    def steps(self) -> list[Step]:
        """Return the steps outside of iterators, and those inside that wait for something."""
        return [Step(*row) for row in self._rows("steps")]

    def began(self) -> dict[int, datetime]:
        """Return when steps outside of iterators began, as their events tell."""
        return {idx: at for idx, at in self._rows("began") if at is not None}

    def fans(self) -> list[Fan]:
        """Return how far iterators are."""
        return [Fan(*row) for row in self._rows("fans")]

    def told(self, after: int) -> list[Told]:
        """Return what was printed, tried again and settled since an event."""
        return [
            Told(number, kind, idx, item, attempt, decode(data) if data else {})
            for number, kind, idx, item, attempt, data in self._rows("told", after=after)
        ]

    def pools(self) -> set[str]:
        """Return the pools in which steps wait."""
        return {row[0] for row in self._rows("pools")}

    def family(self) -> tuple[int, ...]:
        """Return the execution and those that were started for it."""
        return tuple(row[0] for row in self._rows("family"))

    def last_words(self, idx: int, item: int, most: int) -> list[str]:
        """Return what a step printed last, the oldest line first."""
        rows = self._rows("last_words", idx=idx, item=item, most=most)
        return [str(decode(row[0]).get("text", "")) for row in reversed(rows) if row[0]]


def names_in_log(progress: Progress, step: str) -> tuple[str, ...]:
    """Return the names under which a step stands in the log: an item's iterator, and what it does.

    `step` may name an item: `each[3]`. Raises Unknown for a step that the playbook does not have.
    """
    standing = progress.standing()
    if standing is None:
        raise Unknown("there is no such execution")
    names = progress.names(standing.plan)
    name, bracket, item = step.partition("[")
    if name not in names.names:
        near = closest(name, [one for one in names.names if not one.startswith("$")])
        more = f"; did you mean '{near}'?" if near else ""
        raise Unknown(f"the playbook has no step '{name[:200]}'{more}")
    same = {name, names.names[names.shown(names.names.index(name))]}
    same |= {names.names[one] for one, by in names.iterators.items() if names.names[by] in same}
    return tuple(sorted(f"{one}{bracket}{item}" for one in same))


__all__ = [
    "SETTLED",
    "Begun",
    "Fan",
    "Names",
    "Progress",
    "Standing",
    "Step",
    "Told",
    "names_in_log",
]
