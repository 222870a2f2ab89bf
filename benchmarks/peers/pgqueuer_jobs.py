"""pgqueuer: asyncpg on uvloop, batches of 100, its tables logged. A chain's job queues the next."""

import asyncio

import asyncpg
import uvloop
from pgqueuer import QueueManager
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from race import Race, run

_BATCH = 100
_AT_ONCE = 1_000


def prepare(race: Race) -> None:
    """Make the tables."""

    async def do() -> None:
        connection = await asyncpg.connect(race.url)
        await Queries(AsyncpgDriver(connection)).install()
        await connection.close()

    asyncio.run(do())


def enqueue(race: Race) -> None:
    """Queue the first step of each job."""

    async def do() -> None:
        connection = await asyncpg.connect(race.url)
        queries = Queries(AsyncpgDriver(connection))
        for at in range(0, race.jobs, _AT_ONCE):
            many = min(_AT_ONCE, race.jobs - at)
            payload = str(race.steps).encode()
            await queries.enqueue(["step"] * many, [payload] * many, [0] * many)
        await connection.close()

    asyncio.run(do())


def work(race: Race) -> None:
    """Do jobs until killed."""

    async def do() -> None:
        connection = await asyncpg.connect(race.url)
        manager = QueueManager(Queries(AsyncpgDriver(connection)))

        @manager.entrypoint("step")
        async def step(job: Job) -> None:
            left = int(job.payload or b"1") - 1
            if left:
                await manager.queries.enqueue("step", str(left).encode())
            race.done()

        await manager.run(batch_size=_BATCH)

    race.wait()
    uvloop.run(do())


def is_left(race: Race):  # type: ignore[no-untyped-def]  # a function that takes nothing
    """Return what asks the queue's table."""
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(asyncpg.connect(race.url))
    query = "select exists (select from pgqueuer where status in ('queued', 'picked'))"
    return lambda: loop.run_until_complete(connection.fetchval(query))


if __name__ == "__main__":
    run(prepare, enqueue, work, is_left)
