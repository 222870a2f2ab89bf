"""A connection that breaks by chance: before a statement was done, or after, its answer lost."""

from collections.abc import Callable
from random import Random
from typing import Any, cast

from noetl_mcp.database import Connection, OperationalError, TupleRow

Plan = Callable[[], str | None]
"""Says of the next statement: `before`, `after`, or nothing."""


class Lossy:
    """Passes everything on to a connection, which it breaks when the plan says so."""

    def __init__(self, connection: Connection[TupleRow], plan: Plan) -> None:
        self._connection = connection
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @property
    def pgconn(self) -> "LossyCalls":
        return LossyCalls(self)

    def execute(self, *given: Any, **named: Any) -> Any:
        return self.broken(lambda: self._connection.execute(*given, **named))

    def broken(self, doing: Callable[[], Any]) -> Any:
        """Do something, and break the connection around it when its turn has come."""
        when = self._plan()
        if when == "before":
            self._connection.close()
            raise OperationalError("the connection broke before anything was sent")
        done = doing()
        if when == "after":
            self._connection.close()
            raise OperationalError("the connection broke before the answer came")
        return done


class LossyCalls:
    """The part of a connection that the flushes use."""

    def __init__(self, lossy: Lossy) -> None:
        self._lossy = lossy
        self._inner = lossy._connection.pgconn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def exec_prepared(self, *given: Any) -> Any:
        return self._lossy.broken(lambda: self._inner.exec_prepared(*given))


def lossy(connection: Connection[TupleRow], plan: Plan) -> Connection[TupleRow]:
    """Return a connection that breaks when a plan says so."""
    return cast(Connection[TupleRow], Lossy(connection, plan))


def by_chance(random: Random, chance: float) -> Plan:
    """Break before or after a statement, every so often."""

    def plan() -> str | None:
        return random.choice(("before", "after")) if random.random() < chance else None

    return plan


__all__ = ["Lossy", "Plan", "by_chance", "lossy"]
