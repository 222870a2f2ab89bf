"""Which column goes where, and how its values are written on the way. Pure.

Values travel as texts that both sides read without loss: numbers with all their digits, times with
their zone, lists and maps as JSON, bytes as hexadecimal digits. Guesses no names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.duckdb_values import quoted

NULL = "\\N"
NESTED = ("list", "array", "struct", "map", "union")


class Type(Protocol):
    """A type of DuckDB, as its driver shows it."""

    @property
    def id(self) -> str: ...
    @property
    def children(self) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type as its database writes it, and what else is known of it.

    `kind` is a letter of Postgres' type categories. `natural` is the DuckDB type that holds what a
    column of a Postgres holds, `known` the type as the driver of DuckDB shows it.
    """

    name: str
    type: str
    kind: str = ""
    natural: str = "VARCHAR"
    known: Any = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A column of the source and the one of the target that takes it."""

    source: Column
    target: Column


def mismatch(message: str) -> Failed:
    """Return the failure of columns that do not fit."""
    return Failed("no-column", message, retriable=False)


def paired(
    mapping: Mapping[str, object],
    sources: Sequence[Column],
    targets: Sequence[Column] | None,
    table: str,
) -> list[Pair]:
    """Return what goes where; without `targets` whatever the source has is taken."""
    names = [one.name for one in sources]
    if twice := sorted({one for one in names if names.count(one) > 1}):
        raise mismatch(f"the source has more than one column {', '.join(twice)}; name them with AS")
    if not names:
        raise mismatch("the source has no columns")
    wanted = {to: str(of) for to, of in mapping.items()} or {one: one for one in names}
    own = {one.name: one for one in sources}
    found = []
    for to, of in wanted.items():
        source = _named(of, own)
        if source is None:
            raise mismatch(f"the source has no column '{of}'; it has {_listed(names)}")
        if targets is None:
            found.append(Pair(source, Column(to, source.type, natural=source.natural)))
            continue
        target = _named(to, {one.name: one for one in targets})
        if target is None:
            there = _listed([one.name for one in targets])
            raise mismatch(f"{table} has no column '{to}'; it has {there}")
        found.append(Pair(source, target))
    taken = [one.target.name for one in found]
    if twice := sorted({one for one in taken if taken.count(one) > 1}):
        raise mismatch(f"two columns go to {', '.join(twice)} of {table}")
    return found


def keys_of(key: Sequence[str], pairs: Sequence[Pair], table: str) -> list[str]:
    """Return the columns of an upsert's key under the names of the target."""
    if not key:
        said = "an upsert needs 'key': the columns of the target that identify a row"
        raise Failed("no-key", said, retriable=False)
    targets = {one.target.name: one.target for one in pairs}
    found = []
    for name in key:
        target = _named(name, targets)
        if target is None:
            raise mismatch(f"'key' names '{name}', which no column goes to in {table}")
        found.append(target.name)
    return found


def _named(name: str, columns: Mapping[str, Column]) -> Column | None:
    """Return a column by its name, in which capitals matter only where two would fit."""
    if name in columns:
        return columns[name]
    near = [one for known, one in columns.items() if known.lower() == name.lower()]
    return near[0] if len(near) == 1 else None


def _listed(names: Sequence[str], most: int = 40) -> str:
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def out_of_postgres(column: Column) -> str:
    """Return what Postgres writes of a column."""
    name = quoted(column.name)
    if column.kind == "A":
        item = column.type.rstrip("[]")
        return f"to_json({name})" if item in ("json", "jsonb") else f"to_json({name}::text[])"
    if column.kind == "C":
        return f"to_json({name})"
    if column.type == "bytea":
        return f"encode({name}, 'hex')"
    if column.type.startswith("interval"):
        # The signs of Postgres' own form are none that DuckDB reads.
        months = f"extract(year from {name})::bigint * 12 + extract(month from {name})::bigint"
        days = f"extract(day from {name})::bigint"
        rest = f"extract(epoch from {name} - date_trunc('day', {name}))"
        micro = f"({rest} * 1000000)::bigint"
        said = f"concat({months}, ' months ', {days}, ' days ', {micro}, ' microseconds')"
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {said} END"
    return name


def into_duckdb(pair: Pair, place: str) -> tuple[str, str]:
    """Return the type to read a text from Postgres as, and what makes the value of it."""
    source, wanted = pair.source, pair.target.natural
    if source.type == "bytea":
        return "VARCHAR", f"from_hex({place})" if wanted == "BLOB" else place
    if source.kind in ("A", "C") or wanted.endswith("]") or wanted.startswith(("STRUCT", "MAP")):
        made = (
            place if wanted in ("VARCHAR", "JSON") else f"CAST(CAST({place} AS JSON) AS {wanted})"
        )
        return "VARCHAR", made
    if wanted == "BLOB":
        return "VARCHAR", f"encode({place})"
    return wanted, place


def within_duckdb(pair: Pair) -> str:
    """Return what goes from one table of DuckDB into another."""
    name = quoted(pair.source.name)
    if pair.target.natural == "JSON" and pair.source.natural not in ("JSON", "VARCHAR"):
        return f"to_json({name})"
    return name


def out_of_duckdb(pair: Pair) -> str:
    """Return what DuckDB writes of a column for a Postgres."""
    name, known, target = quoted(pair.source.name), pair.source.known, pair.target
    if pair.source.natural == "JSON":
        return f"CAST({name} AS VARCHAR)"
    if known.id in ("list", "array") and target.kind == "A":
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {_array(known, name, 0)} END"
    if known.id in NESTED or (target.type in ("json", "jsonb") and known.id != "varchar"):
        return f"CAST(to_json({name}) AS VARCHAR)"
    if known.id == "blob":
        return f"'\\x' || lower(hex({name}))" if target.type == "bytea" else f"decode({name})"
    return name


def is_quoted(pair: Pair) -> bool:
    """Whether the values of a column of DuckDB must stand in quotes, lest they look like none."""
    return pair.source.natural in ("VARCHAR", "JSON") or pair.source.known.id in (*NESTED, "enum")


def _array(known: Type, place: str, depth: int) -> str:
    """Return what writes a list as Postgres writes an array."""
    inner = known.children[0][1]
    item = f"x{depth}"
    if inner.id in ("list", "array"):
        made = _array(inner, item, depth + 1)
    else:
        text = (
            f"CAST(to_json({item}) AS VARCHAR)"
            if inner.id in NESTED
            else f"CAST({item} AS VARCHAR)"
        )
        text = f"'\\x' || lower(hex({item}))" if inner.id == "blob" else text
        escaped = f"replace(replace({text}, '\\', '\\\\'), '\"', '\\\"')"
        made = f"CASE WHEN {item} IS NULL THEN 'NULL' ELSE '\"' || {escaped} || '\"' END"
    items = f"list_transform({place}, lambda {item}: {made})"
    return f"'{{' || coalesce(array_to_string({items}, ','), '') || '}}'"


__all__ = [
    "NULL",
    "Column",
    "Pair",
    "into_duckdb",
    "is_quoted",
    "keys_of",
    "mismatch",
    "out_of_duckdb",
    "out_of_postgres",
    "paired",
    "within_duckdb",
]
