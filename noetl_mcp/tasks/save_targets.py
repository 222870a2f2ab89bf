"""Where a result can be saved, and what each place may be told. Saves nothing.

`storage`, `data`, `when`, `on`, `mode`, `key`, `auth`, `on_failure` and `name` belong to every save
and are read by the language; a target's settings are what remains.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from noetl_mcp.playbook.values import Flag, Model, OrTemplate, Text
from noetl_mcp.tasks.contract import Settings, UnknownOutcome, reads, writes
from noetl_mcp.tasks.setting_types import Bindings, Positive, Texts
from noetl_mcp.tasks.settings_model import Group, SettingsModel
from noetl_mcp.tasks.specs_compute import PROGRAMS, PythonSettings
from noetl_mcp.tasks.specs_data import SQL, SQL_KEYS, PostgresServer
from noetl_mcp.tasks.specs_web import HttpSettings, Method, http_writes

TABLE_OR_SQL = frozenset(("table", "sql"))


class EventLogTarget(SettingsModel):
    """The execution's own log; nothing more to say."""


class TableTarget(SettingsModel):
    """A table that takes the data, or a statement that puts it there."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (TABLE_OR_SQL,)

    table: Text | None = Field(None, description="The table that takes the data as rows.")
    sql: Texts | None = Field(
        None,
        validation_alias=SQL,
        description="Statements instead of a table; a value in {{ }} becomes a bound parameter.",
    )
    params: Bindings | None = Field(None, description="Parameters for :name or %s places.")
    make_table: Flag = Field(False, description="Make a missing table with columns for the data.")
    chunk_size: Positive = Field(1_000, description="So many rows are sent at once.")


class PostgresTarget(TableTarget, PostgresServer):
    """A table of a Postgres; a save is made once, whatever is run again."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (TABLE_OR_SQL, frozenset(("dsn", "host")))


class DuckdbTarget(TableTarget):
    """A table of a DuckDB file."""

    database: Text | None = Field(
        None, description="The database file; one in the worker's own folder when missing."
    )


class FileTarget(SettingsModel):
    """A file below the folders that the worker allows."""

    path: Text = Field(description="The file.")
    format: Annotated[Literal["auto", "text", "json", "jsonl", "yaml", "csv"], OrTemplate()] = (
        Field("auto", description="How the data is written; auto goes by the ending.")
    )
    encoding: Text = Field("utf-8", description="The encoding of texts.")
    make_folders: Flag = Field(True, description="Whether missing folders are made.")


class HttpTarget(HttpSettings):
    """A server that takes the data as its body."""

    method: Method = Field("POST", description="The verb.")


class PythonTarget(PythonSettings):
    """A function that is called with the data."""


def _http_save_writes(settings: Settings) -> bool:
    """A save posts unless it says otherwise."""
    return http_writes({"method": "POST", **settings})


@dataclass(frozen=True, slots=True)
class SaveTarget:
    """A storage of `save`: its settings, its modes, and what a lost answer means.

    `once` says that it carries the unique key (execution, step, item) and is never made twice. The
    other fields are those of a TaskSpec; an upsert needs a `key`.
    """

    name: str
    summary: str
    settings: type[Model]
    modes: frozenset[str] = frozenset(("append",))
    writes: Callable[[Settings], bool] = writes
    once: bool = False
    unknown_outcome: UnknownOutcome = "in_doubt"
    required_one_of: tuple[frozenset[str], ...] = ()
    sql: frozenset[str] = field(default_factory=frozenset)
    code: frozenset[str] = field(default_factory=frozenset)


_TARGETS = (
    SaveTarget(
        name="event_log",
        summary="Keep it in the execution's log.",
        settings=EventLogTarget,
        writes=reads,
        once=True,
        unknown_outcome="run_again",
    ),
    SaveTarget(
        name="postgres",
        summary="Put it into a table of a Postgres.",
        settings=PostgresTarget,
        modes=frozenset(("append", "overwrite", "upsert")),
        once=True,
        unknown_outcome="run_again",
        required_one_of=(TABLE_OR_SQL,),
        sql=SQL_KEYS,
    ),
    SaveTarget(
        name="duckdb",
        summary="Put it into a table of a DuckDB file.",
        settings=DuckdbTarget,
        modes=frozenset(("append", "overwrite", "upsert")),
        once=True,
        required_one_of=(TABLE_OR_SQL,),
        sql=SQL_KEYS,
    ),
    SaveTarget(
        name="file",
        summary="Write it into a file.",
        settings=FileTarget,
        modes=frozenset(("append", "overwrite", "upsert")),
    ),
    SaveTarget(
        name="http",
        summary="Send it to a server.",
        settings=HttpTarget,
        writes=_http_save_writes,
    ),
    SaveTarget(
        name="python",
        summary="Call a Python function with it.",
        settings=PythonTarget,
        writes=reads,
        unknown_outcome="run_again",
        required_one_of=(PROGRAMS,),
        code=frozenset(("code", "code_b64")),
    ),
)

SAVE_TARGETS: Mapping[str, SaveTarget] = MappingProxyType({one.name: one for one in _TARGETS})

__all__ = [
    "SAVE_TARGETS",
    "TABLE_OR_SQL",
    "DuckdbTarget",
    "EventLogTarget",
    "FileTarget",
    "HttpTarget",
    "PostgresTarget",
    "PythonTarget",
    "SaveTarget",
    "TableTarget",
]
