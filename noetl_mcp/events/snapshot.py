"""Write a day of the log into a Parquet file, before the day is taken away. Removes nothing itself.

The file holds the events with their names, so nothing else is needed to read it with whatever reads
Parquet. It appears as a whole or not at all.
"""

import os
import tempfile
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb

from noetl_mcp.events.ask import fill
from noetl_mcp.events.copied import How, Source, quickest


class Incomplete(Exception):
    """A file does not hold what the log holds; it was not kept."""


def snapshot(dsn: str, day: date, folder: Path, *, how: How | None = None) -> Path:
    """Write the events of a day (in UTC) into `events-DAY.parquet`; one that is there goes."""
    begin = datetime.combine(day, time(), UTC)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"events-{day}.parquet"
    with tempfile.TemporaryDirectory(prefix=".snapshot-", dir=folder) as scratch:
        made = Path(scratch) / target.name
        source = Source(dsn, how or quickest(), Path(scratch), begin, begin + timedelta(days=1))
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": "1GB",
            "temp_directory": f"{scratch}/spill",
        }
        with duckdb.connect(f"{scratch}/log.duckdb", config=settings) as connection:
            fill(connection, source)
            connection.execute(
                "copy (select * from events order by execution_id, id) to $1"
                " (format parquet, compression zstd)",
                [str(made)],
            )
            _demand_whole(connection, made)
        os.replace(made, target)
    return target


def _demand_whole(connection: duckdb.DuckDBPyConnection, made: Path) -> None:
    row = connection.execute(
        "select (select count(*) from events), (select count(*) from read_parquet($1))", [str(made)]
    ).fetchone()
    if row is None or row[0] != row[1]:
        raise Incomplete(f"{made.name} does not hold every event of its day")


__all__ = ["Incomplete", "snapshot"]
