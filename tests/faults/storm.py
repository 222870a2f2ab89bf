"""A storm over executions: workers die and sleep, sessions are cut, people interfere.

Ends when every execution is over, or when nothing moves any more. What must hold then stands in
`promises.py`.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from noetl_mcp.broker.answers import approve, send_event
from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Records
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.starts import Starts
from noetl_mcp.catalog.catalog import Catalog
from noetl_mcp.database import Connection, Error, NotReachable, TupleRow, connect
from noetl_mcp.events.event import item_name
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.queue.encode import decode
from noetl_mcp.worker.life import give_up
from tests.faults.crew import Crew
from tests.faults.hand import SPECS
from tests.faults.judge import Judge, Place
from tests.faults.plans import Expected, Maker, children

ANN = By("ann", "tests")
LOST = (Error, NotReachable)
Fault = Callable[[], None]


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
    return {book.path: book for book in (*children(url), *made)}


@contextmanager
def session(dsn: str) -> Iterator[Connection[TupleRow]]:
    """Yield a connection."""
    connection = connect(dsn, application_name="storm")
    try:
        yield connection
    finally:
        connection.close()


class Person(threading.Thread):
    """Somebody who settles doubts, cancels, pauses and retries; the connection may break."""

    def __init__(self, dsn: str, judge: Judge, lease: float, *, patience: float, seed: int) -> None:
        super().__init__(name="person", daemon=True)
        self.dsn = dsn
        self.judge = judge
        self.lease = timedelta(seconds=lease)
        self.patience = patience
        """So long a doubt may end by itself."""
        self.random = Random(seed)
        self.accepted: set[Place] = set()
        self.cancelled: set[int] = set()
        self.to_cancel: list[int] = []
        self.to_pause: list[int] = []
        self.paused: dict[int, float] = {}
        self.decided: set[int] = set()
        """Which ended executions were looked at, to be retried or not."""
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._seen: dict[tuple[int, int, int, int], float] = {}
        self._leaving = threading.Event()

    def leave(self) -> None:
        self._leaving.set()
        self.join(30)

    def run(self) -> None:
        while not self._leaving.wait(0.1):
            try:
                with session(self.dsn) as connection:
                    self._sit(Desk(connection, lease=self.lease))
            except LOST:
                continue

    def _sit(self, desk: Desk) -> None:
        while not self._leaving.wait(0.1):
            self._doubts(desk)
            self._answers(desk)
            self._pauses(desk)
            self._retries(desk)
            if self.to_cancel:
                number = self.to_cancel[-1]
                self.cancelled.add(number)
                with suppress(NotAllowed, Unknown):
                    cancel(desk, number, by=ANN, force=self.random.random() < 0.2)
                    self.counts["cancelled"] += 1
                self.to_cancel.pop()

    def _answers(self, desk: Desk) -> None:
        """Say yes to whoever asks, and tell the events that are waited for."""
        rows = desk.connection.execute(
            "select s.execution_id, p.name, s.note from noetl.step s"
            " join noetl.execution e on e.id = s.execution_id and e.status = 0"
            " join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = s.idx"
            " left join noetl.signal g on g.execution_id = s.execution_id and g.idx = s.idx"
            "   and g.item = s.item"
            " where s.state = 9 and g.arrived is null"
            " and (s.note like '{\"approve\"%' or s.note like '{\"event\"%')"
        ).fetchall()
        for number, name, note in rows:
            with suppress(NotAllowed, Unknown):
                if note.startswith('{"approve"'):
                    approve(desk, number, name, by=ANN)
                else:
                    send_event(desk, number, f"event-{name}", 1, by=ANN)
                self.counts["answered"] += 1

    def _pauses(self, desk: Desk) -> None:
        now = time.monotonic()
        if self.to_pause:
            number = self.to_pause[-1]
            self.paused[number] = now + self.random.uniform(0.05, 2)
            with suppress(NotAllowed):
                pause(desk, number, by=ANN)
                self.counts["paused"] += 1
            self.to_pause.pop()
        for number in [number for number, until in self.paused.items() if until <= now]:
            with suppress(NotAllowed):
                resume(desk, number, by=ANN)
            del self.paused[number]

    def _retries(self, desk: Desk) -> None:
        rows = desk.connection.execute(
            "select id from noetl.execution where status in (2, 3) and parent_execution is null"
            " and not id = any(%s)",
            (list(self.decided),),
        ).fetchall()
        for (number,) in rows:
            if self.random.random() < 0.6:
                with suppress(NotAllowed):
                    retry(desk, number, by=ANN)
                    self.counts["further rounds"] += 1
            self.decided.add(number)

    def _doubts(self, desk: Desk) -> None:
        rows = desk.connection.execute(
            "select s.execution_id, s.idx, s.item, s.lease, p.name from noetl.step s"
            " join noetl.execution e on e.id = s.execution_id"
            " join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = s.idx"
            " where s.state = 10"
        ).fetchall()
        now = time.monotonic()
        for execution, idx, item, lease, name in rows:
            since = self._seen.setdefault((execution, idx, item, lease), now)
            if now - since >= self.patience:
                self._settle(desk, execution, name, item, lease, now - since)

    def _settle(
        self, desk: Desk, execution: int, name: str, item: int, lease: int, waited: float
    ) -> None:
        number = item_name(item)
        step = name if number is None else f"{name}[{number}]"
        place = Place(execution, name.partition(".")[0], number or "")
        was_done = self.judge.done(place) > 0
        try:
            if not was_done and waited < 8:
                resolve(desk, execution, step, "retry", by=ANN, lease=lease)
                self.counts["retried"] += 1
                return
            self.accepted.add(place)
            resolve(desk, execution, step, "accept", by=ANN, value={"data": {"n": 0}}, lease=lease)
            self.counts["accepted"] += 1
        except NotAllowed as no:
            self.counts["refused"] += 1
            if not any(words in str(no) for words in ("may still", "being ended", "not in doubt")):
                self.problems.append(str(no))


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
            if standing != last:
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
                " where application_name in ('flush', 'records', 'hints') and datname ="
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
                "select pid from pg_stat_activity where application_name in ('flush', 'records')"
                " and datname = current_database() order by random() limit 1"
            ).fetchall()
        for (number,) in rows:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

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


def say(text: str) -> None:
    """Tell whoever watches."""
    sys.stderr.write(text + "\n")


__all__ = ["ANN", "Person", "Shelf", "Storm", "library", "rest", "say", "session"]
