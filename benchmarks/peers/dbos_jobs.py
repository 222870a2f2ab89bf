"""DBOS: workflows from a queue that is asked every 20 ms; a chain is a workflow of ten steps."""

import logging
import threading
import time

import psycopg
from dbos import DBOS, DBOSClient
from race import Race, run

_QUEUE, _POLL, _CONCURRENCY = "jobs", 0.02, 50
_VERSION = "1"


def config(race: Race) -> dict[str, object]:
    """Return what DBOS is told in every process."""
    return {
        "name": "race",
        "system_database_url": race.url,
        "application_version": _VERSION,
        "executor_id": f"worker-{race.number}",
        "enable_otlp": False,
        "log_level": "ERROR",
    }


def launched(race: Race) -> None:
    """Launch it with its one workflow."""
    logging.disable(logging.WARNING)
    DBOS(config=config(race))
    lock = threading.Lock()

    @DBOS.step()
    def step() -> None:
        with lock:
            race.done()

    @DBOS.workflow(name="job")
    def job() -> None:
        for _ in range(race.steps):
            step()

    DBOS.launch()
    DBOS.register_queue(_QUEUE, worker_concurrency=_CONCURRENCY, polling_interval_sec=_POLL)


def prepare(race: Race) -> None:
    """Make the tables and the queue."""
    DBOS(config=config(race))
    DBOS.launch()
    DBOS.register_queue(_QUEUE, worker_concurrency=_CONCURRENCY, polling_interval_sec=_POLL)
    DBOS.destroy()


def enqueue(race: Race) -> None:
    """Queue the workflows."""
    client = DBOSClient(system_database_url=race.url)
    for _ in range(race.jobs):
        client.enqueue({"queue_name": _QUEUE, "workflow_name": "job", "app_version": _VERSION})
    client.destroy()


def work(race: Race) -> None:
    """Do jobs until killed."""
    race.wait()
    launched(race)
    while True:
        time.sleep(60)


def is_left(race: Race):  # type: ignore[no-untyped-def]  # a function that takes nothing
    """Return what asks for workflows that are not over."""
    connection = psycopg.connect(race.url, autocommit=True)
    query = (
        "select exists (select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING'))"
    )
    return lambda: connection.execute(query).fetchone()[0]


if __name__ == "__main__":
    run(prepare, enqueue, work, is_left)
