"""Task types that hold data: postgres, duckdb, transfer and file. Describes them; opens nothing."""

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.playbook.values import Flag, Mapping, OrTemplate, Reads, Text, Value
from noetl_mcp.tasks.contract import Settings, TaskSpec, writes
from noetl_mcp.tasks.pieces import Pieces, in_pieces
from noetl_mcp.tasks.setting_types import (
    Base64s,
    Bindings,
    Port,
    Positive,
    Query,
    Texts,
    Url,
    Words,
)
from noetl_mcp.tasks.settings_model import Group, SettingsModel

_SQL = ("sql", "command", "commands", "query", "statement", "statements")
_SQL_B64 = ("sql_b64", "command_b64", "commands_b64")
SQL = AliasChoices(*_SQL)
SQL_KEYS = frozenset(_SQL)
SQL_B64_KEYS = frozenset(_SQL_B64)
_IDENT = re.compile(r"\|\s*ident\b")


def _query_problem(pieces: Pieces) -> str | None:
    """A name would have to become a part of the text; a value never does."""
    if any(_IDENT.search(value) for value in pieces.values):
        return "a name cannot come from a template here; use 'table'"
    return None


QueryText = Annotated[
    str | dict[str, Any],
    Reads(in_pieces("a query, as one text", _query_problem), {"type": "string"}),
]
READING_ACTIONS = frozenset(("read", "list", "exists", "digest"))


class PostgresServer(SettingsModel):
    """Where a Postgres is. Without these the credential named by `auth` says it."""

    dsn: Text | None = Field(
        None,
        validation_alias=AliasChoices("dsn", "db_conn_string", "connection_string"),
        description="A connection string or URL.",
    )
    host: Text | None = Field(
        None, validation_alias=AliasChoices("host", "db_host"), description="The server's name."
    )
    port: Port | None = Field(
        None, validation_alias=AliasChoices("port", "db_port"), description="The server's port."
    )
    user: Text | None = Field(
        None,
        validation_alias=AliasChoices("user", "db_user"),
        description="The role to connect as.",
    )
    password: Text | None = Field(
        None,
        validation_alias=AliasChoices("password", "db_password"),
        description="Its password; a template of `secrets`.",
    )
    database: Text | None = Field(
        None,
        validation_alias=AliasChoices("database", "db_name", "dbname"),
        description="The database.",
    )


class Statements(SettingsModel):
    """What is said to a database, and what comes back."""

    sql: Texts | None = Field(
        None,
        validation_alias=SQL,
        description="The statement or statements; a value in {{ }} becomes a bound parameter.",
    )
    sql_b64: Base64s | None = Field(
        None,
        validation_alias=AliasChoices(*_SQL_B64),
        description="The same in base64; sent as it is, nothing in it is rendered.",
    )
    params: Bindings | None = Field(
        None, description="Parameters for :name or %s places, by name or in order."
    )
    transaction: Flag = Field(
        True, description="All statements stand or fall together; else each for itself."
    )
    max_rows: Positive = Field(
        10_000, description="More rows in one answer are a failure; nothing is cut."
    )
    max_bytes: Positive = Field(
        67_108_864, description="Longer rows, all together, are a failure; nothing is cut."
    )
    rows_as: Annotated[Literal["maps", "lists"], OrTemplate()] = Field(
        "maps", description="Whether a row is a map by column or a list."
    )


class PostgresSettings(PostgresServer, Statements):
    """Statements for a Postgres, in a read-only transaction unless the step says `writes`."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("dsn", "host")),
        frozenset(("sql", "sql_b64")),
    )

    isolation: (
        Annotated[Literal["read committed", "repeatable read", "serializable"], OrTemplate()] | None
    ) = Field(None, description="The isolation of the transaction; the server's own when missing.")


class Attached(SettingsModel):
    """A further database in a DuckDB; a bare text is its file or connection string."""

    shorthand: ClassVar[str | None] = "path"

    path: Text = Field(
        validation_alias=AliasChoices("path", "dsn"),
        description="A database file, or a connection string.",
    )
    type: Annotated[Literal["duckdb", "postgres", "sqlite"], OrTemplate()] = Field(
        "duckdb", description="What kind of database it is."
    )


class DuckdbSettings(Statements):
    """Statements for a DuckDB; a file is opened read-only unless the step says `writes`."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (frozenset(("sql", "sql_b64")),)

    database: Text = Field(
        ":memory:",
        validation_alias=AliasChoices("database", "db_path"),
        description="The database file; without one everything is gone after the step.",
    )
    tables: Mapping = Field(
        default_factory=dict,
        description="Tables to make first, by name: a list of maps, or the path of a data file.",
    )
    attach: Annotated[dict[str, Attached], OrTemplate()] = Field(
        default_factory=dict, description="Further databases, by the name they get."
    )
    extensions: Texts = Field(
        default_factory=list, description="Extensions to load; only installed ones."
    )
    memory_limit: Text | None = Field(None, description="The most memory it uses, such as 1GB.")
    threads: Positive | None = Field(None, description="The most threads it uses.")


class Source(PostgresServer):
    """Where the rows of a transfer come from."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("sql", "table", "url", "path", "rows")),
        frozenset(("dsn", "host")),
    )
    at_least_one_of: ClassVar[tuple[Group, ...]] = at_most_one_of[:1]

    type: Annotated[Literal["postgres", "duckdb", "http", "file", "rows"], OrTemplate()] = Field(
        validation_alias=AliasChoices("type", "tool"), description="What kind of source it is."
    )
    auth: Value = Field(
        None,
        description="The credential to use: its name in the step's `auth`, or a map. Without one "
        "the step's `auth` for `source`, or its only one.",
    )
    sql: QueryText | None = Field(
        None,
        validation_alias=SQL,
        description="A query that gives rows; a value in {{ }} becomes a bound parameter.",
    )
    params: Bindings | None = Field(None, description="Parameters of the query.")
    table: Text | None = Field(None, description="A table to read as a whole.")
    url: Url | None = Field(
        None,
        validation_alias=AliasChoices("url", "endpoint"),
        description="An address that answers with rows.",
    )
    headers: Words = Field(default_factory=dict, description="Headers to send with `url`.")
    url_params: Query | None = Field(None, description="The query sent with `url`.")
    at: Text | None = Field(None, description="A JSON pointer to the rows inside the answer.")
    path: Text | None = Field(None, description="A data file: CSV, JSON, JSON lines or Parquet.")
    rows: Value = Field(None, description="The rows themselves, mostly a template.")
    max_bytes: Positive = Field(
        67_108_864, description="A longer answer of `url` is a failure; nothing is cut."
    )


class Target(PostgresServer):
    """Where the rows of a transfer go to."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("table", "path")),
        frozenset(("dsn", "host")),
    )
    at_least_one_of: ClassVar[tuple[Group, ...]] = at_most_one_of[:1]

    type: Annotated[Literal["postgres", "duckdb", "file"], OrTemplate()] = Field(
        validation_alias=AliasChoices("type", "tool"), description="What kind of target it is."
    )
    auth: Value = Field(
        None,
        description="The credential to use: its name in the step's `auth`, or a map. Without one "
        "the step's `auth` for `target`, or its only one.",
    )
    table: Text | None = Field(
        None, description="The table that takes the rows; it must be there, with its columns."
    )
    path: Text | None = Field(None, description="The data file that takes the rows.")


class TransferSettings(SettingsModel):
    """Carry rows from one place to another, as a stream; all of them arrive or none."""

    source: Annotated[Source, OrTemplate()] = Field(description="Where the rows come from.")
    target: Annotated[Target, OrTemplate()] = Field(description="Where they go.")
    mapping: Words = Field(
        default_factory=dict,
        description="Columns of the target, each with its column of the source; all when empty.",
    )
    mode: Annotated[Literal["append", "overwrite", "upsert"], OrTemplate()] = Field(
        "append",
        description="What happens to rows that are there: they stay, they go first, or those with "
        "the same key are replaced.",
    )
    key: Texts = Field(
        default_factory=list,
        description="The columns of the target that identify a row, for upsert.",
    )
    chunk_size: Positive = Field(
        1_000, description="Without effect: rows are never held together, whatever it says."
    )
    memory_mb: Positive | None = Field(
        None,
        description="The most memory of the DuckDB in between, in megabytes; a row may take a "
        "32nd of it. By default 64, for JSON files 192, and 1024 where the target has an index or "
        "rows are upserted.",
    )


class FileSettings(SettingsModel):
    """Read, write or look at files below the folders that the worker allows."""

    path: Text = Field(description="The file or folder.")
    action: Annotated[
        Literal[
            "read", "list", "exists", "digest", "write", "append", "delete", "copy", "move", "mkdir"
        ],
        OrTemplate(),
    ] = Field(
        "read",
        validation_alias=AliasChoices("action", "operation"),
        description="What to do; all but read, list, exists and digest write.",
    )
    content: Value = Field(
        None,
        description="What to write; the step's input when missing. A value is written as JSON.",
    )
    format: Annotated[
        Literal["auto", "text", "json", "jsonl", "yaml", "csv", "base64"], OrTemplate()
    ] = Field("auto", description="How the content is read or written; auto goes by the ending.")
    encoding: Text = Field("utf-8", description="The encoding of texts.")
    to: Text | None = Field(None, description="Where copy and move lead.")
    pattern: Text = Field("*", description="Which names `list` gives; ** goes into folders.")
    overwrite: Flag = Field(True, description="Whether a file that is there may be replaced.")
    make_folders: Flag = Field(True, description="Whether missing folders are made.")
    missing_ok: Flag = Field(False, description="Whether a missing file is nothing, not a failure.")
    max_bytes: Positive = Field(
        16_777_216, description="A longer file is a failure; nothing is cut."
    )


def _file_writes(settings: Settings) -> bool:
    """Reading, listing and the like do not write; an action that is a template may."""
    action = settings.get("action", settings.get("operation"))
    return action is not None and action not in READING_ACTIONS


SPECS = (
    TaskSpec(
        name="postgres",
        summary="Run SQL in a Postgres.",
        settings=PostgresSettings,
        unknown_outcome="in_doubt",
        required_one_of=(frozenset(("sql", "sql_b64")),),
        sql=SQL_KEYS,
        code=SQL_B64_KEYS,
    ),
    TaskSpec(
        name="duckdb",
        summary="Run SQL in a DuckDB, in memory or in a file.",
        settings=DuckdbSettings,
        unknown_outcome="in_doubt",
        required_one_of=(frozenset(("sql", "sql_b64")),),
        sql=SQL_KEYS,
        code=SQL_B64_KEYS,
    ),
    TaskSpec(
        name="transfer",
        summary="Carry rows from one place to another.",
        settings=TransferSettings,
        writes=writes,
        may_say_writes=False,
        unknown_outcome="in_doubt",
    ),
    TaskSpec(
        name="file",
        summary="Read, write or look at files.",
        settings=FileSettings,
        writes=_file_writes,
        unknown_outcome="in_doubt",
    ),
)

__all__ = [
    "READING_ACTIONS",
    "SPECS",
    "SQL",
    "SQL_B64_KEYS",
    "SQL_KEYS",
    "Attached",
    "DuckdbSettings",
    "FileSettings",
    "PostgresServer",
    "PostgresSettings",
    "QueryText",
    "Source",
    "Statements",
    "Target",
    "TransferSettings",
]
