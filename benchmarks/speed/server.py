"""The durable Postgres that is measured on: one of our own, or the one of a DSN.

Only a database that held no execution when we came is ever emptied.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from noetl_mcp.database import Connection, TupleRow, connect, migrate
from noetl_mcp.embedded import operate
from noetl_mcp.embedded.launcher import start
from noetl_mcp.events.partitions import tend
from noetl_mcp.settings import Settings
from speed import processes

_QUEUE = ("ready", "held", "begun", "waiting", "timer", "halt", "fan", "signal", "permit")
_REST = ("execution", "step", "event", "payload", "cached", "permit_lock", "worker", "ended_life")
_FILLED = [*_QUEUE, *_REST]
"""What executions fill, in this version of the schema or another."""
_ABOUT = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
_PROBES = 60


@dataclass(frozen=True, slots=True)
class Server:
    """A database with our schema in it."""

    dsn: str
    postmaster: int | None
    """The process that started all the others, when it runs on this machine."""
    is_ours: bool
    """Whether nothing was in it, so that we may empty it."""

    def connect(self, purpose: str, *, database: str | None = None) -> Connection[TupleRow]:
        """Return a new connection that waits for as long as it takes."""
        dsn = self.dsn if database is None else self.beside(database)
        return connect(dsn, application_name=f"bench {purpose}", statement_timeout=None)

    def beside(self, database: str, *, as_url: bool = False) -> str:
        """Return the DSN of another database of the same server; as a URL for other drivers."""
        if not as_url:
            return make_conninfo(self.dsn, dbname=database)
        given = {name: str(text) for name, text in conninfo_to_dict(self.dsn).items()}
        who = quote(given.pop("user", ""), safe="")
        if "password" in given:
            who += ":" + quote(given.pop("password"), safe="")
        given.pop("dbname", None)
        return f"postgresql://{who}@/{database}?{urlencode(given)}"

    def cpu(self) -> float:
        """Return the CPU seconds of the whole server: sessions, writers and vacuum."""
        return 0.0 if self.postmaster is None else processes.seconds_of_all(self.postmaster)

    def clear(self) -> None:
        """Take away all executions, if none but ours can be there."""
        if self.is_ours:
            with self.connect("clear") as connection:
                there = connection.execute(
                    "select relname from pg_class where relnamespace = 'noetl'::regnamespace"
                    " and relkind in ('r', 'p') and relname = any (%s)",
                    (_FILLED,),
                ).fetchall()
                names = ", ".join(f"noetl.{row[0]}" for row in there)
                connection.execute(f"truncate {names}".encode())

    def demand_ours(self, case: str) -> None:
        """Refuse what would fill somebody's database with a million rows."""
        if not self.is_ours:
            raise SystemExit(f"{case} needs a database in which there is no execution")

    def about(self) -> dict[str, Any]:
        """Say what was measured on, and how long one small commit takes at this moment."""
        with self.connect("about") as connection:
            found: dict[str, Any] = {
                name: _one(connection, f"select current_setting('{name}')") for name in _ABOUT
            }
            connection.execute("create temp table probe (n integer)")  # makes the session ready
            connection.execute("create table if not exists noetl_probe (n integer)")
            times = []
            for _ in range(_PROBES):
                begun = time.perf_counter()
                connection.execute("insert into noetl_probe values (1)")
                times.append((time.perf_counter() - begun) * 1000)
            connection.execute("drop table noetl_probe")
        found["commit_ms"] = round(statistics.median(times), 3)
        return found


def _one(connection: Connection[TupleRow], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]


@contextmanager
def server(dsn: str | None) -> Iterator[Server]:
    """Yield a database that is ready to be measured on."""
    if dsn is not None:
        migrate(dsn)
        made = _ready(dsn)
        try:
            yield made
        finally:
            made.clear()
        return
    with tempfile.TemporaryDirectory(prefix="noetl-bench-", ignore_cleanup_errors=True) as folder:
        home, system = Path(folder), Path(folder) / "system"
        settings = Settings.load({"NOETL_HOME": folder})
        try:
            with start(settings, system=system) as ours:
                migrate(ours.dsn)
                yield _ready(ours.dsn)
        finally:
            operate.stop(home, system=system)


def _ready(dsn: str) -> Server:
    with connect(dsn, application_name="bench ready") as connection:
        tend(connection)  # the first worker would make the days of the log while it is measured
        is_ours = not _one(connection, "select exists (select from noetl.execution)")
        pid = connection.info.backend_pid
        try:
            is_here = Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"postgres")
        except OSError:
            is_here = False
        return Server(dsn, processes.parent(pid) if is_here else None, is_ours)


__all__ = ["Server", "server"]
