"""The DuckDB of a transfer: it reads files and tables, makes types of texts, and fills tables.

It lives in memory for one transfer and attaches what it reads and writes. It reaches no network and
no file but those it is given, holds few rows at a time, and spills the rest to a folder that goes.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.tasks.calls import Failed, Statement, UnknownOutcome
from noetl_mcp.tasks.csv_form import csv_rules
from noetl_mcp.tasks.duckdb_plan import changes
from noetl_mcp.tasks.duckdb_setup import rows_as_json
from noetl_mcp.tasks.duckdb_values import kind_of_statement, quoted, text_of, to_bind
from noetl_mcp.tasks.folders import ending
from noetl_mcp.tasks.save_rows import listed, refusal, spelt, table_name
from noetl_mcp.tasks.sql_pieces import refused
from noetl_mcp.tasks.sql_text import numbered
from noetl_mcp.tasks.transfer_columns import NULL, Column

USUAL_MB, JSON_MB, INDEXED_MB = 64, 192, 1024
ROW_SHARE = 32
"""A row may take this part of the memory."""
_SELECT = duckdb.StatementType.SELECT
_CONFIG: Mapping[str, Any] = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "threads": 2,
}
_READERS = {
    "csv": "read_csv({0}, {3}, max_line_size = {1}, buffer_size = {2})",
    "tsv": "read_csv({0}, {3}, max_line_size = {1}, buffer_size = {2})",
    "json": "read_json({0}, maximum_object_size = {2})",
    "jsonl": "read_json({0}, maximum_object_size = {2})",
    "ndjson": "read_json({0}, maximum_object_size = {2})",
    "parquet": "read_parquet({0})",
}
WRITTEN = {
    "csv": "FORMAT csv, HEADER",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "json": "FORMAT json, ARRAY true",
    "jsonl": "FORMAT json",
    "ndjson": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480",
}
_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
 WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(table_name) = lower($3)
 ORDER BY column_index
"""
_INDEXES = """
SELECT (SELECT count(*) FROM duckdb_constraints()
         WHERE database_name = $1 AND schema_name = $2 AND table_name = $3
           AND constraint_type IN ('PRIMARY KEY', 'UNIQUE'))
     + (SELECT count(*) FROM duckdb_indexes()
         WHERE database_name = $1 AND schema_name = $2 AND table_name = $3)
"""
_CSV_ERROR = re.compile(r"CSV Error on Line: (\d+)")
_CONVERSION = re.compile(r'Error when converting column "([^"]*)"\. (.*)')
_MAY_HELP = (duckdb.TransactionException, duckdb.OutOfMemoryException)
_IN_DOUBT = (duckdb.FatalException, duckdb.InternalException, duckdb.IOException)


@dataclass(frozen=True, slots=True)
class Rows:
    """What gives rows in this DuckDB: a query with its values, and the columns it has."""

    query: str
    values: tuple[object, ...] = ()
    columns: tuple[Column, ...] = ()


@dataclass(slots=True, eq=False)
class Hub:
    """One DuckDB in memory; all but `stop` belong to one thread at a time."""

    scratch: str
    memory_mb: int | None = None
    is_stopped: bool = False
    is_kept: bool = False
    _mb: int = USUAL_MB
    _attached: dict[Path, str] = field(default_factory=dict)
    _connection: duckdb.DuckDBPyConnection | None = None

    def open(self) -> None:
        """Begin with nothing in it."""
        config = {**_CONFIG, "temp_directory": os.path.join(self.scratch, "spilled")}
        with self._told():
            self._connection = duckdb.connect(":memory:", config=config)
        self.tell("SET TimeZone = 'UTC'")

    def attach(self, path: Path, name: str, *, writes: bool) -> str:
        """Attach a database file and return the name it has here."""
        if path not in self._attached:
            if not path.exists():
                raise Failed("no-such-file", f"'{path.name}' is not there", retriable=False)
            option = "" if writes else " (READ_ONLY)"
            self.tell(f"ATTACH {text_of(str(path))} AS {quoted(name)}{option}")
            self._attached[path] = name
        return self._attached[path]

    def write_as_read(self) -> None:
        """Write files row by row, as rows come through a pipe.

        A pipe is one batch to DuckDB, and it would hold the text of a whole batch to keep the
        order; with one thread the order is kept anyway.
        """
        self.tell("SET threads = 1")
        self.tell("SET preserve_insertion_order = false")

    def use(self, name: str) -> None:
        """Have names without a database mean those of an attached one."""
        self.tell(f"USE {quoted(name)}")

    def shut(self, paths: Sequence[str], *, is_indexed: bool) -> None:
        """Shut the doors: from here on only these paths can be opened."""
        usual = JSON_MB if any("json" in ending(path) for path in paths) else USUAL_MB
        self._mb = self.memory_mb or (INDEXED_MB if is_indexed else usual)
        self.tell(f"SET memory_limit = '{self._mb}MiB'")
        self.tell("SET allowed_paths = $1", [list(paths)])
        self.tell("SET allowed_directories = $1", [[self.scratch + os.sep]])
        self.tell("SET enable_external_access = false")
        self.tell("SET lock_configuration = true")

    def tell(self, text: str, values: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """Send a statement of our own."""
        with self._told():
            return self._live().execute(text, list(values) or None)

    def count(self, text: str, values: Sequence[object] = ()) -> int:
        """Send a statement and return how many rows it touched."""
        with self._told():
            row = self.tell(text, values).fetchone()
        return int(row[0]) if row else 0

    def stop(self) -> None:
        """End what runs, from any thread; to be said again until it has ended."""
        self.is_stopped = True
        if self._connection is not None:
            with suppress(duckdb.ConnectionException):  # its thread may just have closed it
                self._connection.interrupt()

    def close(self) -> None:
        """Let go of it; what was not kept is undone."""
        if self._connection is not None:
            self._connection.close()

    def commit(self) -> None:
        """Keep what was done."""
        self.is_kept = True
        self.tell("COMMIT")

    def table(self, text: str, database: str) -> tuple[str, list[Column]]:
        """Return the name of a table as SQL writes it, and its columns."""
        name = table_name(text)
        if len(name) > 2:
            raise refusal("no-table", f"{spelt(name)} names another database; name its file")
        schema, table = name if len(name) == 2 else ("main", name[0])
        found = self.tell(_COLUMNS, [database, schema, table]).fetchall()
        if not found:
            raise refusal("no-table", f"there is no table '{text}' in the DuckDB file")
        schema, table = found[0][:2]
        columns = [Column(row[2], row[3], natural=row[3]) for row in found]
        return spelt((database, schema, table)), columns

    def is_indexed(self, name: str) -> bool:
        """Whether a table has an index, which takes memory while the table is filled."""
        return self.count(_INDEXES, table_name(name)) > 0

    def from_query(self, statement: Statement) -> Rows:
        """Return the rows of a query that somebody wrote; that it only reads is checked."""
        text = numbered(statement)
        with self._told():
            kinds = self._live().extract_statements(text)
            is_query = len(kinds) == 1 and kind_of_statement(kinds[0]) == _SELECT
            values = [_bound(one) for one in statement.values]
            if not is_query or changes(self._live(), text, values):
                raise refused("'sql' of the source must be one query that only reads")
        return self._described(f"(\n{text.rstrip().rstrip(';')}\n)", values)

    def from_table(self, name: str) -> Rows:
        """Return all rows of a table."""
        return self._described(name, ())

    def from_file(self, path: Path) -> Rows:
        """Return the rows of a data file."""
        if not path.is_file():
            raise Failed("no-such-file", f"'{path.name}' is not there", retriable=False)
        return self._described(self.reading(path), ())

    def reading(self, path: Path) -> str:
        """Return what reads a data file."""
        reader = _READERS.get(ending(path.name))
        if reader is None:
            raise refusal("wrong-format", f"a data file ends with {', '.join(sorted(_READERS))}")
        longest = self._longest_row
        return reader.format(text_of(str(path)), longest, 2 * longest, csv_rules(path))

    @property
    def _longest_row(self) -> int:
        return self._mb * 1024 * 1024 // ROW_SHARE

    def from_rows(self, rows: object, like: Sequence[Column]) -> Rows:
        """Return rows that are given as a list of maps; none at all have the columns of `like`."""
        if rows == [] and like:
            nothing = ", ".join(f"NULL AS {quoted(one.name)}" for one in like)
            return self._described(f"(SELECT {nothing} WHERE false)", ())
        text, structure = rows_as_json("source", rows)
        # The structure holds names and types; no value is in it.
        unnested = f"unnest(from_json($1, {text_of(json.dumps([structure]))}))"
        self.tell(
            f"CREATE TEMP TABLE noetl_rows AS SELECT r.* FROM (SELECT {unnested} AS r) AS t", [text]
        )
        return self._described("temp.noetl_rows", ())

    def from_pipe(self, path: str, types: Mapping[str, str]) -> str:
        """Return what reads the rows that a Postgres writes into a pipe."""
        columns = ", ".join(f"{text_of(name)}: {text_of(kind)}" for name, kind in types.items())
        row = self._longest_row
        return (
            f"read_csv({text_of(path)}, auto_detect = false, header = false, delim = ',', "
            f"quote = '\"', escape = '\"', nullstr = {text_of(NULL)}, allow_quoted_nulls = false, "
            f"new_line = '\\n', parallel = false, max_line_size = {row}, buffer_size = {2 * row}, "
            f"columns = {{{columns}}})"
        )

    def into_pipe(
        self, select: str, values: Sequence[object], path: str, texts: Sequence[str]
    ) -> int:
        """Write rows into a pipe, as a Postgres reads them."""
        forced = f", FORCE_QUOTE ({listed(texts)})" if texts else ""
        form = f"FORMAT csv, HEADER false, NULLSTR {text_of(NULL)}, USE_TMP_FILE false{forced}"
        return self.count(f"COPY ({select}) TO {text_of(path)} ({form})", values)

    def into_file(self, select: str, values: Sequence[object], path: Path, kind: str) -> int:
        """Write rows into a file."""
        form = WRITTEN[kind]
        return self.count(f"COPY ({select}) TO {text_of(str(path))} ({form})", values)

    def _described(self, query: str, values: Any) -> Rows:
        bound = tuple(values)
        asked = f"SELECT * FROM {query} AS noetl_rows"
        with self._told():
            relation = self._live().sql(asked, params=list(bound) or None)
        columns = tuple(
            Column(name, str(known), natural=str(known), known=known)
            for name, known in zip(relation.columns, relation.types, strict=True)
        )
        return Rows(query, bound, columns)

    def _live(self) -> duckdb.DuckDBPyConnection:
        if self.is_stopped or self._connection is None:
            raise duckdb.InterruptException("stopped")
        return self._connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what DuckDB says into the outcome of the step."""
        try:
            yield
        except duckdb.Error as error:
            raise self._outcome(error) from None

    def _outcome(self, error: duckdb.Error) -> Failed | UnknownOutcome:
        """Return what an error means for the step."""
        said = str(error).strip()
        if self.is_kept and isinstance(error, _IN_DOUBT):
            return UnknownOutcome("duckdb-broken", said)
        if "Could not set lock" in said or "already attached" in said or "same database" in said:
            return Failed("duckdb-locked", f"the DuckDB file is in use: {said.splitlines()[0]}")
        name = type(error).__name__.removesuffix("Exception") or "Error"
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
        return Failed(
            f"duckdb-{code}",
            f"{_told(said)}; nothing was kept",
            retriable=isinstance(error, _MAY_HELP),
        )


def _told(said: str) -> str:
    """Return what is to be known of an error: for a row that cannot be read, where and why."""
    row = _CSV_ERROR.search(said)
    if row is None:
        return said.split("\n\nPossible", 1)[0].split("\n\nLINE", 1)[0]
    found = _CONVERSION.search(said)
    if found is not None:
        return f"line {row[1]} of what the source sent, column {found[1]}: {found[2]}"
    rest = [one for one in said.splitlines()[1:] if one and not one.startswith("Original Line")]
    why = rest[0] if rest else said.splitlines()[0]
    if "Maximum line size" in said:
        why = "a row is longer than a 32nd of 'memory_mb'; raise it"
    return f"line {row[1]} of what the source sent: {why}"


def _bound(value: object) -> object:
    made, kind = to_bind(uncovered(value))
    if kind is None:
        return made
    from duckdb.value.constant import Value

    return Value(made, duckdb.sqltype(kind))


__all__ = ["INDEXED_MB", "ROW_SHARE", "USUAL_MB", "WRITTEN", "Hub", "Rows"]
