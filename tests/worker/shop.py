"""Run playbooks to their end with real workers in this process, on a real Postgres."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.run import World, item_name
from noetl_mcp.broker.starts import Starts
from noetl_mcp.catalog.catalog import Catalog
from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.tasks.calls import Call, Failed, Task, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.specs_compute import NoopSettings
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.worker import Equipment, Worker

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: tests/t}\n"
Answer = Callable[[Call], Awaitable[Json]]


class Does:
    """A task type whose answers are a function of the call."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[Call] = []

    async def execute(self, call: Call) -> Json:
        self.calls.append(call)
        return await self.answer(call)

    async def close(self) -> None:
        """Nothing to let go of."""


async def echo(call: Call) -> Json:
    """Answer with the input; do as it says: fail, fail so many times, sleep, lose the answer."""
    said = call.input if isinstance(call.input, dict) else {}
    if "sleep" in said:
        await asyncio.sleep(float(str(said["sleep"])))
    if said.get("lose"):
        raise UnknownOutcome("lost", "nobody knows")
    if call.attempt <= int(str(said.get("fails", 0))):
        raise Failed("unlucky", f"attempt {call.attempt} failed")
    return said


@dataclass
class Done:
    """How an execution ended."""

    id: int
    status: str
    result: Json
    error: Mapping[str, Any] | None
    steps: dict[str, str]
    rows: dict[str, tuple[Any, ...]]


@dataclass
class Shop:
    """A catalog, starts and workers on one database."""

    dsn: str
    lives: Path
    echo: Does = field(default_factory=lambda: Does(echo))
    change: Does = field(default_factory=lambda: Does(echo))
    secrets: World = field(default_factory=World)
    lease: float = 15.0
    connections: list[Connection[TupleRow]] = field(default_factory=list)

    def __post_init__(self) -> None:
        own: dict[str, TaskSpec] = {
            "echo": TaskSpec("echo", "Give the input back.", NoopSettings),
            "change": TaskSpec(
                "change", "Write.", NoopSettings, writes=writes, unknown_outcome="in_doubt"
            ),
        }
        self.specs = {**known_tasks(), **own}
        self.records = Records(self.connect("shop"))
        self.programs: dict[int, Program] = {}

    def connect(self, purpose: str) -> Connection[TupleRow]:
        return connect(self.dsn, application_name=purpose)

    def close(self) -> None:
        self.records.connection.close()

    def bench(self) -> Bench:
        more: dict[str, Callable[[], Task]] = {
            "echo": lambda: self.echo,
            "change": lambda: self.change,
        }
        return Bench(more=more, children=2)

    def submit(self, text: str) -> tuple[Program, int]:
        """Keep a playbook; one without a head gets one."""
        whole = text if "apiVersion" in text else HEAD + text
        loaded = load_bytes(whole.encode(), "test.yaml")
        kept = Catalog(self.records.connection, self.specs).submit(loaded)
        plan = decode(self.records.plan(kept.plan_id))
        program = Program(plan, self.specs, kept.plan_id)
        return program, kept.version

    def start(self, text: str, payload: Mapping[str, Any] | None = None, **said: Any) -> int:
        """Start a playbook."""
        program, version = self.submit(text)
        starts = Starts(self.records, self.secrets)
        one = starts.prepare(program, payload or {}, version=version, **said)
        return starts.start([one])[0][0]

    def run(self, text: str, payload: Mapping[str, Any] | None = None, **said: Any) -> Done:
        """Run a playbook to its end with one worker."""
        number = self.start(text, payload, **said)

        async def work() -> None:
            async with self.worker():
                await self.until(lambda: self.status(number) != Status.RUNNING)

        asyncio.run(work())
        return self.done(number)

    @asynccontextmanager
    async def worker(self, **terms: Any):  # type: ignore[no-untyped-def]  # yields a Worker
        """Have a worker at work."""
        bench = self.bench()
        equipment = Equipment(
            self.connect,
            self.specs,
            bench.task,
            self.lives,
            world=self.secrets,
            rules=Rules(lease_seconds=self.lease),
            terms=Terms(lease=timedelta(seconds=self.lease), **terms),
        )
        worker = Worker(equipment)
        task = asyncio.create_task(worker.run())
        while worker.engine is None and not task.done():
            await asyncio.sleep(0.005)
        try:
            yield worker
        finally:
            if not task.done():
                worker.engine.stop()
                for held in list(worker.engine.held.values()):
                    if held.task is not None:
                        held.task.cancel()
            await task
            await bench.close()

    async def until(self, holds: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.01)

    def status(self, number: int) -> int:
        found = self.records.ended(number)
        assert found is not None
        return found[0]

    def state(self, number: int, name: str) -> str:
        """Return how a step stands."""
        return self.done(number).steps.get(name, "unknown")

    def done(self, number: int) -> Done:
        """Return how an execution stands."""
        found = self.records.ended(number)
        assert found is not None
        status, result, error = found
        rows = self.records.connection.execute(
            "select p.name, s.item, s.state, s.attempt, s.result, s.error, s.extra, s.live"
            " from noetl.step s join noetl.execution e on e.id = s.execution_id"
            " join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = s.idx"
            " where s.execution_id = %s order by s.idx, s.item",
            (number,),
        ).fetchall()
        named = {
            row[0] if not row[1] else f"{row[0]}[{item_name(row[1])}]": row[2:] for row in rows
        }
        return Done(
            number,
            Status(status).name.lower(),
            None if result is None else orjson.loads(self.records.whole(result)),
            None if error is None else orjson.loads(error),
            {name: State(row[0]).name.lower() for name, row in named.items()},
            named,
        )

    def kinds(self, number: int, name: str | None = None) -> list[str]:
        """Return the kinds of an execution's events, or of one step's, in their order."""
        rows = self.records.connection.execute(
            "select k.name, p.name from noetl.event v join noetl.event_kind k using (kind)"
            " join noetl.execution e on e.id = v.execution_id"
            " left join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = v.idx"
            " where v.execution_id = %s order by v.id",
            (number,),
        ).fetchall()
        return [kind for kind, step in rows if name is None or step == name]
