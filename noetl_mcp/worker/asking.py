"""The second connection of a worker: what is read and kept beside the flushes, in its own thread.

A lost connection is made anew for as long as the worker lives, so a database that is away delays
what asks, and fails nothing. Whatever is asked may be asked twice.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from noetl_mcp.broker.records import Records
from noetl_mcp.database import Error, NotReachable, is_lost, may_be_sent_again
from noetl_mcp.worker.equipment import Connect

FEW_TRIES = 8
"""So often is tried at most before a life has begun, after it is over, and against others."""
_SOONEST, _LATEST = 0.05, 1.0
T = TypeVar("T")


class Asking:
    """One connection and one thread."""

    def __init__(self, connect: Connect, lost: Callable[[], None]) -> None:
        self._connect = connect
        self._lost = lost
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._records: Records | None = None
        self.is_patient = False
        """Whether an answer is waited for however long it takes."""

    def records(self) -> Records:
        """Return the store behind the connection; only from its own thread."""
        if self._records is None or self._records.connection.closed:
            self._records = Records(self._connect("records"))
        return self._records

    async def ask(self, function: Callable[..., T], *given: Any) -> T:
        """Ask in the thread of the connection."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._asked, function, given)

    def _asked(self, function: Callable[..., T], given: Sequence[Any]) -> T:
        wait, tries = _SOONEST, 0
        while True:
            try:
                return function(*given)
            except (Error, NotReachable) as problem:
                tries += 1
                is_away = isinstance(problem, NotReachable) or is_lost(problem)
                if not (is_away or may_be_sent_again(problem)):
                    raise
                if tries >= FEW_TRIES and not (is_away and self.is_patient):
                    raise
                if is_away:
                    self.drop()
                    self._lost()
            time.sleep(wait)
            wait = min(wait * 2, _LATEST)

    def drop(self) -> None:
        """Let the connection go; only from its own thread."""
        records, self._records = self._records, None
        if records is not None:
            records.connection.close()

    def close(self) -> None:
        """Let the connection and the thread go."""
        self._threads.submit(self.drop)
        self._threads.shutdown(wait=True)


__all__ = ["FEW_TRIES", "Asking"]
