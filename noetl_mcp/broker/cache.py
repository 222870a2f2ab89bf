"""Keep what steps gave, by a digest of what they were asked, for whoever asks the same again.

Texts go in and come out; which questions are the same is for others to say.
"""

from datetime import timedelta
from typing import NamedTuple

from noetl_mcp.broker.records import Records
from noetl_mcp.database import Connection, TupleRow, statements

SQL = statements(__file__, "cache.sql")


class Former(NamedTuple):
    """A result, and the execution that it was made for."""

    text: str
    execution_id: int


def former(records: Records, key: str, ttl: float | None) -> Former | None:
    """Return what was kept under a key, unless it is older than it may be."""
    values = {"key": key, "ttl": ttl}
    row = records.connection.execute(SQL["former"].encode(), values).fetchone()
    return None if row is None else Former(*row)


def keep(records: Records, key: str, text: str, execution_id: int, ttl: float | None) -> None:
    """Keep a result, in place of an older one; a large one is named by its digest."""
    values = {"key": key, "result": text, "execution_id": execution_id, "ttl": ttl}
    records.connection.execute(SQL["keep"].encode(), values)


def forget(connection: Connection[TupleRow], age: timedelta | None) -> int:
    """Remove what is good no more, and what is older than an age; return how much."""
    values = {"age": None if age is None else age.total_seconds()}
    return connection.execute(SQL["forget"].encode(), values).rowcount


__all__ = ["Former", "forget", "former", "keep"]
