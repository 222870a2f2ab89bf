"""Add what a worker has counted to what all have: flushes, steps, lost connections.

Every few seconds, and only when there is more; what a killed worker had not yet added is not
counted. Reads nothing.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from noetl_mcp.database import Connection, TupleRow, statements

SQL = statements(__file__, "tally.sql")
EVERY = 10.0


@dataclass(slots=True)
class Tally:
    """What was added already, and when."""

    clock: Callable[[], float] = time.monotonic
    added: dict[str, int] = field(default_factory=dict)
    not_before: float = float("-inf")

    def is_due(self) -> bool:
        """Whether it is time again; asking is doing."""
        now = self.clock()
        if now < self.not_before:
            return False
        self.not_before = now + EVERY
        return True

    def add(self, connection: Connection[TupleRow], counts: Mapping[str, int]) -> None:
        """Add what is more than last time."""
        more = {name: one - self.added.get(name, 0) for name, one in sorted(counts.items())}
        names = [name for name, one in more.items() if one]
        if not names:
            return
        values = {"names": names, "more": [more[name] for name in names]}
        connection.execute(SQL["add"].encode(), values)
        self.added.update(counts)


__all__ = ["EVERY", "Tally"]
