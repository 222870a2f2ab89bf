"""Somebody who settles doubts, answers, cancels, pauses and retries while everything dies."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from random import Random

from noetl_mcp.broker.answers import approve, send_event
from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.database import Connection, Error, NotReachable, TupleRow, connect
from noetl_mcp.events.event import item_name
from tests.faults.judge import Judge, Place

ANN = By("ann", "tests")
LOST = (Error, NotReachable)


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


__all__ = ["ANN", "LOST", "Person", "session"]
