"""Keep large texts apart from the rows that name them, once, by their digest. Cuts nothing.

What is kept so is stored before the row that names it, so a name never leads nowhere.
"""

from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.encode import LARGE, digest
from noetl_mcp.queue.lease import Flush

SQL = statements(__file__, "apart.sql")


def keep(connection: Connection[TupleRow], text: str) -> str:
    """Return a text that fits into a row: itself, or `@` and its digest once it is stored."""
    if len(text) < LARGE:
        return text
    name = digest(text)
    connection.execute(SQL["keep"].encode(), {"digest": name, "content": text})
    return f"@{name}"


def keep_results(connection: Connection[TupleRow], flush: Flush) -> None:
    """Store the large results of a flush that nobody has stored before; name them in their place.

    Most results are stored by whoever has them. Those of steps that are passed without a lease, and
    of executions, come about while a flush is made, where nobody may wait for a database.
    """

    def kept(text: str | None) -> str | None:
        return None if text is None else keep(connection, text)

    flush.settled = [one._replace(result=kept(one.result)) for one in flush.settled]
    flush.over = [one._replace(result=kept(one.result)) for one in flush.over]
    flush.has_large = False


__all__ = ["keep", "keep_results"]
