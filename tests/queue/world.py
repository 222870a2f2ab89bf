"""One small world for the exam of queues: executions, lanes and two workers, in any queue."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from noetl_mcp.broker.lanes import Lane
from noetl_mcp.broker.records import Begin, Records
from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.queue.lease import Flush, Flushed, Lease, Queue, Settled, State, Token, Wish
from noetl_mcp.queue.memory import MemoryQueue, Place, Row, Store
from noetl_mcp.queue.postgres import PostgresQueue

DONE, PARKED_KIND = 15, 19


class World(Protocol):
    """What the exam does with a queue."""

    def worker(self) -> Queue: ...
    def lane(self, name: str = "", limit: int | None = None) -> int: ...
    def start(self, *steps: tuple[int, int]) -> int: ...
    def state(self, execution_id: int, idx: int, item: int = 0) -> tuple[int, int, int]: ...
    def status(self, execution_id: int) -> int: ...
    def pause(self, execution_id: int) -> None: ...


@dataclass
class InMemory:
    store: Store = field(default_factory=Store)
    workers: int = 0

    def worker(self) -> Queue:
        self.workers += 1
        return MemoryQueue(self.store, self.workers)

    def lane(self, name: str = "", limit: int | None = None) -> int:
        number = len(self.store.lanes)
        limits = {} if limit is None else {"revit": limit}
        queue = name if limit is None else f"=revit@{name}"
        self.store.lanes[number] = Place(queue, 0, limits)
        return number

    def start(self, *steps: tuple[int, int]) -> int:
        begins = [(idx, Row(State.READY, lane, live=1)) for idx, lane in steps]
        return self.store.start(1, "{}", begins)

    def state(self, execution_id: int, idx: int, item: int = 0) -> tuple[int, int, int]:
        row = self.store.steps[execution_id, idx, item]
        return int(row.state), row.toward, row.live

    def status(self, execution_id: int) -> int:
        return int(self.store.executions[execution_id].status)

    def pause(self, execution_id: int) -> None:
        self.store.halts[execution_id] = 1


@dataclass
class InPostgres:
    dsn: str
    connections: list[Connection[TupleRow]] = field(default_factory=list)
    plan: int = 0

    def connect(self) -> Connection[TupleRow]:
        made = connect(self.dsn, application_name="exam")
        self.connections.append(made)
        return made

    def close(self) -> None:
        for one in self.connections:
            one.close()

    @property
    def own(self) -> Connection[TupleRow]:
        return self.connections[0] if self.connections else self.connect()

    def worker(self) -> Queue:
        connection = self.connect()
        row = connection.execute(
            "insert into noetl.worker (epoch, plan_format, pools, host, boot, pid)"
            " values (7, 1, '{}', 'here', '', 1) returning id"
        ).fetchone()
        assert row is not None
        return PostgresQueue(connection, row[0], 7)

    def lane(self, name: str = "", limit: int | None = None) -> int:
        limits = ((), ()) if limit is None else (("revit",), (limit,))
        lane = Lane(name, 0, *limits)
        return Records(self.own).lanes([lane])[lane]

    def start(self, *steps: tuple[int, int]) -> int:
        if not self.plan:
            row = self.own.execute(
                "insert into noetl.plan (digest, format, content) values ('x', 1, '{}')"
                " returning id"
            ).fetchone()
            assert row is not None
            self.plan = row[0]
        rows = [(idx, 1, lane, 0, 0, 1, None, None) for idx, lane in steps]
        begin = Begin(self.plan, "{}", "exam", 1, rows)
        return Records(self.own).start([begin])[0][0]

    def state(self, execution_id: int, idx: int, item: int = 0) -> tuple[int, int, int]:
        row = self.own.execute(
            "select state, toward, live from noetl.step"
            " where execution_id = %s and idx = %s and item = %s",
            (execution_id, idx, item),
        ).fetchone()
        assert row is not None
        return row[0], row[1], row[2]

    def status(self, execution_id: int) -> int:
        row = self.own.execute(
            "select status from noetl.execution where id = %s", (execution_id,)
        ).fetchone()
        assert row is not None
        return int(row[0])

    def pause(self, execution_id: int) -> None:
        self.own.execute(
            "insert into noetl.halt (execution_id, kind) values (%s, 1)", (execution_id,)
        )


def settled(lease: Lease, state: State = State.DONE, **said: Any) -> Settled:
    """Say what became of a leased step."""
    made = Settled(*lease.key, lease.lease, state, DONE, lease.attempt, lane=lease.lane)
    return made._replace(**said)


def token(execution_id: int, idx: int, lane: int, **said: Any) -> Token:
    """Say that the only way to a step is decided, and brings control."""
    made = Token(execution_id, idx, 0, 1, 1, 1, lane, keep=True)
    return made._replace(**said)


def take(queue: Queue, want: int = 10, pool: str = "") -> Flushed:
    """Take what is ready."""
    return queue.flush(Flush(), Wish((pool,), (want,)))
