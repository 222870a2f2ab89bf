"""Answer questions about the log with DuckDB, over a copy that is made for it and thrown away.

What is asked can only read the copy: no file, no network, no setting, one select at a time, within
bounds of memory, time and rows. Postgres is read once and never written.
"""

import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import duckdb

from noetl_mcp.database import statements
from noetl_mcp.events.copied import EVERYTHING, How, Source, quickest
from noetl_mcp.tasks.duckdb_plan import changes
from noetl_mcp.tasks.duckdb_values import kind_of_statement

VIEWS = statements(__file__, "views.sql")
BESIDE = ("kinds", "plan_steps", "executions")
MOST_ROWS = 1_000
MOST_BYTES = 64 * 2**20
_AT_ONCE = 64
T = TypeVar("T")


class NotAnswered(Exception):
    """A question cannot be answered; the text says why."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one question may take."""

    memory: str = "1GB"
    disk: str = "10GB"
    seconds: float = 120.0
    rows: int = MOST_ROWS
    bytes: int = MOST_BYTES
    """Of the texts in an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A table: the names of its columns, its rows, and whether there are more."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    is_cut: bool = False
    seconds: float = 0.0

    def as_json(self) -> list[dict[str, Any]]:
        """Return one map for each row."""
        names = distinct(self.columns)
        return [dict(zip(names, map(plain, row), strict=True)) for row in self.rows]


class Copy:
    """A copy of the log that can be asked; each question has a cursor of its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, bounds: Bounds) -> None:
        self.connection = connection
        self.bounds = bounds
        self.seconds = 0.0
        """How long the copying took."""

    @property
    def events(self) -> int:
        """How many events were copied."""
        row = self.connection.cursor().execute("select count(*) from events").fetchone()
        return int(row[0]) if row else 0

    def ask(self, question: str) -> Answer:
        """Answer one select; raise NotAnswered when it is none, or takes too much."""
        begun = time.perf_counter()
        with self._cursor() as cursor:
            try:
                columns, rows = aside(lambda: self._asked(cursor, question), cursor.interrupt)
            except duckdb.InterruptException:
                said = f"it took longer than {self.bounds.seconds:g} s"
                raise NotAnswered(said) from None
            except (duckdb.OutOfMemoryException, MemoryError):
                said = "it took too much memory; ask for less at a time"
                raise NotAnswered(said) from None
            except duckdb.Error as problem:
                raise NotAnswered(str(problem)) from None
        most = self.bounds.rows
        return Answer(columns, rows[:most], len(rows) > most, time.perf_counter() - begun)

    def _asked(
        self, cursor: duckdb.DuckDBPyConnection, question: str
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        demand_select(cursor, question)
        cursor.execute(shown(cursor, question))
        columns = [column[0] for column in cursor.description or ()]
        return columns, fetched(cursor, self.bounds)

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor that is interrupted when its time is over."""
        cursor = self.connection.cursor()
        timer = threading.Timer(self.bounds.seconds, cursor.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield cursor
        finally:
            timer.cancel()
            timer.join()
            cursor.close()


@contextmanager
def copied(
    dsn: str,
    *,
    since: datetime = EVERYTHING,
    results: bool = True,
    how: How | None = None,
    bounds: Bounds | None = None,
) -> Iterator[Copy]:
    """Yield a copy of the log since a time; it is gone at the end.

    Without `results` the payloads of executions and what steps gave are left out of `data`.
    """
    bounds = bounds or Bounds()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="noetl-ask-", ignore_cleanup_errors=True) as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": bounds.memory,
            "temp_directory": f"{folder}/spill",
            "max_temp_directory_size": bounds.disk,
            "python_enable_replacements": "false",
        }
        connection = duckdb.connect(f"{folder}/log.duckdb", config=settings)
        try:
            connection.execute("set TimeZone = 'UTC'")
            source = Source(dsn, how or quickest(), Path(folder), since, results=results)
            aside(lambda: fill(connection, source), connection.interrupt)
            # From here on it is the questions that come from outside.
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
            copy = Copy(connection, bounds)
            copy.seconds = time.perf_counter() - begun
            yield copy
        finally:
            connection.close()


def aside(doing: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Do something in another thread: DuckDB may not hear of a signal before it has an answer."""
    with ThreadPoolExecutor(1, thread_name_prefix="ask") as thread:
        future = thread.submit(doing)
        try:
            return future.result()
        finally:
            while not future.done():
                interrupt()
                wait([future], 0.05)


def fill(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    """Make the tables and views that can be asked; the events go through only once."""
    for name in BESIDE:
        with source.offered(connection, name):
            connection.execute(f"create table copied_{name} as select * from offered_{name}")
    with source.offered(connection, "events"):
        for statement in VIEWS.values():
            connection.execute(statement)
    for name in BESIDE:
        connection.execute(f"drop table copied_{name}")


def names_results(question: str) -> bool:
    """Whether a question may look at what steps gave: it names `data`, or asks for everything."""
    return re.search(r"\bdata\b|(?<!\()\*", question, re.IGNORECASE) is not None


def demand_select(cursor: duckdb.DuckDBPyConnection, question: str) -> None:
    """Refuse what is not exactly one statement that reads."""
    found = cursor.extract_statements(question)
    if len(found) != 1:
        raise NotAnswered(f"one select can be asked at a time; these are {len(found)} statements")
    kind = kind_of_statement(found[0])
    if kind != duckdb.StatementType.SELECT:
        word = "something else" if kind is None else kind.name.lower().replace("_", " ")
        raise NotAnswered(f"only a select can be asked, this is '{word}'")
    if changes(cursor, question):
        raise NotAnswered("only a select can be asked, and this one changes something on its way")


def shown(cursor: duckdb.DuckDBPyConnection, question: str) -> str:
    """Return a question whose answer Python can hold: times with a zone become texts."""
    found = cursor.sql(question)
    if found is None:
        return question
    zoned = ["TIME ZONE" in str(kind) for kind in found.types]
    if not any(zoned):
        return question
    places = [f"c{n}" for n in range(len(zoned))]
    columns = ", ".join(
        f"{place}::varchar as {_quoted(name)}" if has_zone else f"{place} as {_quoted(name)}"
        for place, name, has_zone in zip(places, found.columns, zoned, strict=True)
    )
    inner = question.strip().rstrip(";")
    return f"select {columns} from (\n{inner}\n) as answer({', '.join(places)})"


def fetched(cursor: duckdb.DuckDBPyConnection, bounds: Bounds) -> list[tuple[Any, ...]]:
    """Return the rows of an answer, one more than is shown; refuse one that is too large."""
    rows, size = list[tuple[Any, ...]](), 0
    while len(rows) <= bounds.rows:
        more = cursor.fetchmany(min(_AT_ONCE, bounds.rows + 1 - len(rows)))
        if not more:
            break
        rows += more
        size += sum(_size(value) for row in more for value in row)
        if size > bounds.bytes:
            raise NotAnswered(
                f"the answer is longer than {bounds.bytes / 2**20:g} MiB;"
                " ask for fewer rows, or for a part of each text"
            )
    return rows


def _size(value: Any) -> int:
    """Return about how long a value is when it is written down."""
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    if isinstance(value, dict):
        return sum(_size(key) + _size(one) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return 8


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none is there twice: `n`, `n_2`."""
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found


def plain(value: Any) -> Any:
    """Return a value as JSON has it; times are those of UTC."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds") + "+00:00"
    if isinstance(value, (date, clock_time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


__all__ = [
    "BESIDE",
    "MOST_ROWS",
    "Answer",
    "Bounds",
    "Copy",
    "NotAnswered",
    "copied",
    "demand_select",
    "distinct",
    "fill",
    "names_results",
    "plain",
    "shown",
]
