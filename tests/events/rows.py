"""Rows of the log as a worker leaves them, for tests of those who read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from noetl_mcp.database import Connection, TupleRow, connect

PLAN = "insert into noetl.plan (digest, format, content) values ('d', 1, '{}') returning id"


@contextmanager
def session(dsn: str, *, autocommit: bool = True) -> Iterator[Connection[TupleRow]]:
    """Yield a connection; what is not committed at the end is gone."""
    connection = connect(dsn, application_name="tests", autocommit=autocommit)
    try:
        yield connection
    finally:
        connection.close()


def number(connection: Connection[TupleRow], question: str, *values: object) -> int:
    """Return the number that a statement gives."""
    row = connection.execute(question.encode(), values).fetchone()
    assert row is not None
    return int(row[0])


def execution(
    connection: Connection[TupleRow], *, steps: tuple[str, ...] = ("start", "a", "end")
) -> int:
    """Make an execution of a plan with these steps."""
    made = connection.execute("select id from noetl.plan where digest = 'd'").fetchone()
    if made is None:
        plan = number(connection, PLAN)
        for idx, name in enumerate(steps):
            connection.execute(
                "insert into noetl.plan_step (plan_id, idx, name, type) values (%s, %s, %s, %s)",
                (plan, idx, name, "python"),
            )
    else:
        plan = made[0]
    return number(
        connection,
        "insert into noetl.execution (id, plan_id, path, version)"
        " values (nextval('noetl.execution_id'), %s, 'tests/one', 1) returning id",
        plan,
    )


def event(
    connection: Connection[TupleRow],
    execution_id: int,
    kind: str = "log",
    *,
    idx: int | None = None,
    item: int | None = None,
    data: str | None = None,
    ts: datetime | None = None,
) -> int:
    """Append an event and return its number."""
    return number(
        connection,
        "insert into noetl.event (kind, execution_id, idx, item, attempt, worker, data, ts)"
        " select k.kind, %s, %s, %s, 1, 7, %s, coalesce(%s, clock_timestamp())"
        "   from noetl.event_kind k where k.name = %s returning id",
        execution_id,
        idx,
        item,
        data,
        ts,
        kind,
    )


def ended(connection: Connection[TupleRow], execution_id: int) -> None:
    """End an execution."""
    event(connection, execution_id, "execution_completed")
    connection.execute("update noetl.execution set status = 1 where id = %s", (execution_id,))
