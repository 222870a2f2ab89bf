"""One end of a transfer that is a Postgres: a connection of its own, used by one thread.

Rows go through COPY and are never held. `stop` may be called from anywhere and ends what runs.
Knows no template; values of a query are quoted by the driver, never pasted.
"""

import os
import re
import select
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import generators, pq, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import error_from_result

from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.tasks.calls import Failed, Statement, UnknownOutcome
from noetl_mcp.tasks.duckdb_values import quoted
from noetl_mcp.tasks.postgres import conninfo
from noetl_mcp.tasks.postgres_errors import failure, is_lost
from noetl_mcp.tasks.postgres_values import ARRAYS, write
from noetl_mcp.tasks.save_rows import refusal, spelt, table_name
from noetl_mcp.tasks.specs_data import PostgresServer
from noetl_mcp.tasks.sql_script import masked
from noetl_mcp.tasks.sql_text import parts
from noetl_mcp.tasks.transfer_columns import Column
from noetl_mcp.tasks.transfer_pipe import BLOCK

_LOOK_MILLISECONDS = 500
_HABITS = (
    "SET LOCAL datestyle TO ISO; SET LOCAL intervalstyle TO postgres; SET LOCAL timezone TO 'UTC'; "
    "SET LOCAL bytea_output TO hex; SET LOCAL extra_float_digits TO 1; "
    "SET LOCAL standard_conforming_strings TO on"
)
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), t.typcategory, format_type(a.atttypid, NULL),
       a.atttypmod
  FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
 WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
 ORDER BY a.attnum
"""
_TYPES = "SELECT oid, format_type(oid, NULL), typcategory FROM pg_type WHERE oid = ANY(%s)"
_PLACE = re.compile(r"COPY [^,]*, line \d+(?:, column [^:]+)?")
_NATURAL = {
    "boolean": "BOOLEAN",
    "bytea": "BLOB",
    "date": "DATE",
    "double precision": "DOUBLE",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "smallint": "SMALLINT",
    "real": "FLOAT",
    "json": "JSON",
    "jsonb": "JSON",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "time without time zone": "TIME",
    "time with time zone": "TIMETZ",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMPTZ",
}
_NAMES = {16: "boolean", 20: "bigint", 23: "integer", 25: "text", 114: "json", 1700: "numeric"}
_NAMES[3802] = "jsonb"
_MOST_DIGITS = 38


class PostgresEnd:
    """A connection and its transaction; remembers how far things went, for whoever must judge."""

    def __init__(self, server: PostgresServer, auth: Mapping[str, Mapping[str, Any]], which: str):
        self._conninfo = conninfo(server, auth)
        password = str(conninfo_to_dict(self._conninfo).get("password") or "")
        self.secrets = frozenset({password} - {""})
        self.which = which
        self.is_stopped = False
        self.is_kept = False
        self._link: psycopg.Connection[Any] | None = None

    @property
    def link(self) -> psycopg.Connection[Any]:
        """The connection, once it is open."""
        assert self._link is not None
        return self._link

    def open(self, *, writes: bool, seconds: float | None) -> None:
        """Connect and begin; what takes longer than `seconds` is ended by the server too."""
        bound = 0 if seconds is None else round(seconds * 1000) + _LOOK_MILLISECONDS
        mode = "READ WRITE" if writes else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._told():
            self._link = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
            # A query last: from then on nobody can turn READ ONLY off.
            self._link.execute(
                f"BEGIN {mode}; {_HABITS}; SET LOCAL statement_timeout TO {bound}; SELECT"
            )

    def commit(self) -> None:
        """Keep what was done."""
        self.is_kept = True
        with self._told():
            self.link.execute("COMMIT")

    def close(self) -> None:
        """Let go of the connection; what was not kept is undone."""
        if self._link is not None:
            self._link.close()

    def stop(self) -> None:
        """End whatever runs, from any thread: the way to the server is cut."""
        self.is_stopped = True
        link = self._link
        if link is None:
            return
        with (
            suppress(psycopg.Error, OSError),
            socket.socket(fileno=os.dup(link.pgconn.socket)) as way,
        ):
            way.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the driver says into the outcome of the step."""
        try:
            yield
        except psycopg.Error as error:
            raise self._outcome(error) from None

    def _outcome(self, error: psycopg.Error) -> Failed | UnknownOutcome:
        """Return what an error means for the step."""
        said = masked(str(error).strip() or type(error).__name__, self.secrets)
        if self._link is None:
            return Failed("not-sent", f"the {self.which} cannot be reached: {said}")
        if is_lost(error.sqlstate):
            if self.is_kept:
                return UnknownOutcome("connection-lost", f"{said}; it may have been kept")
            return Failed("connection-lost", f"the {self.which} was lost: {said}; nothing was kept")
        made = failure(str(error.sqlstate), error.diag, statement=None, secrets=self.secrets)
        place = _PLACE.search(error.diag.context or "")
        where = f" ({masked(place[0], self.secrets)})" if place else ""
        detail = (
            f": {masked(error.diag.message_detail, self.secrets)}"
            if (error.diag.message_detail)
            else ""
        )
        return Failed(
            made.code,
            f"the {self.which} refused: {made.message}{detail}{where}",
            retriable=made.retriable,
            details=made.details,
        )

    def table(self, text: str) -> tuple[str, list[Column]]:
        """Return the name of a table as SQL writes it, and its columns."""
        written = table_name(text)
        if len(written) > 2:
            raise refusal("no-table", f"'{text}' names another database, which has its own server")
        for tried in dict.fromkeys((written, tuple(part.lower() for part in written))):
            name = spelt(tried)
            with self._told():
                found = self.link.execute("SELECT to_regclass(%s)::oid", (name,)).fetchone()
                if found is None or found[0] is None:
                    continue
                rows = self.link.execute(_COLUMNS, (found[0],)).fetchall()
            return name, [Column(row[0], row[1], row[2], _natural(row[3], row[4])) for row in rows]
        raise refusal("no-table", f"there is no table '{text}' in the {self.which}")

    def written(self, statement: Statement) -> str:
        """Return a query with its values in it, each quoted by the driver."""
        first, *rest = parts(statement)
        pieces = [first]
        for value, text in zip(statement.values, rest, strict=True):
            pieces += (self._literal(value), text)
        return "".join(pieces)

    def _literal(self, value: object) -> str:
        one = write(uncovered(value))
        if one.text is None:
            return "NULL"
        text = sql.Literal(one.text.decode()).as_string(self.link)
        name = _NAMES.get(one.type)
        item = next((item for item, array in ARRAYS.items() if array == one.type), 0)
        if name is None and item in _NAMES:
            name = f"{_NAMES[item]}[]"
        return f" {text}::{name} " if name else f" {text} "

    def columns_of(self, query: str) -> list[Column]:
        """Return the columns that a query gives; that it is one is asked of the server."""
        asked = f"SELECT * FROM (\n{query}\n) AS noetl_rows LIMIT 0".encode()
        with self._told():
            self.link.pgconn.send_query_params(asked, None)  # takes one statement and no more
            (result,) = self.link.wait(generators.execute(self.link.pgconn))
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
            names = [(result.fname(n) or b"").decode() for n in range(result.nfields)]
            oids = [result.ftype(n) for n in range(result.nfields)]
            known = {row[0]: row[1:] for row in self.link.execute(_TYPES, (oids,)).fetchall()}
        return [
            Column(name, known[oid][0], known[oid][1], _natural(known[oid][0], result.fmod(n)))
            for n, (name, oid) in enumerate(zip(names, oids, strict=True))
        ]

    def copy_out(self, statement: str, take: Callable[[bytes], None]) -> int:
        """Hand on what a COPY gives, in blocks, and return how many rows there were."""
        with self._told():
            return self._copied_out(statement, take)

    def _copied_out(self, statement: str, take: Callable[[bytes], None]) -> int:
        connection = self.link.pgconn
        self._begin_copy(statement, pq.ExecStatus.COPY_OUT)
        rows = held = 0
        waiting: list[bytes] = []
        ready = select.poll()
        ready.register(connection.socket, select.POLLIN)
        while True:
            size, row = connection.get_copy_data(1)
            if size > 0:
                rows += 1
                held += size
                waiting.append(bytes(row))
                if held < BLOCK:
                    continue
            if waiting and (held >= BLOCK or size < 0):
                take(b"".join(waiting))
                waiting.clear()
                held = 0
            if size < 0:
                break
            if size == 0:
                ready.poll(_LOOK_MILLISECONDS)
                connection.consume_input()
        self._end_copy()
        return rows

    def copy_in(self, statement: str, blocks: Iterable[bytes]) -> int:
        """Give a COPY all blocks, and return how many rows it made of them."""
        with self._told():
            return self._copied_in(statement, blocks)

    def _copied_in(self, statement: str, blocks: Iterable[bytes]) -> int:
        connection = self.link.pgconn
        self._begin_copy(statement, pq.ExecStatus.COPY_IN)
        for block in blocks:
            while connection.put_copy_data(block) == 0:
                self._flushed()
            self._flushed()
        while connection.put_copy_end() == 0:
            self._flushed()
        return self._end_copy()

    def _flushed(self) -> None:
        """Wait until the server took what was sent; hear what it says meanwhile."""
        connection = self.link.pgconn
        ready = select.poll()
        ready.register(connection.socket, select.POLLIN | select.POLLOUT)
        while connection.flush() == 1:
            ready.poll(_LOOK_MILLISECONDS)
            connection.consume_input()

    def _begin_copy(self, statement: str, wanted: pq.ExecStatus) -> None:
        self.link.pgconn.send_query(statement.encode())
        (result,) = self.link.wait(generators.execute(self.link.pgconn))
        if result.status != wanted:
            raise error_from_result(result)

    def _end_copy(self) -> int:
        self._flushed()
        results: Sequence[pq.abc.PGresult] = self.link.wait(generators.execute(self.link.pgconn))
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
        return results[-1].command_tuples or 0

    def execute(self, statement: str) -> int:
        """Send a statement of our own and return how many rows it touched."""
        with self._told():
            return max(self.link.execute(statement).rowcount, 0)


def _natural(type_: str, modifier: int) -> str:
    """Return the DuckDB type that holds what a type of Postgres holds; a text holds anything."""
    if type_.endswith("[]"):
        return f"{_natural(type_.removesuffix('[]'), -1)}[]"
    if type_ == "numeric" and modifier >= 0:
        digits, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
        if digits <= _MOST_DIGITS and scale <= digits:
            return f"DECIMAL({digits},{scale})"
    return _NATURAL.get(type_, "VARCHAR")


def copied_in(table: str, names: Sequence[str], form: str) -> str:
    """Return the COPY that fills columns of a table."""
    return f"COPY {table} ({', '.join(map(quoted, names))}) FROM STDIN {form}"


__all__ = ["PostgresEnd", "copied_in"]
