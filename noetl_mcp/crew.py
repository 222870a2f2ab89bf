"""Work in this process: a worker with its tasks, and an ear for hints. Says nothing to anybody."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from noetl_mcp.assembly import equipment
from noetl_mcp.broker.records import Records
from noetl_mcp.compiler.plan import FORMAT
from noetl_mcp.queue.pools import queues_behind
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.hints import Hints
from noetl_mcp.worker.lives import Grace, Lives
from noetl_mcp.worker.placed import allow_many_files

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.worker.equipment import Equipment


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


QUEUED, FEW_QUEUED = 16, 2
"""So many computing steps are held for each that computes, while they are quick and while slow."""


def queues(pools: tuple[str, ...]) -> tuple[str, ...]:
    """Return the queues that this code can take from behind pools."""
    return queues_behind(pools or ("",), FORMAT)


@asynccontextmanager
async def working(
    home: "Home",
    *,
    name: str | None,
    pools: tuple[str, ...] = (),
    only: tuple[int, ...] | None = None,
    computing: int | None = None,
    grace: Grace | None = None,
    told: Callable[[str], None] = lambda text: None,
    hears: bool = True,
    equipped: Callable[["Equipment"], "Equipment"] = lambda equipment: equipment,
) -> AsyncIterator[Lives]:
    """Yield a worker at work in this process; at the end it is told to leave, and waited for.

    `equipped` may change what it works with.
    """
    allow_many_files()
    with home.connect("worker starts") as connection:
        seal = Records(connection).seal()
    children = computing or max(2, cores())
    saved = home.settings.home / "saves.duckdb"
    bench = Bench(
        folders=home.settings.files, children=children, saved=saved, shell=home.settings.allow_shell
    )
    terms = Terms(
        pools=queues(pools),
        only=only,
        computing=QUEUED * children,
        least_computing=FEW_QUEUED * children,
    )
    lives = Lives(
        equipped(equipment(home, bench.task, terms=terms, seal=seal, name=name)),
        grace=grace or Grace(),
        told=told,
    )
    hints = Hints(lambda: home.connect("hints"), lives.hear) if hears else None
    task = asyncio.create_task(lives.live())
    try:
        if hints is not None:
            hints.start()
        yield lives
    finally:
        lives.leave()
        try:
            await task
        finally:
            if hints is not None:
                await asyncio.to_thread(hints.stop)
            await bench.close()


__all__ = ["cores", "queues", "working"]
