"""The border between the web and the road: synchronous work in a few threads, each with a desk.

The one place where a request crosses it. Knows no route.
"""

import asyncio
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from noetl_mcp.assembly import Home
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.program import Program
from noetl_mcp.database import Connection, Error, NotReachable, TupleRow, is_lost
from noetl_mcp.starting import Starting, seal_of
from noetl_mcp.web.apart import Apart
from noetl_mcp.web.counting import Counting

if TYPE_CHECKING:
    from noetl_mcp.worker.pool import Sender

MOST = 8
PATIENCE = timedelta(seconds=30)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Station:
    """What a thread works with: one connection, and what sits on it."""

    connection: Connection[TupleRow]
    desk: Desk
    starting: Starting


class Desks:
    """Some threads, each with a desk of its own, opened when it is first needed."""

    def __init__(self, home: Home, most: int = MOST) -> None:
        self.home = home
        self.counting = Counting()
        self.apart = Apart(home)
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="desk")
        self._own = threading.local()
        self._open: set[Station] = set()
        self._lock = threading.Lock()
        self._programs: dict[int, Program] = {}
        self._bare: dict[int, Program] = {}
        self._seal: str | None = None
        self._sender: Sender | None = None

    def awaken(self, pools: Collection[str]) -> None:
        """Tell a fleet whose hints do not come from Postgres that there is work; never waits."""
        home = self.home
        if home.settings.broker == "postgres" or not pools:
            return
        with self._lock:
            if self._sender is None:
                from noetl_mcp.worker.pool import sender  # only here: it loads dramatiq

                self._sender = sender(home.settings.broker, lambda: home.connect("hints"))
        if self._sender is not None:
            self._sender.announce(pools)

    async def ask(self, doing: Callable[[Station], T], *, reads: bool = False) -> T:
        """Do something at a desk; what only reads is done again when the connection was gone."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._do, doing, reads)

    async def think(self, doing: Callable[[], T]) -> T:
        """Do something in such a thread, without a desk: it may be the database that is away."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, doing)

    def _do(self, doing: Callable[[Station], T], reads: bool) -> T:
        for may_repeat in (reads, False):
            station = self._station()
            try:
                found = doing(station)
                self._pass_on(station.desk)
                return found
            except Error as problem:
                if not is_lost(problem):
                    raise
                self._drop(station)
                if not may_repeat:
                    raise NotReachable("the database went away") from None
        raise AssertionError("unreachable")

    def _pass_on(self, desk: Desk) -> None:
        """Tell such a fleet what was decided; a hint is never worth a failure."""
        if not desk.has_decided:
            return
        desk.has_decided = False
        if self.home.settings.broker != "postgres":
            with suppress(Error):
                self.awaken(desk.sleeping())

    def _station(self) -> Station:
        found: Station | None = getattr(self._own, "station", None)
        if found is not None and not found.connection.closed:
            return found
        home = self.home
        connection = home.connect("web", statement_timeout=PATIENCE)
        starting = Starting(connection, home.world, self._programs, home.guards)
        if self._seal is None:
            self._seal = seal_of(starting.records.seal())
        desk = Desk(connection, home.world, home.settings.lease, self._seal, self._bare)
        station = Station(connection, desk, starting)
        self._own.station = station
        with self._lock:
            self._open.add(station)
        return station

    def _drop(self, station: Station) -> None:
        self._own.station = None
        with self._lock:
            self._open.discard(station)
        station.connection.close()

    def close(self) -> None:
        """Let everything go; what is under way is waited for."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._sender is not None:
            self._sender.stop()
        for station in self._open:
            station.connection.close()
        self._open.clear()


Asked = Callable[[Station], Any]

__all__ = ["Asked", "Desks", "Station"]
