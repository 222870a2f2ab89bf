"""A worker of the product in a process of the benchmark, and what it spends.

The worker is the real one with its real tasks; only the type `nothing`, whose body is empty, is
added. Starts no executions.
"""

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import uvloop

from noetl_mcp.crew import FEW_QUEUED, QUEUED
from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.drain import is_drained
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.placed import calm_collector
from noetl_mcp.worker.worker import Equipment, Worker
from speed import processes
from speed.books import NOTHING, SPECS
from speed.crew import Control, together
from speed.server import Server

_LOOK = 0.02
_QUEUES = ("", "~")


class Nothing:
    """A task whose body is empty; everything around it is real."""

    async def execute(self, call: Call) -> Any:
        """Answer at once."""
        return {"a": 1}

    async def close(self) -> None:
        """Nothing to let go of."""


class Connections:
    """Opens connections, and knows the server's processes behind them."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.backends: list[int] = []

    def open(self, purpose: str) -> Connection[TupleRow]:
        """Return a new connection."""
        made = connect(self._dsn, application_name=f"bench {purpose}", statement_timeout=None)
        self.backends.append(made.info.backend_pid)
        return made

    def seconds(self) -> float:
        """Return the CPU seconds of the server's processes behind the connections."""
        return sum(processes.seconds(pid) for pid in self.backends)


def work_off(
    control: Control, *, dsn: str, lives: str, slots: int, most: int | None, computing: int
) -> Mapping[str, Any]:
    """Work until nothing is left, or so many steps are done; say what it cost."""
    calm_collector()  # as every worker process does
    return uvloop.run(_work_off(control, dsn, lives, slots, most, computing))


async def _work_off(
    control: Control, dsn: str, lives: str, slots: int, most: int | None, computing: int
) -> Mapping[str, Any]:
    nothing, connections = Nothing(), Connections(dsn)
    import_module("httpx_aiohttp")  # what the first HTTP step would load is not what is measured
    bench = Bench(children=computing or None, more={NOTHING: lambda: nothing})
    terms = Terms(
        waiting=slots,
        computing=QUEUED * computing if computing else 16,
        least_computing=FEW_QUEUED * computing if computing else None,
    )
    worker = Worker(Equipment(connections.open, SPECS, bench.task, Path(lives), terms=terms))
    bench.task("http")
    with connect(dsn, application_name="bench look") as look:
        control.ready()
        cpu, wall = time.process_time(), time.perf_counter()
        task = asyncio.create_task(worker.run())
        over = await _over(worker, task, look, most)
    if task.done():
        await task
        raise RuntimeError("the worker left before the work was done")
    engine = worker.engine
    spent = {
        "steps": engine.steps,
        "flushes": engine.line.flushes,
        "seconds": over - wall,
        "python": time.process_time() - cpu,
        "programs": processes.seconds_below(os.getpid()),
        "postgres": connections.seconds(),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    engine.stop()
    await task
    await bench.close()
    return spent


async def _over(
    worker: Worker, task: "asyncio.Task[None]", look: Connection[TupleRow], most: int | None
) -> float:
    """Wait until everything is done or enough is; return when that was."""
    steps = 0
    while not task.done():
        await asyncio.sleep(_LOOK)
        engine, now = worker.engine, time.perf_counter()
        if engine is None:
            continue
        if most is not None and engine.steps >= most:
            return now
        if engine.held or engine.steps != steps:
            steps = engine.steps
            continue
        if await asyncio.to_thread(is_drained, look, _QUEUES) and not engine.held:
            return now
    return time.perf_counter()


def worked_off(
    server: Server,
    *,
    workers: int,
    slots: int,
    seconds: float,
    most: int | None = None,
    computing: int = 0,
) -> tuple[list[dict[str, Any]], float]:
    """Have what was started worked off; return what each worker spent, and the whole server."""
    before = 0.0

    def begun() -> None:
        nonlocal before
        before = server.cpu()

    with tempfile.TemporaryDirectory() as lives:
        given = {
            "dsn": server.dsn,
            "lives": lives,
            "slots": slots,
            "most": None if most is None else most // workers,
            "computing": computing,
        }
        spent = together(work_off, [given] * workers, seconds=seconds, begun=begun)
    return spent, server.cpu() - before


def per_step(spent: Sequence[Mapping[str, Any]], server_seconds: float) -> dict[str, Any]:
    """Return what each step took of the clock and of the processors."""
    steps = sum(one["steps"] for one in spent)
    seconds = max(one["seconds"] for one in spent)

    def each(name: str) -> float:
        return round(sum(one[name] for one in spent) / steps * 1e6, 1)

    found = {
        "processes": len(spent),
        "steps": steps,
        "seconds": round(seconds, 2),
        "steps_per_s": round(steps / seconds),
        "python_us": each("python"),
        "postgres_us": each("postgres"),
        "whole_server_us": round(server_seconds / steps * 1e6, 1),
        "steps_per_flush": round(steps / max(1, sum(one["flushes"] for one in spent)), 1),
        "rss_mb": round(max(one["rss_mb"] for one in spent)),
    }
    if each("programs") >= 0.1:
        found["programs_us"] = each("programs")
    return found


__all__ = ["Connections", "Nothing", "per_step", "work_off", "worked_off"]
