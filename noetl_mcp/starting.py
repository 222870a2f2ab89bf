"""Start playbooks for the faces: from the catalog or from a text, one or many, each key once.

What does not fit is refused before anything is written. Waits for no execution.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from noetl_mcp.broker import starts
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.guards import Guards, demand_free
from noetl_mcp.broker.pinning import pinned
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Records
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.run import World
from noetl_mcp.broker.starts import CHILD_KEY, Starts
from noetl_mcp.catalog.catalog import Catalog, Kept
from noetl_mcp.compiler.payload import WrongPayload, with_sets
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.playbook.load import Loaded
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Status
from noetl_mcp.queue.pools import pools_of
from noetl_mcp.tasks.registry import known_tasks

MOST_PROGRAMS = 200
LEAST_PRIORITY, MOST_PRIORITY = -100, 100


class NoSuchPlaybook(Exception):
    """The catalog has no such playbook, or no such version of it."""


class KeyTaken(NotAllowed):
    """A key belongs to an execution of another playbook."""


class WrongOrder(Exception):
    """One of many orders is refused; it says which, and why."""

    def __init__(self, number: int, problem: Exception) -> None:
        super().__init__(f"order {number}: {problem}")
        self.number = number
        self.problem = problem


class Started(NamedTuple):
    """An execution that was asked for; `is_new` says whether this started it."""

    id: int
    is_new: bool
    path: str
    version: int
    is_same: bool = True
    """Whether it began with the values that were asked for; one with this key may not have."""
    status: str = "running"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be started with what."""

    payload: Mapping[str, Any] = field(default_factory=dict)
    sets: Sequence[str] = ()
    """Values to lay over the payload, as `--set` takes them."""
    key: str | None = None
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    on_end: str | None = None

    def values(self, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the whole payload; raise compiler.payload.WrongPayload for an unreadable value."""
        return with_sets(self.payload, self.sets, inputs)


class Starting:
    """Starts executions through one connection; plans that it knows are kept ready."""

    def __init__(
        self,
        connection: Connection[TupleRow],
        world: World | None = None,
        programs: dict[int, Program] | None = None,
        guards: Guards | None = None,
    ) -> None:
        self.connection = connection
        self.catalog = Catalog(connection, known_tasks())
        self.records = Records(connection)
        self.starts = Starts(self.records, world)
        self.guards = guards or Guards()
        self.pools: set[str] = set()
        """Where the steps of what was started will wait."""
        self._programs: dict[int, Program] = {} if programs is None else programs

    def submit(self, loaded: Loaded) -> Kept:
        """Keep a playbook; raise compile.Broken when it does not compile."""
        return self.catalog.submit(loaded)

    def find(self, path: str, version: int | None = None) -> Kept:
        """Return a playbook of the catalog; raise NoSuchPlaybook with the nearest name."""
        found = self.records.playbook(path, version)
        if found is not None:
            return Kept(path, found[1], found[0], "", is_new=False)
        from noetl_mcp.diagnostics import closest

        versions = [row[0] for row in self.catalog.versions(path)]
        if versions:
            raise NoSuchPlaybook(
                f"playbook '{path}' has no version {version}, only {_all(versions[0])}"
            )
        near = closest(path, [row[0] for row in self.catalog.paths()])
        more = f"; did you mean '{near}'?" if near else ""
        raise NoSuchPlaybook(f"playbook '{path}' is not in the catalog{more}")

    def file_and_start(self, loaded: Loaded, order: Order) -> Started:
        """Submit a playbook and start it, both or neither."""
        with self.connection.transaction():
            return self.start(self.submit(loaded), [order])[0]

    def start(self, kept: Kept, orders: Sequence[Order], *, apart: bool = False) -> list[Started]:
        """Start executions of one playbook.

        Raises WrongPayload when one of them does not fit, CannotRun when a step could never be
        done, and KeyTaken when a key belongs to an execution of another playbook; in a transaction
        none is started then. With
        `apart` they come as WrongOrder, which says of which order it is.
        """
        program = self.program(kept.plan_id)
        pins = pinned(program, self.records.playbook, self.program)
        text = encode(dict(sorted(pins.items()))) if pins else None
        begins = list[Begin]()
        for number, order in enumerate(orders):
            with _of_order(number if apart else None):
                begins.append(self._begin(program, kept, order, text))
        found = self.starts.start(begins)
        self.pools.update(pools_of(node.lane.pool for node in program.nodes))
        there = self._were_there(begins, found, apart=apart)
        return [
            Started(number, new, kept.path, kept.version, *there.get(number, ()))
            for number, new in found
        ]

    def _were_there(
        self, begins: Sequence[Begin], found: Sequence[tuple[int, bool]], *, apart: bool
    ) -> dict[int, tuple[bool, str]]:
        """Tell of executions that were there whether they began with the same, and their status."""
        old = {number: one for one, (number, new) in zip(begins, found, strict=True) if not new}
        there: dict[int, tuple[bool, str]] = {}
        for number, context in self.records.contexts(list(old)).items() if old else ():
            one = old[number]
            if context.path != one.path:
                with _of_order(begins.index(one) if apart else None):
                    raise KeyTaken(
                        f"key '{one.key}' belongs to execution {number} of '{context.path}'; an"
                        f" execution of '{one.path}' needs another"
                    )
            status = Status(context.status).name.lower()
            there[number] = (context.payload == one.payload, status)
        return there

    def _demand_own_key(self, key: str | None) -> None:
        if key is not None and key.startswith(CHILD_KEY):
            raise KeyTaken(f"keys that begin with '{CHILD_KEY}' are those of sub-playbooks")

    def _begin(self, program: Program, kept: Kept, order: Order, pins: str | None) -> Begin:
        self._demand_own_key(order.key)
        demand_free(order.labels)
        labels = {**order.labels, **self.guards.labels}
        return self.starts.prepare(
            program,
            order.values(program.plan["inputs"]) if order.sets else order.payload,
            version=kept.version,
            priority=order.priority,
            key=order.key,
            labels=encode(labels) if labels else None,
            on_end=order.on_end,
            pins=pins,
        )

    def program(self, plan: int) -> Program:
        """Return a plan made ready; read once."""
        found = self._programs.get(plan)
        if found is None:
            if len(self._programs) >= MOST_PROGRAMS:
                self._programs.clear()
            found = Program(decode(self.records.plan(plan)), self.catalog.tasks, plan)
            self._programs[plan] = found
        return found


@contextmanager
def _of_order(number: int | None) -> Iterator[None]:
    """Say with what is refused of which order it is, when it is one of many."""
    try:
        yield
    except (NotAllowed, WrongPayload, starts.WrongPayload) as problem:
        if number is None:
            raise
        raise WrongOrder(number, problem) from problem


def _all(newest: int) -> str:
    return "1" if newest == 1 else f"1 to {newest}"


def seal_of(secret: bytes) -> str:
    """Return the text from which workers and faces derive the same tokens."""
    return secret.hex()


def awaken_sleepers(broker: str, desk: Desk) -> None:
    """Tell such a fleet about what was decided at a desk, if anything was."""
    if broker != "postgres" and desk.has_decided:
        desk.has_decided = False
        awaken(broker, desk.sleeping())


def awaken(broker: str, pools: Collection[str]) -> None:
    """Tell a fleet whose hints do not come from Postgres that there is work in pools."""
    if broker == "postgres" or not pools:
        return
    from noetl_mcp.worker.pool import announce  # only here: it loads dramatiq

    announce(broker, pools)


__all__ = [
    "LEAST_PRIORITY",
    "MOST_PRIORITY",
    "NoSuchPlaybook",
    "Order",
    "Started",
    "Starting",
    "WrongOrder",
    "awaken",
    "awaken_sleepers",
    "seal_of",
]
