"""A storm over executions: workers die and sleep, sessions are cut, people interfere.

Ends when every execution is over, or when nothing moves any more. What must hold then stands in
`promises.py`.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Records
from noetl_mcp.broker.starts import Starts
from noetl_mcp.catalog.catalog import Catalog
from noetl_mcp.database import connect
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.queue.encode import decode
from noetl_mcp.worker.life import give_up
from tests.faults.crew import Crew
from tests.faults.hand import SPECS
from tests.faults.person import LOST, Person, session
from tests.faults.plans import Expected, Maker, children
from tests.faults.wire import Wire

Fault = Callable[[], None]
_LOCKED = ("worker", "execution", "step", "ready", "fan", "permit_lock", "halt", "timer")


class Shelf:
    """Playbooks that are kept, ready to be started again and again."""

    def __init__(self, dsn: str, books: list[Expected], called: list[Expected]) -> None:
        self.dsn = dsn
        with session(dsn) as connection:
            records = Records(connection)
            catalog, starts = Catalog(connection, SPECS), Starts(records)
            for book in called:
                catalog.submit(load_bytes(book.text.encode(), book.path))
            self.begins: list[Begin] = []
            for book in books:
                kept = catalog.submit(load_bytes(book.text.encode(), book.path))
                program = Program(decode(records.plan(kept.plan_id)), SPECS, kept.plan_id)
                self.begins.append(starts.prepare(program, {}, version=kept.version))

    def start(self, begins: list[Begin]) -> list[int]:
        """Start executions; return their numbers."""
        with session(self.dsn) as connection:
            return [number for number, _ in Starts(Records(connection)).start(begins)]


def library(random: Random, url: str, count: int, **said: Any) -> dict[str, Expected]:
    """Return so many playbooks by path, and those that they call."""
    made = [Maker(random, url, f"tests/faults/p{n}", **said).make() for n in range(count)]
    called = children(url, plain=said.get("plain", False))
    return {book.path: book for book in (*called, *made)}


@dataclass(eq=False)
class Storm:
    """Faults by chance, until all is over."""

    dsn: str
    crew: Crew
    person: Person
    random: Random
    lease: float
    every: float = 1.0
    kinds: tuple[str, ...] = ("kill", "pause", "cut", "reapers", "hints", "cancel")
    crash: Fault | None = None
    """Ends the database server without a warning; it comes back by itself."""
    wire: Wire | None = None
    """To the broker that carries the hints."""
    counts: Counter[str] = field(default_factory=Counter)
    ids: list[int] = field(default_factory=list)
    feed: Callable[[], list[int]] = list
    """Starts some more executions."""
    backlog: int = 0
    """While it storms, so many executions run at least."""

    def blow(self, seconds: float, *, stuck: float = 40.0) -> bool:
        """Let it storm for so long, then wait until all is over; say whether it is."""
        self._gather()
        end = time.monotonic() + seconds
        next_fault = time.monotonic() + self.every / 2
        moved, last = time.monotonic(), (-1, -1)
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            self.crew.rouse(everybody=now > end)
            self.crew.fill()
            if now < end and now >= next_fault:
                next_fault = now + self.random.uniform(0.3, 1.7) * self.every
                self._strike()
            standing = self._standing()
            if standing is None and now - moved <= 3 * stuck:
                continue
            if standing is None:
                return False
            if now < end and standing[0] < self.backlog:
                with suppress(*LOST):
                    self.ids += self.feed()
                continue
            if standing[0] == 0:
                self.crew.rouse(everybody=True)
                return True
            if standing != last or now < end:  # in a storm it may be that nobody gets anywhere
                moved, last = now, standing
            if now - moved > stuck:
                return False

    def _gather(self) -> None:
        """Wait until everybody is there."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with session(self.dsn) as connection:
                row = connection.execute("select count(*) from noetl.worker").fetchone()
            if row is not None and row[0] >= self.crew.count:
                return
            time.sleep(0.05)

    def _standing(self) -> tuple[int, int] | None:
        """Return how many executions run, and the number of the last event."""
        try:
            with session(self.dsn) as connection:
                row = connection.execute(
                    "select count(*) filter (where status = 0 or status in (2, 3)"
                    " and parent_execution is null and not id = any(%s)),"
                    " (select max(id) from noetl.event) from noetl.execution",
                    (list(self.person.decided),),
                ).fetchone()
                return None if row is None else (row[0], row[1])
        except LOST:
            return None

    def _strike(self) -> None:
        kind = self.random.choice(self.kinds)
        try:
            getattr(self, f"_{kind}")()
        except LOST:
            return
        self.counts[kind] += 1

    def _kill(self) -> None:
        if hands := self.crew.hands:
            self.crew.kill(self.random.choice(hands))

    def _pause(self) -> None:
        if len(hands := self.crew.awake()) > 1:
            seconds = self.lease * self.random.uniform(0.3, 2.5)
            self.crew.pause(self.random.choice(hands), seconds)

    def _cut(self) -> None:
        with session(self.dsn) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name ~ '(flush|records|hints)$' and datname ="
                " current_database() order by random() limit %s",
                (self.random.randint(1, 3),),
            )

    def _reapers(self) -> None:
        """Kill one, and let two give it up at once, beside whoever finds it."""
        if not self.crew.hands:
            return
        hand = self.random.choice(self.crew.hands)
        with session(self.dsn) as connection:
            rows = connection.execute(
                "select id from noetl.worker where pid = %s", (hand.process.pid,)
            ).fetchall()
        self.crew.kill(hand)
        for (number,) in rows:
            both = [threading.Thread(target=self._reap, args=(number,)) for _ in range(2)]
            for one in both:
                one.start()
            for one in both:
                one.join(30)

    def _reap(self, number: int) -> None:
        with suppress(*LOST), session(self.dsn) as connection:
            give_up(connection, number, None)

    def _hints(self) -> None:
        """Name steps a hundred times that are ready, at work, parked or over; wake everybody."""
        with session(self.dsn) as connection:
            connection.execute(
                "insert into noetl.ready (pool, rank, execution_id, idx, item)"
                " select l.pool, l.rank, s.execution_id, s.idx, s.item from (select * from"
                " noetl.step where state > 0 order by random() limit 20) s"
                " join noetl.lane l on l.id = s.lane cross join generate_series(1, 5)"
            )
            connection.execute("select pg_notify('noetl_wake', '') from generate_series(1, 100)")

    def _cancel(self) -> None:
        if recent := self.ids[-max(20, self.backlog) :]:
            self.person.to_cancel.append(self.random.choice(recent))

    def _rest(self) -> None:
        if recent := self.ids[-max(20, self.backlog) :]:
            self.person.to_pause.append(self.random.choice(recent))

    def _backend(self) -> None:
        """Kill a session's process: the server ends all of them, and recovers."""
        with session(self.dsn) as connection:
            rows = connection.execute(
                "select pid from pg_stat_activity where application_name ~ '(flush|records)$'"
                " and datname = current_database() order by random() limit 1"
            ).fetchall()
        for (number,) in rows:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def _locks(self) -> None:
        """Hold rows that others need, for a while, and let go without a word."""
        table, seconds = self.random.choice(_LOCKED), self.lease * self.random.uniform(0.1, 1.2)
        connection = connect(self.dsn, application_name="storm")
        with suppress(*LOST):
            connection.execute("begin")
            connection.execute(f"select from noetl.{table} limit 30 for update".encode())
        threading.Timer(seconds, connection.close).start()

    def _wires(self) -> None:
        """Let the broker be away for a while, or hang."""
        assert self.wire is not None
        self.random.choice((self.wire.cut, self.wire.hang))()
        threading.Timer(self.random.uniform(0.1, 4), self.wire.mend).start()

    def _crash(self) -> None:
        assert self.crash is not None
        self.crash()


def rest(dsn: str, seconds: float) -> None:
    """Wait until hints are consumed and the dead are buried, at most so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(*LOST), session(dsn) as connection:
            row = connection.execute(
                "select (select count(*) from noetl.ready) + (select count(*) from noetl.halt)"
                " + (select count(*) from noetl.permit) + (select count(*) from noetl.timer)"
                " + (select count(*) from noetl.worker where gone_at is not null)"
            ).fetchone()
            if row == (0,):
                return
        time.sleep(0.05)


__all__ = ["Fault", "Shelf", "Storm", "library", "rest"]
