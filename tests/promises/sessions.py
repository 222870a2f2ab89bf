"""Sessions that stand in each other's way: one in the middle of a flush, another that waits for it.

Waits only until the database says that a session waits for a lock; nothing here sleeps for luck.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from noetl_mcp.broker.lanes import Lane
from noetl_mcp.broker.records import Records
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.queue.postgres import PostgresQueue
from tests.queue.world import InPostgres

T = TypeVar("T")
PATIENCE = 20.0
_beside: list[threading.Thread] = []


def worker(world: InPostgres) -> PostgresQueue:
    """Return a worker whose connection can be asked for more than flushes."""
    made = world.worker()
    assert isinstance(made, PostgresQueue)
    return made


def lane(
    world: InPostgres, writes: int = 0, *, pool: str = "", limit: str = "", most: int = 1
) -> int:
    """Return the number of a lane."""
    wanted = Lane(pool, 0, (limit,) * bool(limit), (most,) * bool(limit), writes)
    return Records(world.own).lanes([wanted])[wanted]


def ask(world: InPostgres, question: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows that answer a question."""
    cursor = world.own.execute(question.encode(), values)
    return cursor.fetchall() if cursor.description is not None else []


@contextmanager
def uncommitted(connection: Connection[TupleRow]) -> Iterator[None]:
    """Hold what is done inside back from everybody else until the end.

    Whoever came to wait for it meanwhile is waited for too.
    """
    connection.execute("begin")
    try:
        yield
    finally:
        connection.execute("commit")
        while _beside:
            _beside.pop().join(PATIENCE)


class Beside(Generic[T]):
    """Something that is done in a thread of its own and may have to wait for a lock."""

    def __init__(self, connection: Connection[TupleRow], doing: Callable[[], T]) -> None:
        self._connection = connection
        self._pid = connection.info.backend_pid
        self._found: list[T | BaseException] = []
        self._doing = doing
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        _beside.append(self._thread)

    def _work(self) -> None:
        try:
            self._found.append(self._doing())
        except BaseException as problem:  # noqa: BLE001 - it is raised where it is waited for
            self._found.append(problem)

    def waits(self, watch: Connection[TupleRow]) -> bool:
        """Say whether it came to wait for a lock; false when it was done without."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            row = watch.execute(
                "select cardinality(pg_blocking_pids(%s)) > 0", (self._pid,)
            ).fetchone()
            if row == (True,):
                return True
            if not self._thread.is_alive():
                return False
        raise AssertionError("it neither waits nor ends")

    def result(self) -> T:
        """Return what came of it."""
        self._thread.join(PATIENCE)
        assert self._found, "it never ended"
        (found,) = self._found
        if isinstance(found, BaseException):
            raise found
        return found


__all__ = ["PATIENCE", "Beside", "ask", "lane", "uncommitted", "worker"]
