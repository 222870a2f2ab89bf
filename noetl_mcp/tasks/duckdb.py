"""The task type `duckdb`: SQL over files and rows, in memory or in a database file.

A call has a database of its own or opens a file for as long as it takes; it reads unless it writes.
It reaches no network and no file but those below the allowed folders, and loads only extensions
that are installed. What takes too long is interrupted. Knows no template.
"""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import duckdb
from duckdb.value.constant import Value

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.tasks.calls import Call, Failed, Statement, UnknownOutcome
from noetl_mcp.tasks.duckdb_plan import (
    PLANNED,
    may_write_files,
    refuse_odd_explain,
    run_by_name,
    writes_files,
)
from noetl_mcp.tasks.duckdb_setup import attach, fill_tables, load
from noetl_mcp.tasks.duckdb_values import form_of, kind_of_statement, quoted, to_bind
from noetl_mcp.tasks.folders import Folders
from noetl_mcp.tasks.specs_data import DuckdbSettings
from noetl_mcp.tasks.sql_pieces import files_written, first_words, refused
from noetl_mcp.tasks.sql_script import Most, demand_lease, masked, script, secrets_in, size_of
from noetl_mcp.tasks.sql_text import numbered
from noetl_mcp.tasks.sql_values import Answer, json_value, plain, shaped
from noetl_mcp.tasks.sql_words import looks_like_writing

T = TypeVar("T")
MEMORY = ":memory:"
_DISABLED = "file system operations are disabled"
_KIND = duckdb.StatementType
_ALWAYS_REFUSED = frozenset((_KIND.TRANSACTION, _KIND.LOAD, _KIND.EXTENSION))
_READS = PLANNED | frozenset(
    (
        *(_KIND.ALTER, _KIND.ANALYZE, _KIND.DETACH, _KIND.DROP, _KIND.EXPLAIN, _KIND.MULTI),
        *(_KIND.PRAGMA, _KIND.VACUUM),
    )
)
_GIVES_BACK = frozenset((_KIND.INSERT, _KIND.UPDATE, _KIND.DELETE, _KIND.MERGE_INTO))
_MAY_HELP = (duckdb.TransactionException, duckdb.OutOfMemoryException)
_IN_DOUBT = (duckdb.FatalException, duckdb.InternalException, duckdb.IOException)
_CONFIG: Mapping[str, Any] = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


@dataclass(frozen=True, slots=True)
class Opening:
    """What a call opens: the database, for what, and with what in it."""

    path: Path | None
    writes: bool
    folders: Folders
    settings: DuckdbSettings


class Duckdb:
    """Runs statements in threads; a database file is used by one call at a time.

    `folders` may be read, and written by calls that write; `readable` may only be read.
    """

    def __init__(
        self,
        *,
        folders: Iterable[Path | str] = (),
        readable: Iterable[Path | str] = (),
        most_at_once: int = 4,
    ) -> None:
        own = tuple(folders)
        self.folders = Folders(own)
        self._read = Folders((*own, *readable))
        self._threads = ThreadPoolExecutor(most_at_once, "duckdb")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def execute(self, call: Call) -> Json:
        """Send the statements and return what they gave."""
        settings: DuckdbSettings = call.settings
        statements = script(call)

        def work(session: "Session") -> Json:
            if settings.transaction:
                return session.unit(lambda: shaped(session.run_all(statements), settings.rows_as))
            return shaped(session.run_all(statements), settings.rows_as)

        return await self.carry(call, settings, statements, work)

    async def preview(self, call: Call) -> None:
        """Refuse, before anything is opened, what writes files where this worker allows none."""
        settings: DuckdbSettings = call.settings
        if not settings.database.startswith(MEMORY):
            self.folders.place(settings.database)
        for number, statement in enumerate(script(call), 1):
            for path in files_written(statement.text):
                if not self.folders.holds(path):
                    said = f"statement {number} writes '{path}'; {_reachable(self.folders)}"
                    raise Failed("duckdb-permission", said, retriable=False)

    async def carry(
        self,
        call: Call,
        settings: DuckdbSettings,
        statements: Sequence[Statement],
        work: Callable[["Session"], T],
    ) -> T:
        """Do some work in a thread, with the database open; interrupt it when it takes too long."""
        folders = self.folders if call.writes else self._read
        path = None
        if not settings.database.startswith(MEMORY):
            path = folders.checked(settings.database, make=call.writes)
        lock = self._locks.setdefault(str(path), asyncio.Lock()) if path else asyncio.Lock()
        opening = Opening(path, call.writes, folders, settings)
        session = Session(opening, call.around.may_send, secrets_in(statements))
        try:
            async with asyncio.timeout(call.timeout) as bound, lock:
                if call.writes:
                    call.around.may_send()
                return await self._watched(session, work, bound)
        except TimeoutError:
            said = f"it took longer than {call.timeout:g} seconds; what was open is undone"
            raise Failed("timeout", said) from None

    async def _watched(
        self, session: "Session", work: Callable[["Session"], T], bound: asyncio.Timeout
    ) -> T:
        working = self._threads.submit(session.carry, work)
        waiting = asyncio.wrap_future(working)
        waiting.add_done_callback(_heard)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            session.stop()
            while not working.done() and not working.cancel():
                session.interrupt()
                await asyncio.wait([waiting], timeout=0.05)
            if working.cancelled() or working.exception() or not bound.expired():
                raise
            return working.result()  # it was done before it could be stopped

    async def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _reachable(folders: Folders) -> str:
    """Say which files SQL may name."""
    if not folders.roots:
        return "this worker allows no folder; set NOETL_FILES"
    listed = ", ".join(f"'{root}'" for root in folders.roots)
    return f"SQL names files by their whole path, below {listed}; 'tables' takes relative ones"


def _heard(waiting: asyncio.Future[Any]) -> None:
    """Take note of an error, which nobody waits for any more when the work was stopped."""
    if not waiting.cancelled():
        waiting.exception()


class _Stopped(Exception):
    """The work was interrupted, because it took too long or nobody wants it any more."""


@dataclass(slots=True)
class Session:
    """A connection inside one call; all but `stop` and `interrupt` belong to its thread."""

    opening: Opening
    may_send: Callable[[], None]
    secrets: frozenset[str] = frozenset()
    connection: duckdb.DuckDBPyConnection | None = None
    statement: int | None = None
    _stopped: bool = False
    _in_unit: bool = False
    _committing: bool = False
    _is_kept: bool = False
    _run_by_name: frozenset[str] | None = None
    _scratch: list[str] = field(default_factory=list)

    def stop(self) -> None:
        """Let no further statement begin."""
        self._stopped = True

    def interrupt(self) -> None:
        """End the statement that runs."""
        connection = self.connection
        if connection is not None:
            with suppress(duckdb.ConnectionException):  # its thread may just have closed it
                connection.interrupt()

    def carry(self, work: Callable[["Session"], T]) -> T:
        """Open the database, do the work and close it; errors become failures."""
        try:
            self._ask()
            self._open()
            return work(self)
        except duckdb.InterruptException:
            raise _Stopped from None
        except duckdb.Error as error:
            raise self._outcome(error) from None
        finally:
            connection, self.connection = self.connection, None
            if connection is not None:
                connection.close()
            for path in self._scratch:
                shutil.rmtree(path, ignore_errors=True)

    def unit(self, work: Callable[[], T]) -> T:
        """Carry out some work as one transaction."""
        self.tell("BEGIN")
        self._in_unit = True
        result = work()
        self._ask()
        self._committing = True
        self.tell("COMMIT")
        self._committing = False
        return result

    def tell(self, text: str, values: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """Send a statement of our own."""
        return self._live().execute(text, list(values) or None)

    def _ask(self) -> None:
        if self.opening.writes:
            demand_lease(self.may_send, self.statement, is_kept=self._is_kept)

    def _live(self) -> duckdb.DuckDBPyConnection:
        """Return the connection; nothing more is done with one when the work is to stop."""
        if self._stopped or self.connection is None:
            raise _Stopped
        return self.connection

    def run_all(self, statements: Sequence[Statement]) -> list[Answer]:
        """Send statements, one after another."""
        return [self.run(one, number) for number, one in enumerate(statements, 1)]

    def run(self, statement: Statement, number: int | None = None) -> Answer:
        """Send one statement and return its answer."""
        self.statement = number
        text, values = numbered(statement), [_bound(one) for one in statement.values]
        kinds = self._live().extract_statements(text)
        if len(kinds) != 1:
            raise refused(f"statement {number} is none, or more than one, to DuckDB")
        kind = kind_of_statement(kinds[0])
        self._refuse(kind, text, number)
        if not self.opening.writes:
            self._refuse_files(kind, text, values, number)
        self._ask()
        # A file stays written, even when the transaction is undone.
        is_kept = may_write_files(text) or (kind != _KIND.SELECT and not self._in_unit)
        self._is_kept = self._is_kept or is_kept
        if kind == _KIND.SELECT and not looks_like_writing(text):
            return self._selected(text, values)
        return self._executed(text, values, kinds[0])

    def _refuse(self, kind: duckdb.StatementType | None, text: str, number: int | None) -> None:
        """Refuse what no step can do."""
        if kind is None:
            words = " ".join(first_words(text)[:2])
            raise refused(f"statement {number} is {words}, which no step can do")
        if kind in _ALWAYS_REFUSED:
            raise refused(f"statement {number} is {first_words(text)[0]}, which the step decides")
        if kind == _KIND.EXPLAIN:
            refuse_odd_explain(text, number)

    def _refuse_files(
        self,
        kind: duckdb.StatementType,
        text: str,
        values: Sequence[object],
        number: int | None,
    ) -> None:
        """Refuse what reaches outside of the database; what is kept in it may do so, too."""
        if self._run_by_name is None:
            is_kept = self.opening.path is not None or bool(self.opening.settings.attach)
            self._run_by_name = run_by_name(self._live()) if is_kept else frozenset()
        said = text.lower()
        if (
            kind not in _READS
            or any(name in said for name in self._run_by_name)
            or writes_files(self._live(), kind, text, values)
        ):
            raise refused(f"statement {number} may change something: say 'writes: true'")

    def _selected(self, text: str, values: list[object]) -> Answer:
        """Return the rows of a query, with times cast to the texts that DuckDB writes."""
        most = self._most()
        relation = self._live().sql(text, params=values or None)
        columns = tuple(relation.columns)
        forms = [form_of(known) for known in relation.types]
        listed = ", ".join(
            f"CAST(#{at} AS {form.cast}) AS {quoted(name)}" if form.is_cast else f"#{at}"
            for at, (name, form) in enumerate(zip(columns, forms, strict=True), 1)
        )
        found = relation.project(listed).limit(most.rows + 1).fetchall()
        most.demand(len(found), size_of(found))
        reads = [form.read for form in forms]
        rows = tuple([r(value) for r, value in zip(reads, row, strict=True)] for row in found)
        return Answer(columns, rows, len(rows))

    def _executed(self, text: str, values: list[object], kind: duckdb.Statement) -> Answer:
        """Return what any other statement gave: rows, or how many it touched."""
        most = self._most()
        done = self.tell(text, values)
        counts = duckdb.ExpectedResultType.CHANGED_ROWS in kind.expected_result_type
        nothing = kind.expected_result_type == [duckdb.ExpectedResultType.NOTHING]
        if nothing or (counts and (done.rowcount >= 0 or kind.type not in _GIVES_BACK)):
            return Answer(row_count=max(done.rowcount, 0))
        columns = tuple(one[0] for one in done.description or ())
        kinds = [str(one[1]) for one in done.description or ()]
        found = done.fetchmany(most.rows + 1)
        most.demand(len(found), size_of(found))
        done.complete()
        rows = tuple(
            [_read(value, one) for value, one in zip(row, kinds, strict=True)] for row in found
        )
        return Answer(columns, rows, len(rows))

    def _most(self) -> Most:
        settings = self.opening.settings
        return Most(settings.max_rows, settings.max_bytes)

    def _open(self) -> None:
        """Open the database and shut the doors behind it."""
        opening, settings = self.opening, self.opening.settings
        config = dict(_CONFIG)
        self._scratch = [tempfile.mkdtemp(prefix="noetl-duckdb-")]
        config["temp_directory"] = self._scratch[0]
        if settings.memory_limit is not None:
            config["memory_limit"] = settings.memory_limit
        if settings.threads is not None:
            config["threads"] = settings.threads
        if opening.path is not None and not opening.writes and not opening.path.exists():
            said = f"'{settings.database}' is not there"
            raise Failed("no-such-file", said, retriable=False)
        self.connection = duckdb.connect(
            str(opening.path or MEMORY),
            read_only=opening.path is not None and not opening.writes,
            config=config,
        )
        load(self, settings.extensions)
        attach(self, settings.attach, opening.folders, writes=opening.writes)
        self.tell("SET allowed_directories = $1", [[str(root) for root in opening.folders.roots]])
        self.tell("SET enable_external_access = false")
        fill_tables(self, settings.tables, opening.folders)
        self.tell("SET lock_configuration = true")

    def _outcome(self, error: duckdb.Error) -> Failed | UnknownOutcome:
        """Return what an error means for the step."""
        said = masked(str(error).strip(), self.secrets)
        if isinstance(error, duckdb.PermissionException) and _DISABLED in said:
            said += f"; {_reachable(self.opening.folders)}"
        details: Json = {"statement": self.statement} if self.statement else None
        fatal = isinstance(error, duckdb.FatalException)
        if self.opening.writes and (fatal or (self._committing and isinstance(error, _IN_DOUBT))):
            return UnknownOutcome("duckdb-broken", said, evidence=details)
        if "Could not set lock" in said:
            other = f"'{self.opening.settings.database}' is open in another process"
            return Failed("duckdb-locked", other)
        name = type(error).__name__.removesuffix("Exception") or "Error"
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
        again = isinstance(error, _MAY_HELP)
        return Failed(f"duckdb-{code}", said, retriable=again, details=details)


def _bound(value: object) -> object:
    """Return a value as DuckDB takes it: lists and maps of its own where they fit, else JSON."""
    made, kind = to_bind(uncovered(value))
    return made if kind is None else Value(made, duckdb.sqltype(kind))


def _read(value: object, kind: str) -> Json:
    return json_value(value) if kind == "JSON" and isinstance(value, str) else plain(value)


__all__ = ["MEMORY", "Duckdb", "Opening", "Session"]
