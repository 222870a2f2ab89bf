"""Carry the rows of one transfer: what reads, what is between, what writes. Works in threads.

Whatever is written is one transaction, or one file that is put into place at the end: all rows
arrive or none. Nothing is kept before the source has said that it gave everything.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, Statement
from noetl_mcp.tasks.duckdb_values import quoted
from noetl_mcp.tasks.folders import Folders, told
from noetl_mcp.tasks.save_rows import refusal, spelt, table_name
from noetl_mcp.tasks.specs_data import Source, Target, TransferSettings
from noetl_mcp.tasks.transfer_columns import (
    NULL,
    Column,
    Pair,
    into_duckdb,
    is_quoted,
    out_of_duckdb,
    out_of_postgres,
    paired,
    within_duckdb,
)
from noetl_mcp.tasks.transfer_duckdb import Hub, Rows
from noetl_mcp.tasks.transfer_files import Part
from noetl_mcp.tasks.transfer_pipe import Answers, Pipe, Pump
from noetl_mcp.tasks.transfer_postgres import PostgresEnd
from noetl_mcp.tasks.transfer_targets import Counts, Filling, Table

_CSV = f"(FORMAT csv, NULL '{NULL}')"
_CSV_QUOTED = f"(FORMAT csv, NULL '{NULL}', FORCE_QUOTE *)"
"""Where a row is a single value, an empty one would be an empty line, which nobody counts."""
_SOURCE, _TARGET = "source_db", "target_db"


@dataclass(frozen=True, slots=True)
class Way:
    """What a transfer goes through: its ends that are Postgres, and the DuckDB where one is needed.

    `given` holds rows, or is the path of a data file that was fetched; `statement` is the query.
    """

    source: PostgresEnd | None
    target: PostgresEnd | None
    hub: Hub
    folders: Folders
    statement: Statement | None = None
    given: Any = None


@dataclass(slots=True, eq=False)
class Move:
    """One transfer. `run` belongs to a thread; `stop` and `carried` may be asked from any."""

    call: Call
    way: Way
    _pipe: Pipe | None = None
    _read: int = 0
    _counts: Counts = field(default_factory=lambda: Counts(0))
    _pairs: Sequence[Pair] = ()

    @property
    def carried(self) -> int:
        """How many bytes went through so far."""
        return self._pipe.carried if self._pipe is not None else 0

    @property
    def written(self) -> int:
        """How many rows were written."""
        return self._counts.written

    @property
    def is_kept(self) -> bool:
        """Whether the target may have kept the rows."""
        return self.way.hub.is_kept or (self.way.target is not None and self.way.target.is_kept)

    def stop(self) -> None:
        """End all that runs; to be said again until it has ended."""
        for end in (self.way.source, self.way.target, self.way.hub):
            if end is not None:
                end.stop()

    def run(self) -> Json:
        """Carry the rows, and return how many there were."""
        with ExitStack() as stack:
            self._open(stack)
            if self.way.source is not None and self.way.target is not None:
                self._straight(self.way.source, self.way.target)
            elif self.way.source is not None:
                self._from_postgres(self.way.source)
            elif self.way.target is not None:
                self._to_postgres(self.way.target)
            else:
                self._within()
        return {
            "rows_read": self._read,
            "rows_written": self._counts.written,
            "rows_deleted": self._counts.deleted,
            "columns": [one.target.name for one in self._pairs],
            "mode": self._settings.mode,
        }

    @property
    def _settings(self) -> TransferSettings:
        found: TransferSettings = self.call.settings
        return found

    def _open(self, stack: ExitStack) -> None:
        """Open what is needed, and have it closed at the end."""
        self.call.around.may_send()
        for end, writes in ((self.way.source, False), (self.way.target, True)):
            if end is not None:
                stack.callback(end.close)
                end.open(writes=writes, seconds=self.call.timeout)
        if self.way.source is None or self.way.target is None:
            stack.callback(self.way.hub.close)
            self.way.hub.open()
        if self.way.source is not None or self.way.target is not None:
            self._pipe = Pipe()
            stack.callback(self._pipe.close_all)

    def _straight(self, source: PostgresEnd, target: PostgresEnd) -> None:
        """Carry rows from one Postgres to another; their texts are the same."""
        pipe = self._between
        query, columns = self._asked(source)
        table = self._table_of(target)
        self._pairs = table.paired(self._settings, columns)
        filling = Filling.of(table, self._settings, self._pairs)
        selected = ", ".join(quoted(one.source.name) for one in self._pairs)
        statement = f"COPY (SELECT {selected} FROM (\n{query}\n) AS noetl_rows) TO STDOUT"
        pump = Pump(lambda: source.copy_out(statement, pipe.write), pipe)
        try:
            self._counts = filling.into_postgres(target, pipe.blocks(pump.checked), "")
        except Answers as problem:
            raise pump.blamed(problem) from None
        finally:
            pump.end(source.stop)
        self._keep_in(target, pump)

    def _from_postgres(self, source: PostgresEnd) -> None:
        """Carry rows from a Postgres into a DuckDB or a file."""
        pipe, hub = self._between, self.way.hub
        query, columns = self._asked(source)
        into = self._attached()
        if isinstance(into, Part):
            hub.write_as_read()
        hub.shut([pipe.read_path, *_paths(into)], is_indexed=self._is_indexed(into))
        self._pairs = self._paired(into, columns)
        names = _distinct([one.target.name for one in self._pairs])
        read = [
            into_duckdb(one, quoted(name)) for one, name in zip(self._pairs, names, strict=True)
        ]
        types = {name: kind for name, (kind, _) in zip(names, read, strict=True)}
        selected = ", ".join(
            f"{made} AS {quoted(one.target.name)}"
            for one, (_, made) in zip(self._pairs, read, strict=True)
        )
        gives = ", ".join(out_of_postgres(one.source) for one in self._pairs)
        form = _CSV if len(self._pairs) > 1 else _CSV_QUOTED
        statement = f"COPY (SELECT {gives} FROM (\n{query}\n) AS noetl_rows) TO STDOUT {form}"
        pump = Pump(lambda: source.copy_out(statement, pipe.write), pipe)
        try:
            self._fill(into, f"SELECT {selected} FROM {hub.from_pipe(pipe.read_path, types)}", ())
        except Answers as problem:
            raise pump.blamed(problem) from None
        finally:
            pump.end(source.stop)
        pump.checked()
        self._read = pump.count
        self._keep(into)

    def _to_postgres(self, target: PostgresEnd) -> None:
        """Carry rows from a DuckDB, a file or a list to a Postgres."""
        pipe, hub = self._between, self.way.hub
        table = self._table_of(target)
        rows = self._rows([pipe.write_path], table.columns)
        self._pairs = table.paired(self._settings, rows.columns)
        filling = Filling.of(table, self._settings, self._pairs)
        selected = ", ".join(
            f"{out_of_duckdb(one)} AS {quoted(one.target.name)}" for one in self._pairs
        )
        texts = [one.target.name for one in self._pairs if is_quoted(one)]
        select = f"SELECT {selected} FROM {rows.query} AS noetl_rows"
        pump = Pump(lambda: hub.into_pipe(select, rows.values, pipe.write_path, texts), pipe)
        try:
            self._counts = filling.into_postgres(target, pipe.blocks(pump.checked), _CSV)
        except Answers as problem:
            raise pump.blamed(problem) from None
        finally:
            pump.end(hub.stop)
        self._keep_in(target, pump)

    def _within(self) -> None:
        """Carry rows from a DuckDB, a file or a list into a DuckDB or a file."""
        into = self._attached()
        like = into.columns if isinstance(into, Table) else ()
        rows = self._rows(_paths(into), like, is_indexed=self._is_indexed(into))
        self._pairs = self._paired(into, rows.columns)
        selected = ", ".join(
            f"{within_duckdb(one)} AS {quoted(one.target.name)}" for one in self._pairs
        )
        self._fill(into, f"SELECT {selected} FROM {rows.query} AS noetl_rows", rows.values)
        self._read = self._counts.written
        self._keep(into)

    @property
    def _between(self) -> Pipe:
        assert self._pipe is not None
        return self._pipe

    def _asked(self, source: PostgresEnd) -> tuple[str, list[Column]]:
        """Return the query of a Postgres, and its columns."""
        wanted: Source = self._settings.source
        if wanted.table is not None:
            query = f"SELECT * FROM {source.table(wanted.table)[0]}"
        elif self.way.statement is not None:
            query = source.written(self.way.statement).rstrip().rstrip(";")
        else:
            raise refusal("no-source", "a Postgres needs 'table' or 'sql' of the source")
        return query, source.columns_of(query)

    def _table_of(self, target: PostgresEnd) -> Table:
        wanted: Target = self._settings.target
        if wanted.table is None:
            raise refusal("no-table", "a Postgres takes rows into 'table' of the target")
        return Table(*target.table(wanted.table))

    def _attached(self) -> Table | Part:
        """Return what takes the rows here: a table of a DuckDB file, or a data file."""
        target: Target = self._settings.target
        if target.type == "file":
            return Part.of(self.way.folders, target.path or "", self._settings.mode)
        if target.table is None:
            raise refusal("no-table", "a DuckDB takes rows into 'table' of the target")
        database = self._database(target, _TARGET, writes=True)
        return Table(*self.way.hub.table(target.table, database))

    def _database(self, end: Source | Target, name: str, *, writes: bool) -> str:
        """Attach a database file."""
        if end.database is None:
            raise refusal("no-database", "a DuckDB needs 'database': its file")
        path = self.way.folders.checked(end.database)
        return self.way.hub.attach(path, name, writes=writes)

    def _is_indexed(self, into: Table | Part) -> bool:
        if isinstance(into, Part):
            return False
        return self._settings.mode == "upsert" or self.way.hub.is_indexed(into.name)

    def _rows(
        self, paths: Sequence[str], like: Sequence[Column], *, is_indexed: bool = False
    ) -> Rows:
        """Attach what the source needs, shut the doors, and return its rows."""
        hub, wanted = self.way.hub, self._settings.source
        given: Path | None = self.way.given if isinstance(self.way.given, Path) else None
        if wanted.type == "duckdb":
            hub.use(self._database(wanted, _SOURCE, writes=False))
        elif wanted.type == "file":
            given = self.way.folders.checked(wanted.path or "")
        hub.shut([*paths, *([str(given)] if given else [])], is_indexed=is_indexed)
        if given is not None:
            return hub.from_file(given)
        if wanted.type != "duckdb":
            return hub.from_rows(self.way.given, like)
        if wanted.table is not None:
            return hub.from_table(spelt(table_name(wanted.table)))
        if self.way.statement is None:
            raise refusal("no-source", "a DuckDB needs 'table' or 'sql' of the source")
        return hub.from_query(self.way.statement)

    def _paired(self, into: Table | Part, columns: Sequence[Column]) -> list[Pair]:
        if isinstance(into, Table):
            return into.paired(self._settings, columns)
        return paired(self._settings.mapping, columns, None, f"'{into.path.name}'")

    def _fill(self, into: Table | Part, select: str, values: Sequence[object]) -> None:
        """Put all rows in; nothing is kept yet."""
        hub = self.way.hub
        if isinstance(into, Part):
            self._counts = Counts(into.filled(hub, select, values))
            return
        filling = Filling.of(into, self._settings, self._pairs)
        self._counts = filling.into_duckdb(hub, select, values)

    def _keep(self, into: Table | Part) -> None:
        """Keep what was put in."""
        self._check_count()
        self.call.around.may_send()
        if isinstance(into, Table):
            self.way.hub.commit()
            return
        with told(into.path.name):
            into.keep()

    def _keep_in(self, target: PostgresEnd, pump: Pump) -> None:
        self._read = pump.count
        self._check_count()
        self.call.around.may_send()
        target.commit()

    def _check_count(self) -> None:
        """Refuse to keep what is not all that was sent; an upsert may take fewer."""
        written = self._counts.written
        if self._settings.mode != "upsert" and self._read != written:
            said = f"{self._read:,} rows were sent and {written:,} arrived; nothing was kept"
            raise Failed("rows-lost", said)


def _paths(into: Table | Part) -> list[str]:
    return into.paths if isinstance(into, Part) else []


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names for columns where capitals do not count: the same, unless two become one."""
    small = {one.lower() for one in names}
    return list(names) if len(small) == len(names) else [f"c{n}" for n, _ in enumerate(names, 1)]


__all__ = ["Move", "Way"]
