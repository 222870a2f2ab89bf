"""How the installation is: a yes or no for load balancers, numbers for those who watch."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from noetl_mcp import __version__
from noetl_mcp.broker.gauges import Gauges, counts, gauges
from noetl_mcp.broker.listing import wanted_now
from noetl_mcp.checking import every_check
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.events.partitions import astray
from noetl_mcp.queue.pools import pools_of
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import told
from noetl_mcp.web.talk import Door, Talk
from noetl_mcp.worker.living import Living, living

HEARD = timedelta(seconds=3)
PATIENCE = 5.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def health(talk: Talk) -> Response:
    """Say whether this server answers and reaches its database."""
    try:
        async with asyncio.timeout(PATIENCE):
            await talk.ask(lambda at: at.connection.execute("select 1"))
    except (TimeoutError, Error, NotReachable):
        return told({"status": "no database"}, 503)
    return told({"status": "ok"})


async def workers(talk: Talk) -> Response:
    """List the workers that are up."""
    talk.query()
    return told(_told(await talk.ask(lambda at: _living(talk, at))))


async def status(talk: Talk) -> Response:
    """Return how much there is and how far behind it is, as `status` tells it."""
    talk.query()

    def look(at: Station) -> dict[str, Any]:
        counted, age = talk.desks.counting.ask(lambda: counts(at.connection))
        seen = asdict(gauges(at.connection, counted))
        database = {
            "kind": "embedded" if talk.desks.home.embedded else "external",
            "version": at.connection.info.parameter_status("server_version"),
            "bytes": seen.pop("database_bytes"),
        }
        return {
            "database": database,
            "workers": _told(_living(talk, at)),
            "astray": astray(at.connection),
            "attention": wanted_now(at.desk),
            "counted_age": age,
            **seen,
        }

    return told(await talk.ask(look))


async def doctor(talk: Talk) -> Response:
    """Return what `doctor --json` finds, with a database or without."""
    talk.query()
    home = talk.desks.home
    return told(await talk.desks.think(lambda: [one._asdict() for one in every_check(home)]))


async def metrics(talk: Talk) -> Response:
    """Return counts in the text form of Prometheus."""
    begun = time.monotonic()

    def look(at: Station) -> tuple[Gauges, float, int]:
        counted, age = talk.desks.counting.ask(lambda: counts(at.connection))
        return gauges(at.connection, counted), age, len(_living(talk, at))

    seen, age, up = await talk.ask(look)
    text = "\n".join(exposition(seen, up, time.monotonic() - begun, age)) + "\n"
    return Response(text, headers={"Cache-Control": "no-store"}, media_type=_TEXT)


def exposition(seen: Gauges, up: int, seconds: float, age: float) -> Iterator[str]:
    """Yield the lines of the exposition."""
    yield from _one("noetl_info", "gauge", "The version.", {f'version="{__version__}"': 1})
    yield from _by("noetl_executions", "gauge", "Executions by status.", "status", seen.executions)
    yield from _by("noetl_halted", "gauge", "Halted executions, by why.", "kind", seen.halted)
    yield from _by("noetl_steps", "gauge", "Steps at work or waiting.", "state", seen.steps)
    yield from _by("noetl_queue_depth", "gauge", "Steps to be leased.", "queue", seen.queues)
    yield from _by(
        "noetl_queue_oldest_seconds", "gauge", "Age of the next step.", "queue", seen.oldest
    )

    def count(name: str) -> int:
        return seen.tally.get(name, 0)

    plain: list[tuple[str, str, str, float]] = [
        ("noetl_workers_alive", "gauge", "Workers that are up.", up),
        ("noetl_timers", "gauge", "Timers that are set.", seen.timers),
        ("noetl_timer_late_seconds", "gauge", "How long one is due.", max(0.0, seen.late)),
        ("noetl_executions_started_total", "counter", "Executions ever started.", seen.started),
        ("noetl_events_total", "counter", "Events ever written.", seen.events),
        ("noetl_flushes_total", "counter", "Flushes of all workers.", count("flushes")),
        ("noetl_steps_settled_total", "counter", "Steps settled by workers.", count("steps")),
        ("noetl_losses_total", "counter", "Connections that workers lost.", count("losses")),
        ("noetl_commits_total", "counter", "Transactions; a flush is one.", seen.commits),
        ("noetl_deadlocks_total", "counter", "Deadlocks.", seen.deadlocks),
        ("noetl_xmin_age", "gauge", "Transactions that cannot be vacuumed.", seen.xmin_age),
        (
            "noetl_oldest_transaction_seconds",
            "gauge",
            "Age of the oldest open transaction.",
            seen.oldest_transaction,
        ),
        ("noetl_database_bytes", "gauge", "Size of the database.", seen.database_bytes),
        ("noetl_counted_age_seconds", "gauge", "Age of executions and queue depths.", age),
        ("noetl_scrape_seconds", "gauge", "How long counting took.", seconds),
    ]
    for name, kind, says, value in plain:
        yield from _one(name, kind, says, {"": value})


def _by(name: str, kind: str, says: str, label: str, values: Mapping[str, float]) -> Iterator[str]:
    yield from _one(
        name, kind, says, {f'{label}="{_escaped(key)}"': one for key, one in values.items()}
    )


def _one(name: str, kind: str, says: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} {kind}"
    for label, value in values.items():
        yield f"{name}{{{label}}} {value}" if label else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _told(workers: Sequence[Living]) -> list[dict[str, Any]]:
    return [
        {
            "id": one.id,
            "name": one.name,
            "pools": sorted(pools_of(one.pools)),
            "host": one.host,
            "pid": one.pid,
            "started": one.started,
        }
        for one in workers
    ]


def _living(talk: Talk, at: Station) -> list[Living]:
    return living(at.connection, max(HEARD, talk.desks.home.settings.lease))


DOORS = (
    Door("GET", "/health", None, health, "Say whether it answers and reaches its database."),
    Door("GET", "/metrics", "viewer", metrics, "Counts for Prometheus."),
    Door("GET", "/api/status", "viewer", status, "Say how much there is and what waits."),
    Door("GET", "/api/doctor", "operator", doctor, "Look for everything that could be wrong."),
    Door("GET", "/api/workers", "viewer", workers, "List the workers that are up."),
)

__all__ = ["DOORS", "exposition"]
