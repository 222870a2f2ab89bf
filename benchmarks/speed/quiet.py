"""What happens when there is little to do: how soon a step begins, and what idling costs."""

import asyncio
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.hints import Hints
from noetl_mcp.worker.lives import Lives
from noetl_mcp.worker.worker import Equipment
from speed import processes
from speed.answering import ANSWER
from speed.books import NOTHING, SPECS, chain, ready
from speed.crew import Control, together
from speed.product import Command, command
from speed.server import Server
from speed.working import Connections

_PAUSE = 0.03
_IDLE_SECONDS = 20.0
_SAMPLES = 0.01
_LATE = 10.0
_BEGUN = (
    b"select pid, query_start from pg_stat_activity"
    b" where datname = %s and application_name like 'noetl-mcp %%' and query_start is not null"
)
_ASLEEP = "select exists (select from noetl.worker where asleep and gone_at is null)"


def latency(server: Server, size: float) -> dict[str, Any]:
    """How long after it was asked for the step of an execution begins, on workers that sleep."""
    rounds = max(20, int(500 * size))
    found = {
        "rounds": rounds,
        "in_process": together(_in_process, [{"dsn": server.dsn, "rounds": rounds}], seconds=120)[
            0
        ],
        "worker": _by_worker(server, rounds),
    }
    server.clear()
    return found


def _in_process(control: Control, *, dsn: str, rounds: int) -> Mapping[str, Any]:
    """Start and work in one process, as `run` does; the clock stops when the task is called."""
    return uvloop.run(_measured_in_process(control, dsn, rounds))


async def _measured_in_process(control: Control, dsn: str, rounds: int) -> Mapping[str, Any]:
    begun = asyncio.Queue[float]()

    class Notes:
        async def execute(self, call: Call) -> Any:
            begun.put_nowait(time.perf_counter())

        async def close(self) -> None:
            """Nothing to let go of."""

    notes, connections = Notes(), Connections(dsn)
    task: Callable[[str], Any] = {NOTHING: notes}.get
    with tempfile.TemporaryDirectory() as folder, connections.open("start") as connection:
        lives = Lives(Equipment(connections.open, SPECS, task, Path(folder)))
        hints = Hints(lambda: connections.open("hints"), lives.hear)
        life = asyncio.create_task(lives.live())
        hints.start()
        starts, program, version = ready(connection, chain(1))
        control.ready()
        waits: list[float] = []
        await asyncio.sleep(1.5)

        def start() -> None:
            starts.start([starts.prepare(program, {}, version=version)])

        for _ in range(rounds):
            await asyncio.sleep(_PAUSE)
            asked = time.perf_counter()
            await asyncio.to_thread(start)
            waits.append(await asyncio.wait_for(begun.get(), _LATE) - asked)
        lives.leave()
        await life
        await asyncio.to_thread(hints.stop)
    return spread(waits)


def _by_worker(server: Server, rounds: int) -> dict[str, Any]:
    """Have the same done by `noetl-mcp worker`: its step asks a server, which is this process."""
    waits: list[float] = []
    with (
        _bell() as (port, rung),
        server.connect("start") as connection,
        command(server, "worker", "--processes", "1") as worker,
    ):
        starts, program, version = ready(
            connection, chain(1, "http", f", url: 'http://127.0.0.1:{port}/'")
        )
        _asleep(server, worker)
        for number in range(rounds + 1):
            time.sleep(_PAUSE if number else 1.0)
            rung.clear()
            asked = time.perf_counter()
            starts.start([starts.prepare(program, {}, version=version)])
            worker.until(rung.ready, "a step has begun", _LATE)
            waits.append(rung.at - asked)
        time.sleep(0.2)
        leased = connection.execute(
            "select extract(epoch from s.leased_at - e.created_at)::float8 from noetl.step s"
            " join noetl.execution e on e.id = s.execution_id order by e.id offset 1"
        ).fetchall()
    return {
        "to_lease": spread([row[0] for row in leased]),
        "to_request": spread(waits[1:]),
    }


class _Rung:
    """When the bell was last rung."""

    def __init__(self) -> None:
        self.at = 0.0
        self._event = threading.Event()

    def ring(self) -> None:
        """Note that somebody came."""
        self.at = time.perf_counter()
        self._event.set()

    def clear(self) -> None:
        """Wait for the next one."""
        self._event.clear()

    def ready(self) -> bool:
        """Whether somebody came; waits a moment."""
        return self._event.wait(0.5)


@contextmanager
def _bell() -> Iterator[tuple[int, _Rung]]:
    """Answer requests in a thread, and note when they came."""
    rung = _Rung()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        is_over = False

        def answer() -> None:
            while True:
                caller, _ = listening.accept()
                if is_over:
                    caller.close()
                    return
                with caller:
                    while caller.recv(65_536):
                        rung.ring()
                        caller.sendall(ANSWER)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield port, rung
        finally:
            is_over = True
            with socket.create_connection(("127.0.0.1", port)):
                pass


def idle(server: Server, size: float) -> dict[str, Any]:
    """What a worker of the command line costs when there is nothing to do."""
    server.clear()
    seconds = max(5.0, _IDLE_SECONDS * min(1.0, size))
    with command(server, "worker", "--processes", "1") as worker:
        _asleep(server, worker)
        time.sleep(3.0)
        pid = worker.process.pid
        before = processes.seconds_of_all(pid), processes.wakeups(pid), server.cpu()
        time.sleep(seconds)  # nobody looks meanwhile
        python = processes.seconds_of_all(pid) - before[0]
        woken, of_server = processes.wakeups(pid) - before[1], server.cpu() - before[2]
        statements = _statements(server, seconds)
        worker.until(lambda: True, "it is up")
        memory = sum(processes.resident_mb(one) for one in [pid, *processes.below(pid)])
    return {
        "seconds": seconds,
        "statements_per_s": round(statements / seconds, 2),
        "wakeups_per_s": round(woken / seconds, 1),
        "worker_cpu_percent": round(python / seconds * 100, 2),
        "server_cpu_percent": round(of_server / seconds * 100, 2),
        "rss_mb": round(memory),
    }


def _statements(server: Server, seconds: float) -> int:
    """Count the statements that sessions of the product begin, looking many times a second."""
    seen: set[tuple[Any, ...]] = set()
    with server.connect("count") as here:
        row = here.execute("select current_database()").fetchone()
    with server.connect("count", database="postgres") as connection:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen.update(connection.execute(_BEGUN, row).fetchall())
            time.sleep(_SAMPLES)
    sessions = len({pid for pid, _ in seen})  # what each had begun before is not counted
    return len(seen) - sessions


def _asleep(server: Server, worker: Command) -> None:
    with server.connect("look") as connection:

        def sleeps() -> bool:
            row = connection.execute(_ASLEEP.encode()).fetchone()
            return bool(row and row[0])

        worker.until(sleeps, "a worker sleeps")


def spread(waits: list[float]) -> dict[str, float]:
    """Return the middle and the ends of durations, in milliseconds."""
    ordered = sorted(wait * 1000 for wait in waits)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 2)

    return {
        "p50_ms": round(statistics.median(ordered), 2),
        "p90_ms": at(0.9),
        "p99_ms": at(0.99),
        "most_ms": round(ordered[-1], 2),
    }


__all__ = ["idle", "latency", "spread"]
