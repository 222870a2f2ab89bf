"""What a save keeps: rows of data, in groups that fit one statement each. Pure.

A row is a map; a single map is one row. Refuses to make rows of anything else, and loses no key:
rows with other keys form a group of their own, so that missing columns get their defaults.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, Statement
from noetl_mcp.tasks.duckdb_values import quoted, structure_of
from noetl_mcp.tasks.sql_text import put_together

Row = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a save is asked for: the data, the mode, and the columns that identify a row."""

    data: Json
    mode: str = "append"
    key: tuple[str, ...] = ()


def wish_of(call: Call) -> Wish:
    """Return what the call of a save carries as its input."""
    given = call.input if isinstance(call.input, Mapping) else {"data": call.input}
    key = given.get("key") or ()
    names = (key,) if isinstance(key, str) else tuple(str(name) for name in key)
    return Wish(given.get("data"), str(given.get("mode") or "append"), names)


def refusal(code: str, said: str) -> Failed:
    """Return the failure of a save that no further attempt can mend."""
    return Failed(code, said, retriable=False)


def rows_of(data: Json) -> list[Row]:
    """Return the rows of some data."""
    found = data if isinstance(data, list) else [data]
    rows = [row for row in found if isinstance(row, dict)]
    if len(rows) < len(found):
        raise refusal("no-rows", "a table takes a map, or a list of maps; 'data' is neither")
    if not all(rows):
        raise refusal("no-rows", "a row of 'data' is empty")
    return rows


def renamed(rows: Sequence[Row], columns: Sequence[str], table: str) -> list[Row]:
    """Return the rows under the names that the table has, which may differ in capitals."""
    folded = {name.lower(): name for name in columns}
    known = {name: name for name in columns}
    given = dict.fromkeys(key for row in rows for key in row)
    names = {key: known.get(key) or folded.get(key.lower()) for key in given}
    if strange := [key for key, name in names.items() if name is None]:
        there = ", ".join(columns)
        said = f"table '{table}' has no column {', '.join(strange)}; it has {there}"
        raise refusal("no-column", said)
    made = [{str(names[key]): value for key, value in row.items()} for row in rows]
    if any(len(new) < len(old) for new, old in zip(made, rows, strict=True)):
        raise refusal("no-column", f"two keys of a row mean one column of table '{table}'")
    return made


def fitted(
    wish: Wish, rows: Sequence[Row], columns: Sequence[str], table: str
) -> tuple[Wish, list[Row]]:
    """Return the wish and its rows under the names of a table; an upsert keeps the last ones."""
    rows = renamed(rows, columns, table)
    if wish.mode != "upsert":
        return wish, rows
    if not wish.key:
        raise refusal("no-key", "an upsert needs 'key': the columns that identify a row")
    if columns:
        (names,) = renamed([dict.fromkeys(wish.key)], columns, table)
        wish = replace(wish, key=tuple(names))
    return wish, last_of_each(rows, wish.key)


def groups(rows: Sequence[Row], most: int) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Yield the columns and rows of each statement, in the order of the rows."""
    for columns, found in groupby(rows, key=lambda row: tuple(sorted(row))):
        together = list(found)
        for at in range(0, len(together), most):
            yield columns, together[at : at + most]


def last_of_each(rows: Sequence[Row], key: Sequence[str]) -> list[Row]:
    """Return the rows without those that a later one with the same key replaces."""
    found: dict[str, Row] = {}
    for row in rows:
        if missing := [name for name in key if row.get(name) is None]:
            raise refusal("no-key", f"a row has no {', '.join(missing)}, which 'key' names")
        identity = identity_of(row, key)
        found.pop(identity, None)
        found[identity] = row
    return list(found.values())


def identity_of(row: Row, key: Sequence[str]) -> str:
    """Return what tells a row from others: the values under its key."""
    return json.dumps([row.get(name) for name in key])


def as_json(rows: Sequence[Row]) -> str:
    """Return rows as JSON."""
    try:
        return json.dumps(rows, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise refusal("no-rows", f"the data has no JSON form: {problem}") from None


def table_name(text: str) -> tuple[str, ...]:
    """Return the parts of the name of a table, which dots join; quotes may be around them."""
    parts, part, inside = list[str](), "", False
    for sign in text.strip():
        if sign == '"':
            inside = not inside
        elif sign == "." and not inside:
            parts.append(part)
            part = ""
        else:
            part += sign
    parts.append(part)
    if inside or not all(parts) or len(parts) > 3 or "\0" in text:
        raise refusal("no-table", f"'{text}' is no name of a table")
    return tuple(parts)


def spelt(names: Sequence[str]) -> str:
    """Return names in quotes, joined by dots."""
    return ".".join(map(quoted, names))


def listed(names: Sequence[str], before: str = "") -> str:
    """Return names in quotes, joined by commas."""
    return ", ".join(before + quoted(name) for name in names)


def table_of(rows: Sequence[Row], name: Sequence[str], wish: Wish, types: Mapping[str, str]) -> str:
    """Return the statement that makes a table for rows; lists and maps are kept as JSON."""
    columns = [
        f"{quoted(column)} {types[kind if isinstance(kind, str) else 'JSON']}"
        for column, kind in structure_of(rows).items()
    ]
    if wish.mode == "upsert":
        columns.append(f"PRIMARY KEY ({listed(wish.key)})")
    return f"CREATE TABLE IF NOT EXISTS {spelt(name)} ({', '.join(columns)})"


def inserts(
    rows: Sequence[Row],
    name: Sequence[str],
    wish: Wish,
    most: int,
    apart: Callable[[Sequence[str]], tuple[str, str]],
) -> Iterator[Statement]:
    """Yield what puts rows into a table, as one JSON parameter for so many of them.

    `apart` says what stands before and after the parameter to make rows called `r` of it.
    """
    for names, group in groups(rows, most):
        before, after = apart(names)
        head = f"INSERT INTO {spelt(name)} ({listed(names)}) SELECT {listed(names, 'r.')} FROM "
        tail = after + _on_conflict(wish, names)
        yield put_together((head + before, None, tail), (as_json(group),))


def _on_conflict(wish: Wish, columns: Sequence[str]) -> str:
    """Return what an INSERT does about rows that are there: nothing special unless it upserts."""
    if wish.mode != "upsert":
        return ""
    rest = [name for name in columns if name not in wish.key]
    changes = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in rest)
    deed = f"DO UPDATE SET {changes}" if rest else "DO NOTHING"
    return f" ON CONFLICT ({listed(wish.key)}) {deed}"


__all__ = [
    "Row",
    "Wish",
    "as_json",
    "fitted",
    "groups",
    "identity_of",
    "inserts",
    "last_of_each",
    "listed",
    "refusal",
    "renamed",
    "rows_of",
    "spelt",
    "table_name",
    "table_of",
    "wish_of",
]
