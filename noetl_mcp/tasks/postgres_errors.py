"""Tell what an error of Postgres means for a step. Pure: knows codes, not the driver."""

from typing import Protocol

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.sql_script import masked

_MAY_HELP = ("08", "25P03", "25P04", "40001", "40P01", "53", "55P03", "57")
_LOST = ("08", "25P03", "25P04", "57P")
_HINTS = {
    "25006": "the step reads unless it says 'writes: true'",
    "42P02": "this kind of statement takes no values; a name needs the filter 'ident'",
    "42P10": "an upsert needs a unique index or a primary key on the columns of 'key'",
    "42P18": "say what the value is: {{ … }}::text",
}
OPEN_PLACE = "42P18"
"""The server cannot tell the type of a place."""
WRONG_GUESS = frozenset((OPEN_PLACE, "42725", "42804", "42883"))
"""What a look at a statement may meet only because the types of its lists were left open."""


class Diagnostic(Protocol):
    """What the server says about an error beside its message."""

    @property
    def message_primary(self) -> str | None: ...
    @property
    def message_detail(self) -> str | None: ...
    @property
    def message_hint(self) -> str | None: ...
    @property
    def context(self) -> str | None: ...
    @property
    def schema_name(self) -> str | None: ...
    @property
    def table_name(self) -> str | None: ...
    @property
    def column_name(self) -> str | None: ...
    @property
    def constraint_name(self) -> str | None: ...
    @property
    def statement_position(self) -> str | None: ...


def is_lost(state: str | None) -> bool:
    """Whether the server, or the way to it, is gone; an error without a code is one of the way."""
    return state is None or state.startswith(_LOST)


def failure(
    state: str, diagnostic: Diagnostic, *, statement: int | None, secrets: frozenset[str]
) -> Failed:
    """Return the failure of a statement that the server refused."""
    said = {
        "sqlstate": state,
        "statement": statement,
        "position": diagnostic.statement_position,
        "detail": diagnostic.message_detail,
        "hint": diagnostic.message_hint,
        "where": diagnostic.context,
        "schema": diagnostic.schema_name,
        "table": diagnostic.table_name,
        "column": diagnostic.column_name,
        "constraint": diagnostic.constraint_name,
    }
    details: dict[str, Json] = {
        key: masked(value, secrets) if isinstance(value, str) else value
        for key, value in said.items()
        if value is not None
    }
    message = diagnostic.message_primary or "the server refused a statement"
    if state in _HINTS:
        message = f"{message}: {_HINTS[state]}"
    return Failed(
        f"postgres-{state}",
        masked(message, secrets),
        retriable=state.startswith(_MAY_HELP),
        details=details,
    )


__all__ = ["OPEN_PLACE", "WRONG_GUESS", "Diagnostic", "failure", "is_lost"]
