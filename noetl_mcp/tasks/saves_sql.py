"""Saves to tables: `save.postgres` and `save.duckdb`. Each is made once, whatever is run again.

The key of the call is put into a small table of the target, `noetl_saves`, in the transaction of
the save itself; a save whose key is there already has been made. Values never reach the text of a
statement: rows go as one JSON parameter, which the database takes apart by its columns' types.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Statement
from noetl_mcp.tasks.duckdb import Duckdb
from noetl_mcp.tasks.duckdb import Session as DuckdbSession
from noetl_mcp.tasks.duckdb_values import text_of
from noetl_mcp.tasks.postgres import Postgres
from noetl_mcp.tasks.postgres import Session as PostgresSession
from noetl_mcp.tasks.save_rows import (
    Row,
    Wish,
    fitted,
    inserts,
    refusal,
    rows_of,
    spelt,
    table_name,
    table_of,
    wish_of,
)
from noetl_mcp.tasks.save_targets import DuckdbTarget, PostgresTarget
from noetl_mcp.tasks.specs_data import DuckdbSettings
from noetl_mcp.tasks.sql_script import script

_POSTGRES_TYPES = {
    "BIGINT": "bigint",
    "BOOLEAN": "boolean",
    "DOUBLE": "double precision",
    "HUGEINT": "numeric",
    "JSON": "jsonb",
    "VARCHAR": "text",
}
_DUCKDB_TYPES = {name: name for name in _POSTGRES_TYPES}
_POSTGRES_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
 WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
 ORDER BY attnum
"""
_DUCKDB_COLUMNS = """
SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns
 WHERE table_catalog = current_database() AND lower(table_schema) = lower($1)
   AND lower(table_name) = lower($2) ORDER BY ordinal_position
"""


def _made(count: int) -> Json:
    return {"saved": count, "already": False}


def _made_before() -> Json:
    return {"saved": 0, "already": True}


def _statements(call: Call) -> tuple[Statement, ...]:
    """Return the statements of a save that names no table."""
    target: PostgresTarget | DuckdbTarget = call.settings
    return script(call) if target.table is None else ()


class SavePostgres:
    """Puts data into a table of a Postgres, or sends statements, in one transaction."""

    def __init__(self, *, postgres: Postgres) -> None:
        self._postgres = postgres

    async def execute(self, call: Call) -> Json:
        """Make the save, unless it was made."""
        call = replace(call, writes=True)
        target: PostgresTarget = call.settings
        wish, statements = wish_of(call), _statements(call)

        async def make() -> Json:
            if not await _claimed(session, call.key):
                return _made_before()
            if target.table is not None:
                return _made(await _filled(session, target, wish))
            answers = [await session.run(one, at) for at, one in enumerate(statements, 1)]
            return _made(sum(one.row_count for one in answers))

        async with self._postgres.session(call, target, statements) as session:
            return await session.unit(make)

    async def close(self) -> None:
        """The connections belong to the task that was given."""


async def _claimed(session: PostgresSession, key: str) -> bool:
    """Put the key into the table of saves; say whether it was missing there."""
    if not key:
        return True
    found = await session.run(Statement("SELECT to_regclass('noetl_saves') IS NULL"))
    if found.rows[0][0]:
        # Two that make the same table at once would get in each other's way.
        await session.run(Statement("SELECT pg_advisory_xact_lock(hashtext('noetl_saves'))"))
        await session.run(
            Statement(
                "CREATE TABLE IF NOT EXISTS noetl_saves"
                " (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
        )
    claim = "INSERT INTO noetl_saves (key) VALUES (%s) ON CONFLICT DO NOTHING"
    return (await session.run(Statement(claim, (key,)))).row_count == 1


async def _filled(session: PostgresSession, target: PostgresTarget, wish: Wish) -> int:
    """Put rows into a table, and return how many went there."""
    rows, table = rows_of(wish.data), str(target.table)
    name, columns = await _postgres_table(session, table_name(table))
    if not columns and target.make_table and rows:
        await session.run(Statement(table_of(rows, name, wish, _POSTGRES_TYPES)))
        name, columns = await _postgres_table(session, name)
    if not columns:
        return _nothing_to_fill(rows, target)
    wish, rows = fitted(wish, rows, columns, table)
    if wish.mode == "overwrite":
        await session.run(Statement(f"DELETE FROM {spelt(name)}"))
    before = f"json_populate_recordset(NULL::{spelt(name)}, "
    count = 0
    for one in inserts(rows, name, wish, target.chunk_size, lambda _: (before, "::json) AS r")):
        count += (await session.run(one)).row_count
    return count


async def _postgres_table(
    session: PostgresSession, name: tuple[str, ...]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the name of a table and its columns; a name in capitals may mean one without."""
    for tried in dict.fromkeys((name, tuple(part.lower() for part in name))):
        answer = await session.run(Statement(_POSTGRES_COLUMNS, (spelt(tried),)))
        if answer.rows:
            return tried, [str(row[0]) for row in answer.rows]
    return name, []


def _nothing_to_fill(rows: Sequence[Row], target: PostgresTarget | DuckdbTarget) -> int:
    """No rows need no table that they would make; anything else needs one."""
    if target.make_table and not rows:
        return 0
    raise refusal("no-table", f"there is no table '{target.table}'; 'make_table: true' makes it")


class SaveDuckdb:
    """Puts data into a table of a DuckDB file, or sends statements, in one transaction.

    `default` is the file to use where the save names none.
    """

    def __init__(self, *, duckdb: Duckdb, default: str | None = None) -> None:
        self._duckdb = duckdb
        self._default = default

    async def execute(self, call: Call) -> Json:
        """Make the save, unless it was made."""
        call = replace(call, writes=True)
        target: DuckdbTarget = call.settings
        wish, statements = wish_of(call), _statements(call)
        database = target.database or self._default
        if database is None:
            raise refusal("no-database", "name a database file; this worker has none of its own")

        def make(session: DuckdbSession) -> Json:
            if not _claimed_in_file(session, call.key):
                return _made_before()
            if target.table is not None:
                return _made(_filled_in_file(session, target, wish))
            return _made(sum(one.row_count for one in session.run_all(statements)))

        settings = DuckdbSettings(database=database)
        return await self._duckdb.carry(
            call, settings, statements, lambda session: session.unit(lambda: make(session))
        )

    async def close(self) -> None:
        """The threads belong to the task that was given."""


def _claimed_in_file(session: DuckdbSession, key: str) -> bool:
    if not key:
        return True
    session.tell(
        'CREATE TABLE IF NOT EXISTS noetl_saves ("key" VARCHAR PRIMARY KEY,'
        ' "at" TIMESTAMPTZ NOT NULL DEFAULT now())'
    )
    claim = 'INSERT INTO noetl_saves ("key") VALUES ($1) ON CONFLICT DO NOTHING'
    return session.tell(claim, [key]).rowcount == 1


def _filled_in_file(session: DuckdbSession, target: DuckdbTarget, wish: Wish) -> int:
    """Put rows into a table of the file, and return how many went there."""
    rows, table = rows_of(wish.data), str(target.table)
    name, columns = _duckdb_table(session, table_name(table))
    if not columns and target.make_table and rows:
        session.tell(table_of(rows, name, wish, _DUCKDB_TYPES))
        name, columns = _duckdb_table(session, name)
    if not columns:
        return _nothing_to_fill(rows, target)
    wish, rows = fitted(wish, rows, list(columns), table)
    if wish.mode == "overwrite":
        session.tell(f"DELETE FROM {spelt(name)}")

    def apart(names: Sequence[str]) -> tuple[str, str]:
        # The structure holds names and types; no value is in it.
        structure = text_of(json.dumps([{one: columns[one] for one in names}]))
        return "(SELECT unnest(from_json_strict(", f", {structure})) AS r) AS t"

    answers = [session.run(one) for one in inserts(rows, name, wish, target.chunk_size, apart)]
    return sum(one.row_count for one in answers)


def _duckdb_table(
    session: DuckdbSession, name: tuple[str, ...]
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the name of a table, and its columns with their types."""
    if len(name) > 2:
        raise refusal("no-table", f"{spelt(name)} names another database; name its file")
    schema, table = name if len(name) == 2 else ("main", name[0])
    found = session.tell(_DUCKDB_COLUMNS, [schema, table]).fetchall()
    if not found:
        return name, {}
    return (found[0][0], found[0][1]), {column: kind for _, _, column, kind in found}


__all__ = ["SaveDuckdb", "SavePostgres"]
