"""Ask DuckDB itself what a statement would do: by the operators of its plan. Carries nothing out.

Only some words can lead to a write from within a query; without any of them nobody needs to ask.
They are looked for in the bare text, since no two readers agree on where a comment or a quote ends.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from noetl_mcp.tasks.sql_pieces import MARKS, refused, tokens

_KIND = duckdb.StatementType
PLANNED = frozenset(
    (
        _KIND.CALL,
        _KIND.CREATE,
        _KIND.CREATE_FUNC,
        _KIND.DELETE,
        _KIND.INSERT,
        _KIND.MERGE_INTO,
        _KIND.SELECT,
        _KIND.SET,
        _KIND.UPDATE,
        _KIND.VARIABLE_SET,
    )
)
"""The kinds of statements whose plan can be asked for."""
_WRITES_FILES = re.compile(r"copy|export|import|execute|substrait", re.IGNORECASE)
_RUNS_A_TEXT = re.compile(
    r"""(\bquery|execute_serialized_sql|\w_execute|from_substrait\w*)"?\s*(\(|/\*|--)""",
    re.IGNORECASE,
)
_OPERATORS = re.compile(r"COPY|EXPORT|EXECUTE|SUBSTRAIT")
_CHANGING = re.compile(r"INSERT|UPDATE|DELETE|MERGE|" + _OPERATORS.pattern)
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_EXPLAINED = frozenset(
    (
        *("SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "SHOW"),
        *("SUMMARIZE", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "CREATE", "("),
    )
)
_STORED = """
SELECT view_name, sql FROM duckdb_views() WHERE NOT internal
UNION ALL
SELECT function_name, macro_definition FROM duckdb_functions()
 WHERE macro_definition IS NOT NULL AND NOT internal
"""


def may_write_files(text: str) -> bool:
    """Whether a text has a word without which no query writes a file."""
    return _WRITES_FILES.search(text) is not None


def runs_a_text(text: str) -> bool:
    """Whether a text calls a function that runs SQL; what that is may be another at each look."""
    return _RUNS_A_TEXT.search(text) is not None


def run_by_name(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Return the views and macros that the databases keep, and that run a text in the end."""
    kept = [(str(name).lower(), str(text).lower()) for name, text in _kept(connection)]
    found = {name for name, text in kept if runs_a_text(text)}
    while more := {n for n, text in kept if n not in found and any(one in text for one in found)}:
        found |= more
    return frozenset(found)


def _kept(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    return connection.execute(_STORED).fetchall()


def writes_files(
    connection: duckdb.DuckDBPyConnection,
    kind: duckdb.StatementType,
    text: str,
    values: Sequence[Any],
) -> bool:
    """Whether a statement would write a file, going by its plan where it has one."""
    if runs_a_text(text):
        return True
    if kind not in PLANNED or not may_write_files(text):
        return may_write_files(text)
    return any(map(_OPERATORS.search, _operators(connection, text, values)))


def changes(connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> bool:
    """Whether a query changes something as well, in the database or in files."""
    return runs_a_text(query) or any(map(_CHANGING.search, _operators(connection, query, values)))


def _operators(
    connection: duckdb.DuckDBPyConnection, text: str, values: Sequence[Any]
) -> Iterator[str]:
    """Yield the names of the operators in the plan of a statement."""
    asked = f"EXPLAIN (FORMAT json)\n{text}"
    try:
        found = connection.execute(asked, list(values) or None).fetchall()
    except duckdb.Error as error:
        raise type(error)(_LINE.sub(_line_before, str(error))) from None
    for _, plan in found:
        rest = list(json.loads(plan))
        while rest:
            one = rest.pop()
            yield str(one["name"])
            rest += one.get("children", ())


def _line_before(found: re.Match[str]) -> str:
    return f"LINE {max(1, int(found[1]) - 1)}:"


def refuse_odd_explain(text: str, number: int | None) -> None:
    """Refuse an EXPLAIN of anything but a query or a change: with ANALYZE it is carried out."""
    said = (one for one in tokens(text, MARKS[0]) if one.says)
    next(said, None)
    depth, begins = 0, ""
    for token in said:
        if depth == 0 and token.upper not in ("ANALYZE", "ANALYSE", "VERBOSE", "(", ")"):
            begins = token.upper
            break
        depth += {"(": 1, ")": -1}.get(token.upper, 0)
    if begins not in _EXPLAINED and begins:
        raise refused(f"statement {number} is EXPLAIN of {begins}, which no step can do")


__all__ = [
    "PLANNED",
    "changes",
    "may_write_files",
    "refuse_odd_explain",
    "run_by_name",
    "runs_a_text",
    "writes_files",
]
