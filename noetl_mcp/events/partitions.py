"""Keep the days of the log: make those ahead, take old ones away, bring home what went astray.

Any worker may call this at any time, all of them at once too: one does it, the others do nothing.
Waits only moments for anybody; what was in use is left for the next time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from noetl_mcp.database import Connection, Error, TupleRow, may_be_sent_again, statements

SQL = statements(__file__, "partitions.sql")
AHEAD = 7
"""So many days after today have their partition ready."""
MOST_MOVED = 500_000
"""More rows than that are not brought home at once, since writers wait meanwhile."""
MOST_COUNTED = 1_000_000
FOR_EVER = 1_000_000


@dataclass(frozen=True, slots=True)
class Tended:
    """What was done to the days of the log, and what could not be."""

    made: tuple[date, ...] = ()
    moved: int = 0
    removed: tuple[date, ...] = ()
    needed: tuple[date, ...] = ()
    """Old days in which a running execution has events; they stay."""
    astray: int = 0
    """Rows in the default partition now; anything but 0 is an alarm."""
    busy: bool = False
    """Whether somebody else was at it, or the tables were in use."""


def tend(
    connection: Connection[TupleRow],
    *,
    ahead: int = AHEAD,
    keep: timedelta | None = None,
    archive: Callable[[date], object] | None = None,
    most: int = MOST_MOVED,
) -> Tended:
    """Make the coming days, bring home what went astray, and remove days older than `keep`.

    Without `keep` nothing is removed. `archive` is called with a day before it is removed, and may
    raise to keep it. When nothing is due this is one cheap question. The connection commits each
    statement by itself.
    """
    days = FOR_EVER if keep is None else max(0, keep.days)
    ((make, remove),) = _rows(connection, "due", ahead=ahead, keep=days)
    made: list[date] = []
    removed: list[date] = []
    needed: list[date] = []
    moved, busy = 0, False
    for day in make:
        said, count = _made(connection, day, most)
        moved += count
        busy = busy or said == "busy"
        if said == "made":
            made.append(day)
    for day in remove:
        said = _removed(connection, day, archive)
        busy = busy or said == "busy"
        if said == "gone":
            removed.append(day)
        if said == "needed":
            needed.append(day)
    left = astray(connection)
    return Tended(tuple(made), moved, tuple(removed), tuple(needed), left, busy)


def astray(connection: Connection[TupleRow]) -> int:
    """Return how many events lie in the default partition: none, while the days are kept."""
    return int(_rows(connection, "astray", most=MOST_COUNTED)[0][0])


def _made(connection: Connection[TupleRow], day: date, most: int) -> tuple[str, int]:
    try:
        said, moved = _rows(connection, "make", day=day, most=most)[0]
    except Error as error:
        if may_be_sent_again(error):
            return "busy", 0
        raise
    return said, moved


def _removed(
    connection: Connection[TupleRow], day: date, archive: Callable[[date], object] | None
) -> str:
    if archive is not None:
        if _rows(connection, "needed", day=day)[0][0]:
            return "needed"
        archive(day)
    try:
        return str(_rows(connection, "remove", day=day)[0][0])
    except Error as error:
        if may_be_sent_again(error):
            return "busy"
        raise


def _rows(connection: Connection[TupleRow], name: str, /, **values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(SQL[name].encode(), values).fetchall()


__all__ = ["AHEAD", "MOST_MOVED", "Tended", "astray", "tend"]
