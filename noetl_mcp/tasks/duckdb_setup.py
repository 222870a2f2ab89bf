"""Put into a DuckDB what a call wants in it: extensions, further databases, tables of rows.

Sends statements through a session and opens nothing by itself.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.csv_form import csv_rules
from noetl_mcp.tasks.duckdb_values import quoted, structure_of, text_of
from noetl_mcp.tasks.folders import Folders, ending
from noetl_mcp.tasks.specs_data import Attached
from noetl_mcp.tasks.sql_pieces import refused

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
_READERS = {
    "csv": "read_csv",
    "tsv": "read_csv",
    "json": "read_json",
    "jsonl": "read_json",
    "ndjson": "read_json",
    "parquet": "read_parquet",
}
_EXTENSIONS = {"postgres": "postgres_scanner", "sqlite": "sqlite_scanner"}


class Told(Protocol):
    """Somebody who takes statements."""

    def tell(self, text: str, values: Sequence[object] = ()) -> Any:
        """Send a statement."""


def load(session: Told, extensions: Sequence[str]) -> None:
    """Load extensions; none is fetched."""
    for name in extensions:
        session.tell(f"LOAD {quoted(_plain(name))}")


def attach(
    session: Told, others: Mapping[str, Attached], folders: Folders, *, writes: bool
) -> None:
    """Attach further databases, to be read only unless the call writes."""
    for name, other in others.items():
        options = [] if writes else ["READ_ONLY"]
        path = other.path
        if other.type in _EXTENSIONS:
            session.tell(f"LOAD {_EXTENSIONS[other.type]}")
            options.append(f"TYPE {other.type}")
        if other.type != "postgres":
            path = str(folders.checked(path, make=writes))
        said = f" ({', '.join(options)})" if options else ""
        session.tell(f"ATTACH {text_of(path)} AS {quoted(_plain(name))}{said}")


def fill_tables(session: Told, tables: Mapping[str, Any], folders: Folders) -> None:
    """Make temporary tables of rows, of the results of steps, or of data files."""
    for name, source in tables.items():
        head = f"CREATE TEMP TABLE {quoted(_plain(name))} AS"
        if isinstance(source, str):
            reader = _READERS.get(ending(source))
            if reader is None:
                said = f"table '{name}': a data file ends with {', '.join(sorted(_READERS))}"
                raise Failed("no-table", said, retriable=False)
            path = folders.checked(source)
            rules = f", {csv_rules(path)}" if reader == "read_csv" else ""
            session.tell(f"{head} SELECT * FROM {reader}($1{rules})", [str(path)])
        else:
            rows, structure = rows_as_json(name, source)
            # The structure holds names and types; no value is in it.
            unnested = f"unnest(from_json($1, {text_of(json.dumps([structure]))}))"
            session.tell(f"{head} SELECT r.* FROM (SELECT {unnested} AS r) AS t", [rows])


def rows_as_json(name: str, source: object) -> tuple[str, Mapping[str, Any]]:
    """Return rows as JSON, and the types of their columns.

    The whole result of a step that asked a database names its columns, so it may be without rows.
    """
    rows, columns = _rows_and_columns(uncovered(source))
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        said = f"table '{name}' is neither a list of maps, nor the result of a step with 'rows', "
        raise Failed("no-table", said + "nor the path of a data file", retriable=False)
    structure = structure_of(rows)
    if columns:
        structure = {one: structure.get(one, "VARCHAR") for one in columns}
    if not structure:
        said = f"table '{name}' has no columns: there are no rows, or nothing in them; the whole "
        said += "result of a step, as in '{{ step }}', names its columns"
        raise Failed("no-table", said, retriable=False)
    try:
        return json.dumps(rows, allow_nan=False), structure
    except (TypeError, ValueError) as problem:
        said = f"table '{name}' has no JSON form: {problem}"
        raise Failed("no-table", said, retriable=False) from None


def _rows_and_columns(source: object) -> tuple[object, Sequence[str]]:
    """Return the rows of a table, and the names of its columns where they are told."""
    if not isinstance(source, Mapping) or "rows" not in source:
        return source, ()
    rows, columns = source["rows"], source.get("columns") or ()
    if isinstance(rows, list) and columns:
        rows = [
            dict(zip(columns, row, strict=False)) if isinstance(row, list) else row for row in rows
        ]
    return rows, columns


def _plain(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise refused(f"'{name}' is no plain name")
    return name


__all__ = ["Told", "attach", "fill_tables", "load", "rows_as_json"]
