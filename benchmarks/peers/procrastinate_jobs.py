"""procrastinate: async worker, 20 jobs side by side, listening. A chain's task defers the next."""

import asyncio
import logging

import procrastinate
import psycopg
import uvloop
from race import Race, run

_CONCURRENCY = 20
_AT_ONCE = 1_000


def app_of(race: Race) -> tuple[procrastinate.App, procrastinate.tasks.Task]:
    """Return an app with its one task."""
    connector = procrastinate.PsycopgConnector(conninfo=race.url, min_size=4, max_size=24)
    app = procrastinate.App(connector=connector)

    @app.task(name="step")
    async def step(left: int) -> None:
        if left > 1:
            await step.defer_async(left=left - 1)
        race.done()

    return app, step


def prepare(race: Race) -> None:
    """Make the tables."""

    async def do() -> None:
        app, _ = app_of(race)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    asyncio.run(do())


def enqueue(race: Race) -> None:
    """Queue the first step of each job."""

    async def do() -> None:
        app, step = app_of(race)
        async with app.open_async():
            for at in range(0, race.jobs, _AT_ONCE):
                many = min(_AT_ONCE, race.jobs - at)
                await step.batch_defer_async(*[{"left": race.steps}] * many)

    asyncio.run(do())


def work(race: Race) -> None:
    """Do jobs until killed."""
    logging.disable(logging.INFO)
    app, _ = app_of(race)

    async def do() -> None:
        async with app.open_async():
            await app.run_worker_async(
                concurrency=_CONCURRENCY, listen_notify=True, install_signal_handlers=False
            )

    race.wait()
    uvloop.run(do())


def is_left(race: Race):  # type: ignore[no-untyped-def]  # a function that takes nothing
    """Return what asks the queue's table."""
    connection = psycopg.connect(race.url, autocommit=True)
    query = (
        "select exists (select from procrastinate_jobs where status = any"
        " ('{todo,doing}'::procrastinate_job_status[]))"
    )
    return lambda: connection.execute(query).fetchone()[0]


if __name__ == "__main__":
    run(prepare, enqueue, work, is_left)
