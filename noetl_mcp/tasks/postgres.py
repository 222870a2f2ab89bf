"""The task type `postgres`: statements for a Postgres, read-only unless the call writes.

What a statement may see and leave behind ends with the call: its transaction is rolled back or
committed, and the session is wiped before another call gets it. There is no default connection.
Knows no template; the statements come bound.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import capabilities, generators, pq
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import error_from_result

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.tasks.calls import Call, Failed, Statement, UnknownOutcome
from noetl_mcp.tasks.postgres_errors import OPEN_PLACE, WRONG_GUESS, failure, is_lost
from noetl_mcp.tasks.postgres_pool import Connections
from noetl_mcp.tasks.postgres_values import TEXT, UNKNOWN, Reader, Written, reader, write
from noetl_mcp.tasks.specs_data import PostgresServer, PostgresSettings
from noetl_mcp.tasks.sql_pieces import refused
from noetl_mcp.tasks.sql_script import (
    Most,
    demand_lease,
    masked,
    refuse_reaching_out,
    script,
    secrets_in,
)
from noetl_mcp.tasks.sql_text import numbered
from noetl_mcp.tasks.sql_values import Answer, shaped

T = TypeVar("T")
Link = psycopg.AsyncConnection[Any]

CONNECT_SECONDS = 10
CLEANING_SECONDS = 5
SPARE_MILLISECONDS = 500
CHUNK = 200
_KEYS = ("host", "hostaddr", "port", "user", "password", "dbname", "sslmode", "sslrootcert")
_OPEN_NUMBER = re.compile(r"\$(\d+)")
_ROWS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.TUPLES_CHUNK, pq.ExecStatus.SINGLE_TUPLE)
_COPIES = (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH)
# Answers must not depend on how a server was set up.
_HABITS = (
    "SET {0}datestyle TO ISO; SET {0}intervalstyle TO postgres; SET {0}bytea_output TO hex; "
    "SET {0}standard_conforming_strings TO on"
)


class Postgres:
    """Runs statements; keeps a bounded number of connections for each server and role."""

    def __init__(self, *, most_connections: int = 8, idle_seconds: float = 60) -> None:
        self._connections: Connections[Link] = Connections(
            opened=_opened,
            works=_works,
            cleaned=_cleaned,
            most=most_connections,
            idle=idle_seconds,
        )

    async def execute(self, call: Call) -> Json:
        """Send the statements and return what they gave."""
        settings: PostgresSettings = call.settings
        statements = script(call)
        for one in () if call.writes else statements:
            refuse_reaching_out(one)

        async def all_of_them() -> Json:
            answers = [await session.run(one, at) for at, one in enumerate(statements, 1)]
            return shaped(answers, settings.rows_as)

        async with self.session(call, settings, statements) as session:
            session.most = Most(settings.max_rows, settings.max_bytes)
            session.isolation = settings.isolation or ""
            if settings.transaction:
                return await session.unit(all_of_them)
            answers = [await session.alone(one, at) for at, one in enumerate(statements, 1)]
            return shaped(answers, settings.rows_as)

    @asynccontextmanager
    async def session(
        self, call: Call, server: PostgresServer, statements: Sequence[Statement]
    ) -> AsyncIterator["Session"]:
        """Yield a session of the server that a call names; its errors become the call's outcome."""
        target = conninfo(server, call.auth)
        session = Session(call)
        secrets = secrets_in(statements) | {str(conninfo_to_dict(target).get("password") or "")}
        try:
            async with (
                asyncio.timeout(call.timeout) as bound,
                self._connections.lease(target) as session.link,
            ):
                yield session
                if not bound.expired():  # it is done: cleaning up must not make it a failure
                    bound.reschedule(None)
        except TimeoutError:
            said = f"there was no answer within {call.timeout or CONNECT_SECONDS:g} seconds"
            raise session.broken("timeout", said) from None
        except psycopg.Error as error:
            if is_lost(error.sqlstate):
                said = str(error).strip() or type(error).__name__
                raise session.broken("connection-lost", masked(said, secrets - {""})) from None
            at = session.statement
            raise failure(
                str(error.sqlstate), error.diag, statement=at, secrets=secrets - {""}
            ) from None

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._connections.close()


class _Again(Exception):
    """The types of a statement were guessed wrongly; nothing was kept, so it is done anew."""


class Session:
    """A connection inside one call. Remembers how far things went, for whoever must judge."""

    link: Link

    def __init__(self, call: Call) -> None:
        self.call = call
        self.most = Most()
        self.isolation = ""
        self.statement: int | None = None
        self._stage = "connecting"  # then undoable, and kept once the server may keep something
        self._is_kept = False
        self._types: dict[tuple[str, int], int] = {}
        self._by_content: set[str] = set()

    def broken(self, code: str, message: str) -> Failed | UnknownOutcome:
        """Return what it means that no answer came: certain unless something may have been kept."""
        if self._stage == "connecting":
            return Failed("not-sent", f"there is no connection: {' '.join(message.split())}")
        evidence: Json = {"statement": self.statement, "stage": self._stage}
        if self._stage == "kept" and self.call.writes:
            return UnknownOutcome(code, message, evidence=evidence)
        return Failed(code, f"{message}; nothing was kept", details=evidence)

    async def unit(self, work: Callable[[], Awaitable[T]]) -> T:
        """Carry out some work as one transaction; work that reads leaves nothing behind."""
        while True:
            await self._begin()
            try:
                result = await work()
            except _Again:
                await self.link.execute("ROLLBACK")
                continue
            await self._end()
            return result

    async def alone(self, statement: Statement, number: int) -> Answer:
        """Carry out a statement outside of a transaction; one that reads has its own."""
        if not self.call.writes:
            return await self.unit(lambda: self.run(statement, number))
        await self.link.execute(f"{_HABITS.format('')}; {self._bound('')}")
        while True:
            try:
                self._stage = "kept"
                answer = await self.run(statement, number, keeps=True)
                self._is_kept = True
                return answer
            except _Again:
                continue

    async def run(
        self, statement: Statement, number: int | None = None, *, keeps: bool = False
    ) -> Answer:
        """Send one statement and return its answer; raise _Again when it must all be done anew."""
        self.statement = number
        text = numbered(statement)
        values = [uncovered(value) for value in statement.values]
        written = await self._written(text, values)
        self._ask()
        try:
            asked = _asked(self.link.pgconn, text.encode(), written, self.most, keeps)
            return await self.link.wait(asked)
        except psycopg.Error as error:
            place = _OPEN_NUMBER.search(error.diag.message_primary or "")
            if error.sqlstate != OPEN_PLACE or place is None:
                raise
            spot = (text, int(place[1]) - 1)
            if spot in self._types or not isinstance(values[spot[1]], str):
                raise
            self._types[spot] = TEXT
            raise _Again from None

    def _ask(self) -> None:
        if self.call.writes:
            demand_lease(self.call.around.may_send, self.statement, is_kept=self._is_kept)

    async def _begin(self) -> None:
        mode = "READ WRITE" if self.call.writes else "READ ONLY"
        isolation = f"ISOLATION LEVEL {self.isolation.upper()} " if self.isolation else ""
        # A query first: from then on nobody can turn READ ONLY off.
        await self.link.execute(
            f"BEGIN {isolation}{mode}; {_HABITS.format('LOCAL ')}; {self._bound('LOCAL ')}; SELECT"
        )
        self._stage = "undoable"

    async def _end(self) -> None:
        if not self.call.writes:
            await self.link.execute("ROLLBACK")
            return
        self.call.around.may_send()
        self._stage = "kept"
        self.statement = None
        await self.link.execute("COMMIT")

    def _bound(self, local: str) -> str:
        """Return the server's own bound, a little later, for when nobody is left to cancel."""
        seconds = self.call.timeout
        milliseconds = 0 if seconds is None else round(seconds * 1000) + SPARE_MILLISECONDS
        return f"SET {local}statement_timeout TO {milliseconds}"

    async def _written(self, text: str, values: Sequence[object]) -> list[Written]:
        """Return the values as they go out; the server is asked what it expects for lists."""
        wanted = [self._types.get((text, at), UNKNOWN) for at in range(len(values))]
        if any(isinstance(value, list) for value in values) and text not in self._by_content:
            known = [
                UNKNOWN if isinstance(value, list) else write(value, wanted[at]).type
                for at, value in enumerate(values)
            ]
            try:
                wanted = await self.link.wait(_wanted(self.link.pgconn, text.encode(), known))
            except psycopg.Error as error:
                if error.sqlstate not in WRONG_GUESS:
                    raise
                self._by_content.add(text)
                raise _Again from None
        return [
            write(value, wanted[at] if isinstance(value, list) else self._types.get((text, at), 0))
            for at, value in enumerate(values)
        ]


def conninfo(server: PostgresServer, auth: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the connection string of the server that the settings or the credential name."""
    own = _parts(server.model_dump(exclude_none=True))
    lent = _parts(_credential(auth))
    if _is_place(own) and _is_place(lent):
        said = "the settings and the credential both name a server; keep one"
        raise Failed("no-credential", said, retriable=False)
    if not _is_place(own) and not _is_place(lent):
        said = "no server is named: give 'auth', 'dsn' or 'host'"
        raise Failed("no-credential", said, retriable=False)
    usual = {
        "application_name": "noetl-mcp",
        "connect_timeout": CONNECT_SECONDS,
        # Passwords come from the step, never from what lies about on the machine.
        "passfile": os.path.join(os.devnull, "none"),
        "password": "",
    }
    return make_conninfo(**{**usual, **lent, **own, "client_encoding": "utf8"})


def _is_place(parts: Mapping[str, object]) -> bool:
    return any(parts.get(key) for key in ("host", "hostaddr", "service"))


def _credential(auth: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the credential to use: the only one there is, or the only one for a Postgres."""
    if len(auth) == 1:
        return next(iter(auth.values()))
    fitting = [one for one in auth.values() if one.get("type") in ("postgres", "postgresql")]
    return fitting[0] if len(fitting) == 1 else {}


def _parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a map of settings says about a server, its connection string taken apart."""
    known: dict[str, Any] = {}
    dsn = next((given[key] for key in _DSN if given.get(key)), None)
    if dsn:
        try:
            known = dict(conninfo_to_dict(str(dsn)))
        except psycopg.Error:
            said = "the connection string is none that Postgres knows"
            raise Failed("no-credential", said, retriable=False) from None
    named = {_SPELLINGS.get(key, key): value for key, value in given.items() if value is not None}
    return {**known, **{key: named[key] for key in _KEYS if key in named}}


_DSN = ("dsn", "db_conn_string", "connection_string", "url")
_SPELLINGS = {
    "database": "dbname",
    "db_name": "dbname",
    "db_host": "host",
    "db_port": "port",
    "db_user": "user",
    "username": "user",
    "db_password": "password",
}


async def _opened(target: str) -> Link:
    # No statement is prepared behind our back: types may differ from call to call.
    return await psycopg.AsyncConnection.connect(target, autocommit=True, prepare_threshold=None)


async def _works(link: Link) -> bool:
    try:
        await link.execute("")
    except psycopg.Error:
        return False
    return True


async def _cleaned(link: Link) -> bool:
    """Forget what a call did to the session: settings, locks, temporary tables, listening."""
    try:
        await asyncio.wait_for(link.execute("DISCARD ALL"), CLEANING_SECONDS)
    except (psycopg.Error, TimeoutError):
        return False
    return True


def _asked(
    connection: pq.abc.PGconn, text: bytes, values: Sequence[Written], most: Most, keeps: bool
) -> PQGen[Answer]:
    """Send a statement and take its rows in chunks, so that too many never fill the memory."""
    types = [value.type for value in values]
    connection.send_query_params(text, [value.text for value in values], param_types=types)
    if capabilities.has_stream_chunked():
        connection.set_chunked_rows_mode(CHUNK)
    else:
        connection.set_single_row_mode()
    yield from generators.send(connection)
    columns: tuple[str, ...] = ()
    readers: tuple[Reader, ...] = ()
    rows, size, count = list[list[Json]](), 0, 0
    error: psycopg.Error | None = None
    while (result := (yield from generators.fetch(connection))) is not None:
        if result.status in _COPIES:
            raise refused("COPY from or to the client cannot be used; use INSERT or SELECT")
        if result.status in _ROWS:
            columns = tuple((result.fname(n) or b"").decode() for n in range(result.nfields))
            readers = readers or tuple(reader(result.ftype(n)) for n in range(result.nfields))
            if size <= most.bytes:
                new, more = _rows(result, readers, most.rows + 1 - len(rows))
                rows += new
                size += more
            if not keeps:
                most.demand(len(rows), size)
        elif result.status == pq.ExecStatus.FATAL_ERROR:
            error = error_from_result(result)
        count = result.command_tuples or count
    if error is not None:
        raise error
    most.demand(len(rows), size, done=True)
    return Answer(columns, tuple(rows), count)


def _rows(
    result: pq.abc.PGresult, readers: Sequence[Reader], most: int
) -> tuple[list[list[Json]], int]:
    """Return rows, and how many bytes they came as."""
    rows, size = list[list[Json]](), 0
    for at in range(min(most, result.ntuples)):
        row = list[Json]()
        for n, read in enumerate(readers):
            found = result.get_value(at, n)
            if found is None:
                row.append(None)
                continue
            size += len(found)
            row.append(read(found.decode()))
        rows.append(row)
    return rows, size


def _wanted(connection: pq.abc.PGconn, text: bytes, types: Sequence[int]) -> PQGen[list[int]]:
    """Ask which types a statement expects in its places; runs nothing."""
    connection.send_prepare(b"", text, param_types=types)
    for result in (yield from generators.execute(connection)):
        if result.status == pq.ExecStatus.FATAL_ERROR:
            raise error_from_result(result)
    connection.send_describe_prepared(b"")
    (described,) = yield from generators.execute(connection)
    if described.status == pq.ExecStatus.FATAL_ERROR:
        raise error_from_result(described)
    return [described.param_type(at) for at in range(len(types))]


__all__ = ["Link", "Postgres", "Session", "conninfo"]
