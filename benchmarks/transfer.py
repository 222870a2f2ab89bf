"""What it costs to carry rows from a Postgres to a DuckDB and back; prints JSON.

    python benchmarks/transfer.py [--rows 10000000] [--dsn DSN]

Without `--dsn` the Postgres of `NOETL_HOME` is used, as `noetl-mcp db start` started it. CPU time
and memory are those of this process, in which everything but the Postgres works: `base` is what it
holds once both libraries are loaded and a small transfer was made, `peak` the most it held during
each way, `growth` the difference.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from noetl_mcp.assembly import opened
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.specs_data import TransferSettings
from noetl_mcp.tasks.transfer import Transfer

COLUMNS = "id bigint, name text, amount numeric(18,2), made timestamptz, ok boolean"
IN_DUCKDB = "id BIGINT, name VARCHAR, amount DECIMAL(18,2), made TIMESTAMPTZ, ok BOOLEAN"
FILL = (
    "INSERT INTO transfer_from SELECT n, 'name of row ' || n, n * 1.25, "
    "timestamptz '2024-01-01' + n * interval '1 second', n %% 3 = 0"
    " FROM generate_series(1, %s) AS n"
)
SUMS = "SELECT count(*), sum(id), sum(amount), min(made), max(made) FROM {}"
WARM = 1_000


class Silent:
    """Surroundings that keep nothing."""

    def may_send(self) -> None: ...
    async def remember(self, note: Json) -> None: ...
    def log(self, text: str, *, stream: str = "stdout") -> None: ...


def memory(what: str) -> float:
    """Return what this process holds, or has held at most, in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise SystemExit("memory can be read on Linux only")


def forget_peak() -> None:
    """Have the kernel count the peak anew."""
    Path("/proc/self/clear_refs").write_text("5")


def cpu() -> float:
    """Return the seconds of CPU that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def moved(task: Transfer, source: object, target: object) -> Any:
    """Carry rows once."""
    settings = TransferSettings.model_validate(
        {"source": source, "target": target, "mode": "overwrite"}
    )
    return await task.execute(Call("transfer", settings, None, Silent(), writes=True))


async def measure(way: str, task: Transfer, source: object, target: object, base: float) -> Json:
    """Carry rows once, and say what it cost."""
    forget_peak()
    began, used = time.perf_counter(), cpu()
    result = await moved(task, source, target)
    seconds, used = time.perf_counter() - began, cpu() - used
    peak = memory("VmHWM")
    return {
        "way": way,
        "rows": result["rows_written"],
        "seconds": round(seconds, 2),
        "rows_per_second": round(result["rows_written"] / seconds),
        "cpu_seconds": round(used, 2),
        "cpu_us_per_row": round(used / result["rows_written"] * 1e6, 3),
        "peak_rss_mb": peak,
        "growth_mb": round(peak - base, 1),
    }


async def main(dsn: str, rows: int, folder: Path) -> Json:
    """Carry rows there and back, and compare them."""
    file = str(folder / "rows.duckdb")
    http = Http()
    task = Transfer(http=http, folders=[folder])
    pg = {"type": "postgres", "dsn": dsn}
    there = {"type": "duckdb", "database": file, "table": "t"}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS transfer_from, transfer_back")
        connection.execute(f"CREATE UNLOGGED TABLE transfer_from ({COLUMNS})")
        connection.execute(f"CREATE UNLOGGED TABLE transfer_back ({COLUMNS})")
        with duckdb.connect(file) as made:
            made.execute(f"CREATE TABLE t ({IN_DUCKDB})")
        connection.execute(FILL % WARM)
        await moved(task, {**pg, "table": "transfer_from"}, there)
        await moved(task, there, {**pg, "table": "transfer_back"})
        connection.execute("TRUNCATE transfer_from, transfer_back")
        connection.execute(FILL % rows)
        base = memory("VmRSS")
        ways = [
            await measure(
                "postgres to duckdb", task, {**pg, "table": "transfer_from"}, there, base
            ),
            await measure(
                "duckdb to postgres", task, there, {**pg, "table": "transfer_back"}, base
            ),
        ]
        sums = [
            connection.execute(SUMS.format(f"transfer_{n}")).fetchone() for n in ("from", "back")
        ]
        connection.execute("DROP TABLE transfer_from, transfer_back")
    await task.close()
    await http.close()
    return {
        "rows": rows,
        "same": sums[0] == sums[1],
        "base_rss_mb": base,
        "ways": ways,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("--rows", type=int, default=10_000_000)
    reading.add_argument("--dsn")
    asked = reading.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="noetl-transfer-benchmark-"))
    try:
        if asked.dsn is not None:
            found = asyncio.run(main(asked.dsn, asked.rows, scratch))
        else:
            with opened() as home:
                found = asyncio.run(main(home.dsn, asked.rows, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(found, indent=2))
