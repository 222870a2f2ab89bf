"""Read the events of one execution: all of them, or those that come while somebody waits.

Writes nothing. The numbers of events are drawn before they are committed, so one with a lower
number can become visible later; `Following` never misses one. An effect is never seen before its
cause: whoever caused it had seen the cause committed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.events.event import Event, event_of, item_number

SQL = statements(__file__, "log.sql")
MOST_AT_ONCE = 10_000
PAUSE = 0.25
"""Seconds between two looks at an execution that runs."""
STATUSES = ("running", "completed", "failed", "cancelled")


class Log:
    """The log of executions, read through one connection."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self.connection = connection

    def status(self, execution_id: int) -> str | None:
        """Return how an execution stands; None when there is none with this number."""
        status = self._standing(execution_id, mark=False)[0]
        return None if status is None else STATUSES[status]

    def kinds(self) -> list[str]:
        """Return the names of all kinds of events."""
        return [row[0] for row in self._rows("kinds")]

    def events(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        kinds: Sequence[str] = (),
        after: int = 0,
    ) -> Iterator[Event]:
        """Yield the events of an execution in their order; `step` may name an item: `each[3]`."""
        while True:
            found = self._some(execution_id, step=step, kinds=kinds, after=after, top=after)
            yield from found
            if len(found) < MOST_AT_ONCE:
                return
            after = found[-1].id

    def _some(
        self,
        execution_id: int,
        *,
        step: str | None,
        kinds: Sequence[str],
        after: int,
        top: int,
        seen: Sequence[int] = (),
    ) -> list[Event]:
        name, item = step_and_item(step)
        rows = self._rows(
            "events",
            execution_id=execution_id,
            after=after,
            top=top,
            seen=list(seen),
            step=name,
            item=item,
            kinds=list(kinds) or None,
            most=MOST_AT_ONCE,
        )
        return [event_of(row) for row in rows]

    def _standing(self, execution_id: int, *, mark: bool) -> tuple[int | None, int, int]:
        """Return (status, oldest transaction at work, one that is newer than all at work or 0)."""
        status, oldest, newer = self._rows("standing", execution_id=execution_id, mark=mark)[0]
        return status, int(oldest), int(newer or 0)

    def _rows(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(SQL[name].encode(), values).fetchall()


class Following:
    """The events of one execution as they come, each once.

    Everything up to the horizon was read for certain. Beyond it, what was read is remembered: the
    horizon moves on once every transaction has ended that was at work after it was read. That holds
    because whoever writes events has changed or locked a row before, and so is seen at work.
    """

    def __init__(
        self, log: Log, execution_id: int, *, step: str | None = None, kinds: Sequence[str] = ()
    ) -> None:
        self.log = log
        self.execution_id = execution_id
        self.is_over = False
        """Whether the execution had ended before the last look, so that nothing more comes."""
        self._step = step
        self._kinds = kinds
        self._horizon = 0
        self._seen: set[int] = set()
        self._mark: tuple[int, int] | None = None

    def more(self) -> list[Event]:
        """Return what was not returned before, in the order of the numbers."""
        top = max(self._seen, default=self._horizon)
        wanted = self._mark is None and top > self._horizon
        status, oldest, newer = self.log._standing(self.execution_id, mark=wanted)
        if wanted:
            self._mark = (top, newer)
        found = self.log._some(
            self.execution_id,
            step=self._step,
            kinds=self._kinds,
            after=self._horizon,
            top=top,
            seen=list(self._seen),
        )
        self._seen.update(event.id for event in found)
        if self._mark is not None and oldest >= self._mark[1]:
            self._horizon, self._mark = self._mark[0], None
            self._seen = {number for number in self._seen if number > self._horizon}
        self.is_over = status != 0 and len(found) < MOST_AT_ONCE
        return found


def follow(
    following: Following, *, wait: Callable[[float], object] = time.sleep
) -> Iterator[list[Event]]:
    """Yield events as they come, until the execution has ended."""
    while True:
        found = following.more()
        if found:
            yield found
        if following.is_over:
            return
        if len(found) < MOST_AT_ONCE:
            wait(PAUSE)


def step_and_item(written: str | None) -> tuple[str | None, int | None]:
    """Return the step and the item of `each[3]`; a name without an item means all of them."""
    if written is None or not written.endswith("]"):
        return written, None
    name, _, item = written[:-1].rpartition("[")
    try:
        return name, item_number(item)
    except ValueError:
        return written, None


__all__ = ["MOST_AT_ONCE", "PAUSE", "STATUSES", "Following", "Log", "follow", "step_and_item"]
