"""Measure the engine: rates with CPU per step beside them, in one run, as JSON.

    python benchmarks/engine.py [chain] [single] [lone] [latency] [http] [python] [waiting] [idle]

Uses a durable embedded server of its own, or the one of `--dsn` (its database is filled!). Peers
that are installed (pgqueuer, procrastinate) run next to us with `--peers`.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.starts import Starts
from noetl_mcp.catalog.catalog import Catalog
from noetl_mcp.database import Connection, TupleRow, connect, migrate
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.queue.encode import decode
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.specs_compute import NoopSettings
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.worker import Equipment, Worker

SPECS = {
    **known_tasks(),
    "nothing": TaskSpec("nothing", "Do nothing, by the whole way.", NoopSettings),
}
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: b, path: bench/%s}\nworkflow:\n"
TICK = os.sysconf("SC_CLK_TCK")


class Nothing:
    """A task whose body is empty; everything around it is real."""

    async def execute(self, call: Call) -> Any:
        return {"a": 1}

    async def close(self) -> None:
        """Nothing to let go of."""


def open_connection(dsn: str, purpose: str) -> Connection[TupleRow]:
    return connect(dsn, application_name=f"bench {purpose}", statement_timeout=None)


def chain(steps: int, kind: str = "nothing", more: str = "") -> str:
    lines = []
    for number in range(steps):
        name = "start" if number == 0 else f"s{number}"
        on = f", next: [s{number + 1}]" if number < steps - 1 else ""
        lines.append(f"  - {{step: {name}, type: {kind}{more}{on}}}\n")
    return HEAD % f"{kind}{steps}" + "".join(lines)


def begin(dsn: str, text: str, executions: int) -> tuple[list[int], float]:
    """Start executions; return their numbers and how many were started a second."""
    with open_connection(dsn, "start") as connection:
        records = Records(connection)
        loaded = load_bytes(text.encode(), "bench.yaml")
        kept = Catalog(connection, SPECS).submit(loaded)
        program = Program(decode(records.plan(kept.plan_id)), SPECS, kept.plan_id)
        starts = Starts(records)
        begun = time.perf_counter()
        prepared = [starts.prepare(program, {}, version=kept.version) for _ in range(executions)]
        numbers = [number for number, _ in starts.start(prepared)]
        return numbers, executions / (time.perf_counter() - begun)


def backend_seconds(connection: Connection[TupleRow] | None) -> float:
    """Return the CPU seconds of the server's process behind a connection."""
    if connection is None:
        return 0.0
    try:
        fields = Path(f"/proc/{connection.info.backend_pid}/stat").read_text().rsplit(")", 1)[1]
    except OSError:
        return 0.0
    parts = fields.split()
    return (int(parts[11]) + int(parts[12])) / TICK


async def work_off(
    dsn: str, lives: str, slots: int, ready: Any, told: Any, computing: int = 16
) -> None:
    """Work until nothing is left, and tell what it cost."""
    nothing = Nothing()
    bench = Bench(more={"nothing": lambda: nothing})
    worker = Worker(
        Equipment(
            lambda purpose: open_connection(dsn, purpose),
            SPECS,
            bench.task,
            Path(lives),
            terms=Terms(waiting=slots, computing=computing),
        )
    )
    with open_connection(dsn, "look") as look:
        ready.wait()
        cpu, wall = time.process_time(), time.perf_counter()
        task = asyncio.create_task(worker.run())
        over = wall
        while not task.done():
            await asyncio.sleep(0.05)
            row = look.execute(
                "select exists(select from noetl.begun) or exists(select from noetl.ready)"
                " or exists(select from noetl.timer)"
            ).fetchone()
            if row is not None and not row[0]:
                over = time.perf_counter()
                break
        queue = worker.engine.line._queue
        records = worker._records
        spent = {
            "steps": worker.engine.steps,
            "flushes": worker.engine.line.flushes,
            "seconds": over - wall,
            "python": time.process_time() - cpu,
            "postgres": backend_seconds(queue.connection if queue else None)
            + backend_seconds(records.connection if records else None),
            "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        worker.engine.stop()
        await task
    await bench.close()
    told.put(spent)


def _child(dsn: str, lives: str, slots: int, ready: Any, told: Any) -> None:
    uvloop.run(work_off(dsn, lives, slots, ready, told))


def measured(dsn: str, processes: int, slots: int) -> list[dict[str, float]]:
    """Let so many processes work off what was started."""
    context = multiprocessing.get_context("spawn")
    ready, told = context.Event(), context.Queue()
    with tempfile.TemporaryDirectory() as lives:
        children = [
            context.Process(target=_child, args=(dsn, lives, slots, ready, told))
            for _ in range(processes)
        ]
        for child in children:
            child.start()
        time.sleep(1.5)  # imports are not what is measured
        ready.set()
        found = [told.get(timeout=600) for _ in children]
        for child in children:
            child.join()
    return found


def rate(dsn: str, text: str, executions: int, processes: int, slots: int = 500) -> dict[str, Any]:
    """Return steps a second and the CPU that each took."""
    _, submitted = begin(dsn, text, executions)
    spent = measured(dsn, processes, slots)
    steps = sum(one["steps"] for one in spent)
    seconds = max(one["seconds"] for one in spent)
    return {
        "executions": executions,
        "processes": processes,
        "steps": steps,
        "steps_per_s": round(steps / seconds),
        "executions_per_s": round(executions / seconds),
        "python_us": round(sum(one["python"] for one in spent) / steps * 1e6, 1),
        "postgres_us": round(sum(one["postgres"] for one in spent) / steps * 1e6, 1),
        "steps_per_flush": round(steps / sum(one["flushes"] for one in spent), 1),
        "submitted_per_s": round(submitted),
        "rss_mb": round(max(one["rss_mb"] for one in spent)),
    }


def lone(dsn: str) -> dict[str, Any]:
    """One execution of many steps: every step waits for its own flush."""
    with open_connection(dsn, "wal") as connection:

        def flushes() -> int:
            row = connection.execute("select wal_sync from pg_stat_wal").fetchone()
            return int(row[0]) if row else 0

        try:
            before = flushes()
        except Exception:  # noqa: BLE001 - newer servers count elsewhere
            before = -1
        found = rate(dsn, chain(300), 1, 1)
        if before >= 0:
            time.sleep(1.2)
            found["wal_flushes_per_step"] = round((flushes() - before) / found["steps"], 2)
    found["ms_per_step"] = round(1000 / found["steps_per_s"], 3)
    return found


async def _latency(dsn: str, rounds: int) -> dict[str, Any]:
    begun: dict[int, float] = {}

    class Notes:
        async def execute(self, call: Call) -> Any:
            begun[call.execution_id] = time.perf_counter()
            return None

        async def close(self) -> None:
            """Nothing to let go of."""

    notes = Notes()
    with tempfile.TemporaryDirectory() as lives, open_connection(dsn, "start") as connection:
        from noetl_mcp.worker.hints import listening

        worker = Worker(
            Equipment(lambda p: open_connection(dsn, p), SPECS, lambda kind: notes, Path(lives))
        )
        task = asyncio.create_task(worker.run())
        while worker.engine is None:
            await asyncio.sleep(0.01)
        records = Records(connection)
        kept = Catalog(connection, SPECS).submit(load_bytes(chain(1).encode(), "bench.yaml"))
        program = Program(decode(records.plan(kept.plan_id)), SPECS, kept.plan_id)
        starts = Starts(records)
        waits: list[float] = []
        with listening(dsn, worker):
            await asyncio.sleep(0.5)
            for _ in range(rounds):
                await asyncio.sleep(0.02)
                at = time.perf_counter()
                one = starts.prepare(program, {}, version=kept.version)
                number = await asyncio.to_thread(lambda one=one: starts.start([one])[0][0])
                while number not in begun:
                    await asyncio.sleep(0)
                waits.append((begun[number] - at) * 1000)
        worker.engine.stop()
        await task
    waits.sort()
    return {
        "p50_ms": round(waits[len(waits) // 2], 2),
        "p99_ms": round(waits[int(len(waits) * 0.99)], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--dsn")
    parser.add_argument("--size", type=float, default=1.0)
    args = parser.parse_args()
    if args.dsn:
        migrate(args.dsn)
        print(json.dumps(run(args.dsn, args.cases, args.size), indent=2))
        return
    from noetl_mcp.embedded.launcher import start
    from noetl_mcp.settings import Settings

    with tempfile.TemporaryDirectory(prefix="noetl-bench-") as home:
        settings = Settings.load({"NOETL_HOME": home})
        with start(settings, system=Path(home) / "system") as server:
            migrate(server.dsn)
            print(json.dumps(run(server.dsn, args.cases, args.size), indent=2))


def run(dsn: str, cases: list[str], size: float) -> dict[str, Any]:
    many: dict[str, Callable[[], Any]] = {
        "chain": lambda: rate(dsn, chain(10), int(10_000 * size), 2),
        "single": lambda: rate(dsn, chain(1), int(60_000 * size), 2),
        "lone": lambda: lone(dsn),
        "python": lambda: rate(
            dsn, chain(1, "python", ", code: 'def main(): return 1'"), int(5_000 * size), 1
        ),
    }
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    for name in cases or list(many):
        print(name, file=sys.stderr)
        found[name] = many[name]()
    return found


if __name__ == "__main__":
    main()
