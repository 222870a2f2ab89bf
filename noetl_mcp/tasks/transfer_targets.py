"""The tables that take the rows of a transfer, in a Postgres or a DuckDB file.

Says the statements that empty, fill and merge; begins no transaction of a Postgres and ends none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noetl_mcp.tasks.duckdb_values import quoted
from noetl_mcp.tasks.save_rows import listed
from noetl_mcp.tasks.specs_data import TransferSettings
from noetl_mcp.tasks.transfer_columns import Column, Pair, keys_of, paired
from noetl_mcp.tasks.transfer_duckdb import Hub
from noetl_mcp.tasks.transfer_postgres import PostgresEnd, copied_in

_STAGED, _PLACE = "noetl_staged", "noetl_place"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows were written, and how many went before."""

    written: int
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name as SQL writes it, and its columns."""

    name: str
    columns: Sequence[Column]

    def paired(self, settings: TransferSettings, columns: Sequence[Column]) -> list[Pair]:
        """Return what goes where."""
        return paired(settings.mapping, columns, self.columns, f"table {self.name}")


@dataclass(frozen=True, slots=True)
class Filling:
    """What is to be done with a table: the mode, the columns that are filled, the key."""

    table: Table
    mode: str
    names: Sequence[str]
    key: Sequence[str]

    @classmethod
    def of(cls, table: Table, settings: TransferSettings, pairs: Sequence[Pair]) -> "Filling":
        """Return what the settings say; an upsert needs a key."""
        upserts = settings.mode == "upsert"
        key = keys_of(settings.key, pairs, f"table {table.name}") if upserts else []
        return cls(table, settings.mode, [one.target.name for one in pairs], key)

    def into_postgres(self, end: PostgresEnd, blocks: Iterator[bytes], form: str) -> Counts:
        """Put all rows in, in the transaction that is open."""
        name = self.table.name
        deleted = end.execute(f"DELETE FROM {name}") if self.mode == "overwrite" else 0
        if self.mode != "upsert":
            return Counts(end.copy_in(copied_in(name, self.names, form), blocks), deleted)
        columns, key = listed(self.names), listed(self.key)
        end.execute(
            f"CREATE TEMP TABLE {_STAGED} ON COMMIT DROP AS SELECT {columns} FROM {name} LIMIT 0"
        )
        end.execute(f"ALTER TABLE {_STAGED} ADD COLUMN {_PLACE} bigserial")
        end.copy_in(copied_in(_STAGED, self.names, form), blocks)
        written = end.execute(
            f"INSERT INTO {name} ({columns}) SELECT DISTINCT ON ({key}) {columns} FROM {_STAGED}"
            f" ORDER BY {key}, {_PLACE} DESC{self._on_conflict()}"
        )
        return Counts(written)

    def into_duckdb(self, hub: Hub, select: str, values: Sequence[object]) -> Counts:
        """Put all rows in, in a transaction that this begins."""
        hub.tell("BEGIN")
        name, columns = self.table.name, listed(self.names)
        deleted = hub.count(f"DELETE FROM {name}") if self.mode == "overwrite" else 0
        if self.mode == "upsert":
            select = (
                f"SELECT {columns} FROM (SELECT *, row_number() OVER () AS {_PLACE}"
                f" FROM ({select})) QUALIFY row_number() OVER (PARTITION BY {listed(self.key)}"
                f" ORDER BY {_PLACE} DESC) = 1{self._on_conflict()}"
            )
        return Counts(hub.count(f"INSERT INTO {name} ({columns}) {select}", values), deleted)

    def _on_conflict(self) -> str:
        rest = [one for one in self.names if one not in self.key]
        changes = ", ".join(f"{quoted(one)} = EXCLUDED.{quoted(one)}" for one in rest)
        deed = f"DO UPDATE SET {changes}" if rest else "DO NOTHING"
        return f" ON CONFLICT ({listed(self.key)}) {deed}"


__all__ = ["Counts", "Filling", "Table"]
