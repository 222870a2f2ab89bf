"""What one call costs, counted in pages touched or rows read: the same on any machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.queue.lease import Flush, Flushed, Lease, Wish
from noetl_mcp.queue.postgres import PostgresQueue

_NAME, _EXPLAINED = b"noetl_flush", b"explained"
_READ = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)
  from pg_stat_xact_user_tables
 where schemaname = 'noetl' and relname not in ('lane', 'worker')
"""
_EXPLAIN = b"explain (analyze, buffers, timing off, format json) "


class Explained(PostgresQueue):
    """A worker that has each of its flushes explained, and asks afterwards what it holds."""

    def __init__(
        self,
        connection: Connection[TupleRow],
        worker: int,
        epoch: int,
        *,
        beside: Connection[TupleRow],
    ) -> None:
        super().__init__(connection, worker, epoch)
        self._beside = beside
        self._asked = self._ask
        self._ask: Any = self
        self.pages = 0
        """How many the last flush touched."""
        row = connection.execute(
            "select statement, parameter_types::oid[]::bigint[] from pg_prepared_statements"
            " where name = %s",
            (_NAME.decode(),),
        ).fetchone()
        assert row is not None
        done = self._asked.prepare(_EXPLAINED, _EXPLAIN + row[0].encode(), row[1])
        assert done.status == 1, done.error_message

    def exec_prepared(self, name: bytes, values: Any, forms: Any, _: int) -> Any:
        """Stand in for the connection: do the flush, and keep what it cost."""
        answer = self._asked.exec_prepared(_EXPLAINED, values, forms, 0)
        assert answer.status == 2, answer.error_message
        told = answer.get_value(0, 0)
        assert told is not None
        self.pages = _pages(json.loads(told)[0]["Plan"])
        raise _Told

    def flush(self, flush: Flush, wish: Wish) -> Flushed:
        """Flush, and return all that is held now."""
        try:
            return super().flush(flush, wish)
        except _Told:
            return Flushed(self.held())

    def held(self) -> list[Lease]:
        """Return what this worker holds; asked in another session, as after a loss."""
        own, self.connection = self.connection, self._beside
        try:
            return super().held()
        finally:
            self.connection = own


class _Told(Exception):
    """The flush is done; its answer is not known."""


@contextmanager
def rows_read(connection: Connection[TupleRow]) -> Iterator[list[int]]:
    """Yield a list that says afterwards how many rows one transaction has read."""
    found: list[int] = []
    with connection.transaction():
        before = _read(connection)
        yield found
        found.append(_read(connection) - before)


def _read(connection: Connection[TupleRow]) -> int:
    row = connection.execute(_READ.encode()).fetchone()
    assert row is not None
    return int(row[0])


def cost(connection: Connection[TupleRow], question: str, *values: Any) -> int:
    """Return how many pages a statement touches; it is done."""
    row = connection.execute(_EXPLAIN + question.encode(), values).fetchone()
    assert row is not None
    return _pages(row[0][0]["Plan"])


def _pages(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


__all__ = ["Explained", "cost", "rows_read"]
