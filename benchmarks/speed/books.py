"""The playbooks that are measured, and how many executions of them come into the database.

They are submitted and started as the product does it; `clone` alone writes rows by itself, to fill
a queue or a log faster than anybody could.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.starts import Starts
from noetl_mcp.catalog.catalog import Catalog
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.queue.encode import decode
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.specs_compute import NoopSettings
from speed.server import Server

NOTHING = "nothing"
SPECS = {
    **known_tasks(),
    NOTHING: TaskSpec(NOTHING, "Do nothing, by the whole way.", NoopSettings),
}
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: b, path: bench/%s}\n"
_AT_ONCE = 1_000
_CLONES_AT_ONCE = 50_000
_CLONED = {
    # table: (column of the execution, columns that number themselves)
    "execution": ("id", ("key",)),
    "step": ("execution_id", ()),
    "event": ("execution_id", ("id",)),
    "ready": ("execution_id", ("id",)),
}


def chain(steps: int, kind: str = NOTHING, more: str = "") -> str:
    """Return a playbook of steps that follow each other."""
    lines = ["workflow:\n"]
    for number in range(steps):
        name = "start" if number == 0 else f"s{number}"
        on = f", next: [s{number + 1}]" if number < steps - 1 else ""
        lines.append(f"  - {{step: {name}, type: {kind}{more}{on}}}\n")
    return HEAD % f"{kind}{steps}" + "".join(lines)


def fan(window: int) -> str:
    """Return a playbook whose one step goes over `workload.rows`, so many items side by side."""
    return HEAD % f"fan{window}" + (
        "workload: {rows: []}\n"
        "workflow:\n"
        "  - step: start\n"
        "    type: iterator\n"
        '    collection: "{{ workload.rows }}"\n'
        "    mode: async\n"
        f"    concurrency: {window}\n"
        f"    task: {{type: {NOTHING}}}\n"
    )


def begin(
    server: Server, text: str, executions: int, payload: Mapping[str, Any] | None = None
) -> tuple[list[int], float]:
    """Start executions; return their numbers and how many were started a second."""
    with server.connect("start") as connection:
        starts, program, version = ready(connection, text)
        found: list[int] = []
        begun = time.perf_counter()
        for at in range(0, executions, _AT_ONCE):
            many = range(min(_AT_ONCE, executions - at))
            prepared = [starts.prepare(program, payload or {}, version=version) for _ in many]
            found += [number for number, _ in starts.start(prepared)]
        return found, executions / (time.perf_counter() - begun)


def ready(connection: Connection[TupleRow], text: str) -> tuple[Starts, Program, int]:
    """Keep a playbook, and return what starts it."""
    records = Records(connection)
    kept = Catalog(connection, SPECS).submit(load_bytes(text.encode(), "bench.yaml"))
    program = Program(decode(records.plan(kept.plan_id)), SPECS, kept.plan_id)
    return Starts(records), program, kept.version


def clone(server: Server, original: int, count: int, tables: Sequence[str]) -> None:
    """Write the rows of one execution so many times more, each time as another execution."""
    with server.connect("clone") as connection:
        connection.execute("set synchronous_commit = off")
        row = connection.execute("select nextval('noetl.execution_id')").fetchone()
        base = int(row[0]) if row else 0
        values: dict[str, Any] = {"original": original, "base": base}
        statements = [_cloning(connection, name) for name in tables]
        for at in range(0, count, _CLONES_AT_ONCE):
            values |= {"first": at + 1, "last": min(count, at + _CLONES_AT_ONCE)}
            for statement in statements:
                connection.execute(statement.encode(), values)
        connection.execute("select setval('noetl.execution_id', %s)", (base + count,))
        for name in tables:
            connection.execute(f"vacuum (analyze) noetl.{name}".encode())
        connection.execute("checkpoint")


def _cloning(connection: Connection[TupleRow], table: str) -> str:
    number, own = _CLONED[table]
    rows = connection.execute(
        "select quote_ident(attname) from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " and not attisdropped",
        (f"noetl.{table}",),
    ).fetchall()
    columns = [row[0] for row in rows if row[0] not in (number, *own)]
    listed, taken = ", ".join(columns), ", ".join(f"o.{name}" for name in columns)
    order = "g, o.id" if "id" in own else "g"
    return (
        f"insert into noetl.{table} ({number}, {listed})"
        f" select %(base)s + g, {taken}"
        f" from noetl.{table} o"
        f" cross join generate_series(%(first)s::bigint, %(last)s::bigint) g"
        f" where o.{number} = %(original)s order by {order}"
    )


__all__ = ["HEAD", "NOTHING", "SPECS", "begin", "chain", "clone", "fan", "ready"]
