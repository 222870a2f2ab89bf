"""The one door to psycopg: connect, read named statements, bring the schema up to date.

Knows no table but the two that say which migrations were applied. Decides nothing about what is
stored, tries nothing again by itself, and never shows a password.
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType

import psycopg
from psycopg import Connection, Cursor, DataError, Error, InterfaceError, OperationalError
from psycopg import errors as sql_errors
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow, dict_row, namedtuple_row, scalar_row, tuple_row
from psycopg.types.json import Json, Jsonb

__all__ = [
    "Connection",
    "Cursor",
    "DataError",
    "Error",
    "InterfaceError",
    "Json",
    "Jsonb",
    "Migration",
    "NotReachable",
    "OperationalError",
    "TupleRow",
    "WrongSchema",
    "connect",
    "dict_row",
    "is_lost",
    "may_be_sent_again",
    "migrate",
    "migrations",
    "migrations_folder",
    "namedtuple_row",
    "refused",
    "refuses_its_values",
    "scalar_row",
    "statements",
    "tuple_row",
    "without_password",
]

OLDEST_SERVER = 14
CONNECT_SECONDS = 10
STATEMENT_TIMEOUT = timedelta(seconds=60)
LOCK_TIMEOUT = timedelta(seconds=10)
IDLE_IN_TRANSACTION = timedelta(seconds=60)
MIGRATION_LOCK = 0x6E6F65746C  # "noetl": one number for all who migrate the same database
MIGRATION_LOCK_TIMEOUT = timedelta(seconds=3)
MIGRATION_TRIES = 20
WITHOUT_TRANSACTION = "-- no transaction"

# A peer that is gone without a word is noticed after about half a minute.
_USUAL: ConnDict = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class NotReachable(Exception):
    """The database cannot be reached, or lets nobody in; the text says which and why."""


class WrongSchema(Exception):
    """The schema and this code do not fit each other; the text says what to do."""


def connect(
    dsn: str,
    *,
    application_name: str,
    autocommit: bool = True,
    statement_timeout: timedelta | None = STATEMENT_TIMEOUT,
    lock_timeout: timedelta | None = LOCK_TIMEOUT,
    idle_in_transaction: timedelta | None = IDLE_IN_TRANSACTION,
) -> Connection[TupleRow]:
    """Return a connection whose waiting is bounded; without a bound where one is None."""
    given = _conninfo(dsn)
    fixed = {"application_name": application_name, "client_encoding": "utf8"}
    try:
        # After a rollback psycopg drops what it prepared by itself with `deallocate all`, which
        # would take along the calls that we prepared.
        connection = psycopg.connect(
            make_conninfo("", **{**_USUAL, **given, **fixed}),
            autocommit=True,
            prepare_threshold=None,
        )
    except Error as error:
        raise NotReachable(_why(given, error)) from None
    try:
        _demand_version(connection.info.server_version)
        # By a statement and not by `options`: a pooler in session mode refuses those. A plan that
        # was made for small tables and is kept reads large ones from end to end.
        connection.execute(
            "select set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false),"
            " set_config('idle_in_transaction_session_timeout', %s, false),"
            " set_config('plan_cache_mode', 'force_custom_plan', false),"
            " set_config('timezone', 'UTC', false)",
            [_milliseconds(t) for t in (statement_timeout, lock_timeout, idle_in_transaction)],
        )
        connection.autocommit = autocommit
    except Error as error:
        connection.close()
        raise NotReachable(_why(given, error)) from None
    except NotReachable:
        connection.close()
        raise
    return connection


def without_password(dsn: str) -> tuple[str, str | None]:
    """Return the connection string as everybody may see it, and the password that was in it."""
    given = dict(_conninfo(dsn))
    password = given.pop("password", None)
    return make_conninfo("", **given), None if password is None else str(password)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that nobody knows what came of the statement."""
    if isinstance(error, Error) and error.sqlstate:
        return error.sqlstate.startswith(_GONE)
    return isinstance(error, InterfaceError | OperationalError)


def refused(answer: PGresult) -> Error:
    """Return the error in the answer of a call that went past the cursors."""
    if not answer.error_field(DiagnosticField.SQLSTATE):
        return OperationalError(answer.get_error_message())  # the connection is gone
    return sql_errors.error_from_result(answer)


def may_be_sent_again(error: BaseException) -> bool:
    """Whether the statement was rolled back only because somebody else was in the way."""
    return isinstance(error, _IN_THE_WAY)


def refuses_its_values(error: BaseException) -> bool:
    """Whether a value is at fault: a bad or too long one, a broken constraint (22, 23, 54)."""
    return isinstance(error, Error) and (error.sqlstate or "")[:2] in ("22", "23", "54")


_GONE = ("08", "57P", "25P03", "25P04")
_IN_THE_WAY = (
    sql_errors.DeadlockDetected,
    sql_errors.LockNotAvailable,
    sql_errors.SerializationFailure,
)


def _conninfo(dsn: str) -> ConnDict:
    try:
        return conninfo_to_dict(dsn)
    except Error:
        raise NotReachable("NOETL_DSN is not a connection string that Postgres knows") from None


def _why(given: ConnDict, error: Error) -> str:
    name = given.get("dbname") or given.get("user") or ""
    where = f"'{name}' on {given.get('host') or given.get('hostaddr') or 'the local socket'}"
    reason = " ".join(str(error).split()) or type(error).__name__
    password = given.get("password")
    if password:
        reason = reason.replace(str(password), "…")
    return f"the database {where} cannot be reached: {reason}"


def _demand_version(number: int) -> None:
    if number < OLDEST_SERVER * 10_000:
        raise NotReachable(
            f"the server runs Postgres {number // 10_000}; {OLDEST_SERVER} or newer is needed"
        )


def _milliseconds(bound: timedelta | None) -> str:
    return "0" if bound is None else f"{max(1, round(bound.total_seconds() * 1000))}ms"


# Named statements


_NAMED = re.compile(r"^-- name:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_REASON = re.compile(r"\A(?:[ \t]*--[^\n]*\n|[ \t]*\n)+")


def statements(beside: str, name: str) -> Mapping[str, str]:
    """Return the statements of the file `name` beside a module (its `__file__`), by their names."""
    return _statements(Path(beside).with_name(name))


@cache
def _statements(path: Path) -> Mapping[str, str]:
    head, *rest = _NAMED.split(path.read_text(encoding="utf-8"))
    if re.sub(r"(?m)^--.*$", "", head).strip():
        raise ValueError(f"{path} begins with SQL that has no name")
    found: dict[str, str] = {}
    for title, text in zip(rest[::2], rest[1::2], strict=True):
        body = _REASON.sub("", text.lstrip("\n")).strip().removesuffix(";")
        if title in found or not body:
            raise ValueError(f"{path}: '{title}' is there twice, or is empty")
        found[title] = body
    return MappingProxyType(found)


# Migrations


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema, forward only: `0007_some_words.sql`."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """What its text is, whatever ends its lines."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def title(self) -> str:
        """The name of its file without the ending."""
        return f"{self.number:04}_{self.name}"

    @property
    def in_transaction(self) -> bool:
        """Whether it stands or falls as one; else it holds one statement that may be repeated."""
        return self.text.partition("\n")[0].strip() != WITHOUT_TRANSACTION


@dataclass(frozen=True, slots=True)
class _State:
    """What the database says of itself: the migrations by number, and whom it still serves."""

    applied: Mapping[int, tuple[str, str]]
    serves_from: int


_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_READ_STATE = """
select s.serves_from, m.number, m.name, m.digest
  from noetl.schema_state s left join noetl.migration m on true order by m.number
"""
_FOUNDATION = """
create schema if not exists noetl;
create table if not exists noetl.migration (
  number int primary key, name text not null, digest text not null,
  applied_at timestamptz not null default clock_timestamp()
);
create table if not exists noetl.schema_state (
  one boolean primary key default true check (one), serves_from int not null
);
insert into noetl.schema_state (serves_from) values (1) on conflict do nothing;
"""


def migrations_folder() -> Path:
    """Return where the migrations are: packed beside this module, or in the clone it runs from."""
    package = Path(__file__).parent
    packed, clone = package / "migrations", package.parent / "migrations"
    return packed if packed.is_dir() else clone


def migrations(folder: Path) -> tuple[Migration, ...]:
    """Return the migrations of a folder in their order; a gap or a double is refused."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        parts = _FILE.fullmatch(path.name)
        if parts is None:
            raise WrongSchema(f"{path} is not named like 0001_some_words.sql")
        found.append(Migration(int(parts[1]), parts[2], path.read_text(encoding="utf-8")))
    for expected, one in enumerate(found, 1):
        if one.number != expected:
            raise WrongSchema(f"{folder} has {one.title} where number {expected:04} is expected")
    return tuple(found)


def migrate(
    dsn: str, folder: Path | None = None, *, wait: timedelta = timedelta(minutes=10)
) -> list[str]:
    """Apply what is missing and return it; safe when many processes do it at once.

    When everything is there this is one connection and one select. `wait` bounds how long another
    process may take that is migrating already.
    """
    ours = migrations(migrations_folder() if folder is None else folder)
    with connect(
        dsn,
        application_name="noetl-mcp migrate",
        statement_timeout=None,
        lock_timeout=MIGRATION_LOCK_TIMEOUT,
        idle_in_transaction=None,
    ) as connection:
        try:
            if not _missing(ours, _state(connection)):
                return []
            _wait_for_turn(connection, time.monotonic() + wait.total_seconds())
            connection.execute(_FOUNDATION)
            missing = _missing(ours, _state(connection))
            for one in missing:
                _apply(connection, one)
        except OperationalError as error:
            if is_lost(error):
                raise NotReachable(f"the database went away while migrating: {error}") from None
            raise
    return [one.title for one in missing]


def _state(connection: Connection[TupleRow]) -> _State:
    try:
        rows = connection.execute(_READ_STATE).fetchall()
    except (sql_errors.UndefinedTable, sql_errors.InvalidSchemaName):
        return _State({}, 0)
    applied = {number: (name, digest) for _, number, name, digest in rows if number is not None}
    return _State(applied, rows[0][0] if rows else 0)


def _missing(ours: Sequence[Migration], state: _State) -> Sequence[Migration]:
    """Return what is still to be applied; refuse a database that does not fit this code."""
    newest = len(ours)
    if newest < state.serves_from and state.applied:
        raise WrongSchema(
            f"the database serves programs that know migration {state.serves_from:04} and newer;"
            f" this one knows {newest:04}: install a newer noetl-mcp"
        )
    for one in ours:
        name, digest = state.applied.get(one.number, (one.name, one.digest))
        if (name, digest) != (one.name, one.digest):
            raise WrongSchema(
                f"migration {one.title} was applied as {one.number:04}_{name} with another text:"
                " the database was made by another version of the program"
            )
    missing = [one for one in ours if one.number not in state.applied]
    late = [one for one in missing if state.applied and one.number < max(state.applied)]
    if late:
        raise WrongSchema(
            f"migration {late[0].title} is missing, yet newer ones are applied:"
            " the database was made by another version of the program"
        )
    return missing


def _wait_for_turn(connection: Connection[TupleRow], deadline: float) -> None:
    # Asked again and again, never waited for: one who waits in a transaction, and be it that of a
    # single statement, keeps an index from being built concurrently, and that one keeps the lock.
    pause = 0.02
    while True:
        row = connection.execute("select pg_try_advisory_lock(%s)", [MIGRATION_LOCK]).fetchone()
        if row is not None and row[0]:
            return
        if time.monotonic() > deadline:
            raise WrongSchema("another process has been migrating this database for too long")
        time.sleep(pause)
        pause = min(0.25, pause * 1.5)


def _apply(connection: Connection[TupleRow], one: Migration) -> None:
    for left in range(MIGRATION_TRIES - 1, -1, -1):
        try:
            if one.in_transaction:
                with connection.transaction():
                    connection.execute(one.text)
                    _remember(connection, one)
            else:
                connection.execute(one.text)
                _remember(connection, one)
            return
        except sql_errors.LockNotAvailable:
            # Waiting longer would make everybody else wait behind us.
            if not left:
                raise WrongSchema(f"migration {one.title} found its tables in use") from None
            time.sleep(0.5)
        except Error as error:
            if is_lost(error):
                raise
            raise WrongSchema(f"migration {one.title} failed: {error}") from error


def _remember(connection: Connection[TupleRow], one: Migration) -> None:
    connection.execute(
        "insert into noetl.migration (number, name, digest) values (%s, %s, %s)",
        [one.number, one.name, one.digest],
    )
