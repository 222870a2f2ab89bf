"""Look at everything that could be wrong with an installation, one thing after another.

Mends nothing, and tells no secret.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from noetl_mcp.settings import Settings, WrongSetting, strange_names

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.broker.gauges import Gauges
    from noetl_mcp.database import Connection, TupleRow

LEAST_DISK = 1 << 30
SKEW_SECONDS = 5.0
OLD_TRANSACTION = 300.0
LATE_SECONDS = 60.0
_LIBRARIES = (
    "pydantic", "jinja2", "pyyaml", "networkx", "psycopg", "httpx", "duckdb", "dramatiq",
    "starlette", "uvicorn", "orjson", "click", "rich", "cryptography",
)  # fmt: skip


class Check(NamedTuple):
    """One thing that was looked at, how it is, and what to do."""

    what: str
    state: Literal["fine", "doubtful", "wrong"]
    says: str
    advice: str = ""


def every_check(home: "Home | None" = None) -> Iterator[Check]:
    """Yield the checks as they are made; what one of them needs and is missing ends them.

    Looks at an installation that is up, else at the one of the environment, which it opens.
    """
    yield _python()
    yield from _libraries()
    yield from _task_types()
    try:
        settings = home.settings if home is not None else Settings.load()
    except WrongSetting as problem:
        yield Check("settings", "wrong", str(problem))
        return
    yield Check("settings", "fine", f"home is {settings.home}")
    yield from (Check("settings", "doubtful", says) for says in strange_names(os.environ))
    yield _home(settings.home)
    yield _broker(settings.broker)
    yield from _reached(settings, home)


def _reached(settings: Settings, home: "Home | None") -> Iterator[Check]:
    """Yield what is asked of the database, or why it cannot be asked."""
    from noetl_mcp.assembly import opened
    from noetl_mcp.database import Error, NotReachable, WrongSchema, is_lost
    from noetl_mcp.embedded.failure import NotStarted

    there: AbstractContextManager[Home] = opened(settings) if home is None else nullcontext(home)
    try:
        with there as up, up.connect("doctor") as connection:
            yield from _database(up, connection)
    except (NotReachable, NotStarted, WrongSchema) as problem:
        yield Check("database", "wrong", str(problem), _how_to_reach(settings))
    except Error as problem:
        if not is_lost(problem):
            raise
        said = f"the database went away: {' '.join(str(problem).split())}"
        yield Check("database", "wrong", said, _how_to_reach(settings))


def _python() -> Check:
    number = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "fine", f"{number} at {sys.executable}")


def _task_types() -> Iterator[Check]:
    """Tell of types that installed packages bring and that cannot be used."""
    from noetl_mcp.tasks.registry import find_tasks, installed

    for one in find_tasks(installed()).broken:
        says = f"'{one.name}' cannot be used: {one.comes_from} {one.problem}"
        yield Check("task types", "doubtful", says, "correct the package that brings it")


def _libraries() -> Iterator[Check]:
    missing = []
    for name in _LIBRARIES:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Check(
            "libraries", "wrong", f"missing: {', '.join(missing)}", "install noetl-mcp again"
        )
    else:
        yield Check(
            "libraries", "fine", f"noetl-mcp {metadata.version('noetl-mcp')} and all it needs"
        )
    extras = {"uvloop": "a quicker loop", "ifcopenshell": "[bim]", "pika": "[fleet]"}
    absent = [f"{name} ({why})" for name, why in extras.items() if find_spec(name) is None]
    if absent:
        yield Check("extras", "fine", f"not installed: {', '.join(absent)}")


def _home(home: Path) -> Check:
    there = home
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK):
        return Check("home", "wrong", f"{there} cannot be written", "set NOETL_HOME to a folder")
    free = shutil.disk_usage(there).free
    said = f"{free / 2**30:.1f} GB free"
    if free < LEAST_DISK:
        return Check("disk", "wrong", said, "make room, or set NOETL_HOME to another disk")
    return Check("disk", "fine", said)


def _broker(url: str) -> Check:
    if url == "postgres":
        return Check("hints", "fine", "carried by the database")
    from noetl_mcp.worker.pool import NoBroker, reachable

    try:
        problem = reachable(url)
    except NoBroker as missing:
        return Check("hints", "wrong", str(missing))
    kind = url.partition(":")[0]
    if problem is not None:
        advice = "work goes on without it, a little later: workers look once a second"
        return Check("hints", "doubtful", f"the broker ({kind}) is away: {problem}", advice)
    return Check("hints", "fine", f"carried by {kind}")


def _database(home: "Home", connection: "Connection[TupleRow]") -> Iterator[Check]:
    from noetl_mcp.broker.gauges import gauges

    kind = "embedded" if home.embedded else "external"
    version = connection.info.parameter_status("server_version")
    seen = gauges(connection)
    size = seen.database_bytes / 2**20
    yield Check("database", "fine", f"{kind} Postgres {version}, schema up to date, {size:.0f} MB")
    yield _clock(connection)
    yield _connections(connection)
    yield from _server(connection, home)
    yield _partitions(connection)
    yield _transactions(seen)
    yield _workers(home, connection, seen)
    yield from _work(seen)
    yield _keys(home, connection)


def _clock(connection: "Connection[TupleRow]") -> Check:
    row = connection.execute("select clock_timestamp()").fetchone()
    skew = 0.0 if row is None else abs((datetime.now(UTC) - row[0]).total_seconds())
    if skew > SKEW_SECONDS:
        advice = "leases do not mind; times in lists and schedules will look wrong"
        return Check("clock", "doubtful", f"{skew:.0f} s apart from the database's", advice)
    return Check("clock", "fine", "agrees with the database's")


def _connections(connection: "Connection[TupleRow]") -> Check:
    row = connection.execute(
        "select count(*), current_setting('max_connections')::int from pg_stat_activity"
        " where backend_type = 'client backend'"
    ).fetchone()
    used, most = row if row is not None else (0, 0)
    said = f"{used} of {most} in use"
    if used > 0.8 * most:
        return Check("connections", "doubtful", said, "each worker process takes three or four")
    return Check("connections", "fine", said)


def _server(connection: "Connection[TupleRow]", home: "Home") -> Iterator[Check]:
    """Settings of a server of one's own that make it forget, or grow."""
    rows: dict[str, str] = dict(
        connection.execute(
            "select name, setting from pg_settings"
            " where name in ('fsync', 'full_page_writes', 'autovacuum', 'synchronous_commit')"
        ).fetchall()
    )
    off = sorted(name for name, value in rows.items() if value == "off")
    if "autovacuum" in off:
        yield Check("server", "wrong", "autovacuum is off", "switch it on: queues grow for ever")
    unsafe = [name for name in off if name != "autovacuum"]
    if unsafe:
        advice = "what was acknowledged can be lost when the machine goes down"
        yield Check("server", "doubtful", f"off: {', '.join(unsafe)}", advice)
    if not off:
        yield Check("server", "fine", "what it acknowledges is on disk")


def _partitions(connection: "Connection[TupleRow]") -> Check:
    from noetl_mcp.events.partitions import astray

    rows = connection.execute(
        "select count(*) from pg_inherits where inhparent = 'noetl.event'::regclass"
    ).fetchone()
    count, lost = rows[0] if rows is not None else 0, astray(connection)
    if lost:
        said = f"{lost} events lie outside of their days"
        return Check("log", "doubtful", said, "workers bring them home when nobody is in the way")
    return Check("log", "fine", f"{count} partitions")


def _transactions(seen: "Gauges") -> Check:
    if seen.oldest_transaction > OLD_TRANSACTION:
        said = f"one has been open for {seen.oldest_transaction:.0f} s"
        advice = "while it is, nothing is vacuumed; see pg_stat_activity"
        return Check("transactions", "doubtful", said, advice)
    return Check("transactions", "fine", "none is left open")


def _workers(home: "Home", connection: "Connection[TupleRow]", seen: "Gauges") -> Check:
    from noetl_mcp.broker.forsaken import LEAST_HEARD
    from noetl_mcp.queue.pools import pools_of
    from noetl_mcp.worker.living import living

    up = living(connection, max(LEAST_HEARD, home.settings.lease))
    taken = {queue for one in up for queue in one.pools}
    waiting = pools_of(set(seen.queues) - taken)
    if waiting and (up or seen.queues):
        names = ", ".join(f"'{pool}'" if pool else "the usual pool" for pool in sorted(waiting))
        advice = "start one: noetl-mcp worker" + (
            f" --pool {min(waiting - {''})}" if waiting - {""} else ""
        )
        return Check("workers", "doubtful", f"steps wait and nobody takes them: {names}", advice)
    if not up:
        return Check("workers", "fine", "none is up; 'run' works by itself")
    return Check("workers", "fine", f"{len(up)} up")


def _work(seen: "Gauges") -> Iterator[Check]:
    doubts = seen.steps.get("in_doubt", 0)
    if doubts:
        advice = "see which: noetl-mcp executions --attention"
        yield Check("doubts", "doubtful", f"{doubts} steps are in doubt", advice)
    if seen.late > LATE_SECONDS:
        advice = "no worker moves timers; start one: noetl-mcp worker"
        yield Check("timers", "doubtful", f"one is due for {seen.late:.0f} s", advice)


def _keys(home: "Home", connection: "Connection[TupleRow]") -> Check:
    from noetl_mcp.catalog.credentials import Credentials
    from noetl_mcp.catalog.keys import KEY_VARIABLE, BadKey, keys_at

    try:
        keys = keys_at(home.settings.home, os.environ.get(KEY_VARIABLE))
    except BadKey as problem:
        return Check("credentials", "wrong", str(problem))
    there = Credentials(connection, keys).names()
    strange = [one.name for one in there if keys is None or one.key_id not in keys.by_id]
    if strange:
        said = f"{len(strange)} of {len(there)} are sealed with a key that is not here"
        return Check("credentials", "wrong", said, f"bring the key file, or set {KEY_VARIABLE}")
    return Check("credentials", "fine", f"{len(there)} stored")


def _how_to_reach(settings: Settings) -> str:
    if settings.dsn is not None:
        return "look at NOETL_DSN, and whether the server lets this machine in"
    return "see: noetl-mcp db status"


__all__ = ["Check", "every_check"]
