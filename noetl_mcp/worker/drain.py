"""Say whether workers have nothing more to do. Ends nobody."""

from collections.abc import Sequence

from noetl_mcp.database import Connection, TupleRow, statements

SQL = statements(__file__, "drain.sql")


def is_drained(connection: Connection[TupleRow], queues: Sequence[str]) -> bool:
    """Whether nothing is ready in these queues, and nothing runs, is tried again or is due."""
    row = connection.execute(SQL["left"].encode(), {"pools": list(queues)}).fetchone()
    return row is not None and not row[0]


__all__ = ["is_drained"]
