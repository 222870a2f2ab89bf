"""The process of a worker: reads what it shall do as one line of JSON, works until input ends.

python -m tests.faults.hand
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

import uvloop

from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, Task, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.specs_compute import NoopSettings
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.hints import Hints
from noetl_mcp.worker.lives import Grace, Lives
from noetl_mcp.worker.worker import Equipment
from tests.faults.lossy import by_chance, lossy

SPECS: Mapping[str, TaskSpec] = {
    **known_tasks(),
    "echo": TaskSpec("echo", "Give the input back.", NoopSettings),
}


@dataclass(frozen=True)
class Orders:
    """How one worker works."""

    dsn: str
    lives: str
    lease: float = 2.0
    losses: float = 0.0
    """How many statements lose their connection."""
    hears: bool = True
    waiting: int = 40
    seed: int = 0


class Echo:
    """Gives its input back, after a while, or fails so many times."""

    async def execute(self, call: Call) -> Json:
        said = call.input if isinstance(call.input, dict) else {}
        await asyncio.sleep(float(str(said.get("sleep", 0))))
        if said.get("kills"):
            os._exit(9)
        if said.get("lost"):
            raise UnknownOutcome("lost", "nobody knows")
        if call.attempt <= int(str(said.get("fails", 0))):
            raise Failed("unlucky", f"attempt {call.attempt} failed")
        return said

    async def close(self) -> None:
        """Nothing to let go of."""


def bench() -> Bench:
    more: dict[str, Callable[[], Task]] = {"echo": Echo}
    return Bench(more=more, children=1)


async def work(orders: Orders) -> None:
    """Live one life after another until told to leave."""
    chance = Random(orders.seed)

    def connected(purpose: str) -> Connection[TupleRow]:
        connection = connect(orders.dsn, application_name=purpose)
        if not orders.losses:
            return connection
        return lossy(connection, by_chance(chance, orders.losses))

    async with AsyncExitStack() as stack:
        tools = bench()
        stack.push_async_callback(tools.close)
        lease = timedelta(seconds=orders.lease)
        terms = Terms(lease=lease, waiting=orders.waiting, computing=2)
        rules = Rules(lease_seconds=orders.lease)
        equipment = Equipment(
            connected, SPECS, tools.task, Path(orders.lives), rules=rules, terms=terms
        )
        lives = Lives(
            equipment,
            grace=Grace(timedelta(seconds=3), timedelta(seconds=5)),
            told=lambda text: _say(f"[{os.getpid()}] {text}"),
        )
        if orders.hears:
            hints = Hints(lambda: connect(orders.dsn, application_name="hints"), lives.hear)
            hints.start()
            stack.callback(hints.stop)
        loop = asyncio.get_running_loop()

        def wait() -> None:
            sys.stdin.read()
            loop.call_soon_threadsafe(lives.leave)

        threading.Thread(target=wait, daemon=True).start()
        await lives.live()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main() -> None:
    """Work as the first line of the input says."""
    line = sys.stdin.readline()
    if not line:
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(Orders(**json.loads(line))))


if __name__ == "__main__":
    main()

__all__ = ["SPECS", "Echo", "Orders", "bench", "main", "work"]
