"""Copy the log out of Postgres, as fast as what is installed allows: by Arrow, else by CSV.

Both ways end in the same tables. Nothing is written to Postgres, and only names from here and a
time stand in what it is asked.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from noetl_mcp.database import connect, statements

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SQL = statements(__file__, "copied.sql")
How = Literal["arrow", "csv"]
LONGEST_LINE = 16 * 2**20
EVERYTHING = datetime(1970, 1, 1, tzinfo=UTC)
FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)
PATIENCE = timedelta(minutes=10)
_NUMBER, _COUNT, _TEXT, _TIME = "bigint", "integer", "varchar", "timestamp"
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "events": {
        "id": _NUMBER,
        "ts": _TIME,
        "kind": _COUNT,
        "execution_id": _NUMBER,
        "idx": _COUNT,
        "item": _NUMBER,
        "attempt": _COUNT,
        "worker": _NUMBER,
        "ready_at": _TIME,
        "leased_at": _TIME,
        "data": _TEXT,
    },
    "executions": {
        "id": _NUMBER,
        "plan_id": _COUNT,
        "status": _COUNT,
        "round": _COUNT,
        "path": _TEXT,
        "version": _COUNT,
        "key": _TEXT,
        "parent_execution": _NUMBER,
        "rerun_of": _NUMBER,
        "created_at": _TIME,
        "ended_at": _TIME,
        "error": _TEXT,
    },
    "plan_steps": {"plan_id": _COUNT, "idx": _COUNT, "name": _TEXT, "type": _TEXT},
    "kinds": {"kind": _COUNT, "name": _TEXT},
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where the log is, and how it is brought from there."""

    dsn: str
    how: How
    folder: Path
    since: datetime = EVERYTHING
    until: datetime = FOR_EVER
    results: bool = True
    """Whether payloads and results are brought, too."""

    @contextmanager
    def offered(self, into: "DuckDBPyConnection", name: str) -> Iterator[None]:
        """Let the rows of a table be read, once, as `offered_NAME`."""
        question = SQL[name].format(
            since=self.since.astimezone(UTC).isoformat(),
            until=self.until.astimezone(UTC).isoformat(),
            results=str(self.results).lower(),
        )
        offer = self._by_arrow if self.how == "arrow" else self._by_csv
        with offer(into, name, question):
            yield

    @contextmanager
    def _by_arrow(self, into: "DuckDBPyConnection", name: str, question: str) -> Iterator[None]:
        postgres = import_module("adbc_driver_postgresql.dbapi")  # an extra; it has no types
        with postgres.connect(self.dsn) as connection, connection.cursor() as cursor:
            cursor.execute(question)
            into.register(f"offered_{name}", cursor.fetch_record_batch())
            yield
            into.unregister(f"offered_{name}")

    @contextmanager
    def _by_csv(self, into: "DuckDBPyConnection", name: str, question: str) -> Iterator[None]:
        path = self.folder / f"{name}.csv"
        with (
            connect(
                self.dsn, application_name="noetl-mcp ask", statement_timeout=PATIENCE
            ) as connection,
            path.open("wb") as file,
            connection.cursor().copy(f"copy ({question}) to stdout (format csv)".encode()) as rows,
        ):
            for block in rows:
                file.write(block)
        columns = ", ".join(f"'{column}': '{kind}'" for column, kind in COLUMNS[name].items())
        place = str(path).replace("'", "''")
        into.execute(
            f"create temp view offered_{name} as select * from read_csv('{place}',"
            f" columns = {{{columns}}}, header = false, auto_detect = false, delim = ',',"
            " quote = '\"', escape = '\"', allow_quoted_nulls = false,"
            f" max_line_size = {LONGEST_LINE})"
        )
        yield
        into.execute(f"drop view offered_{name}")
        path.unlink()


def quickest() -> How:
    """Return how the log is best brought here."""
    is_there = all(find_spec(name) for name in ("pyarrow", "adbc_driver_postgresql"))
    return "arrow" if is_there else "csv"


__all__ = ["COLUMNS", "EVERYTHING", "FOR_EVER", "How", "Source", "quickest"]
