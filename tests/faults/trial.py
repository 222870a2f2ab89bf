"""A whole trial: playbooks by chance, a storm over them, and what held afterwards."""

import re
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Any

from tests.faults.crew import Crew
from tests.faults.door import Door
from tests.faults.hand import Orders
from tests.faults.judge import Judge
from tests.faults.person import LOST, Person, session
from tests.faults.plans import CALLED
from tests.faults.promises import Finding, cases, tail
from tests.faults.serving import Servers
from tests.faults.storm import Fault, Shelf, Storm, library, rest
from tests.faults.wire import Wire

MILD = ("kill", "pause", "cut", "reapers", "hints", "cancel", "rest", "locks")
SEVERE = (*MILD, "crash", "backend")
STATUSES = ("completed", "failed", "cancelled", "running")


@dataclass(frozen=True)
class Terms:
    """How hard a trial is."""

    seed: int
    books: int = 20
    times: int = 2
    backlog: int = 0
    """While it storms, so many executions run at least."""
    seconds: float = 10.0
    every: float = 0.5
    """The mean time between two faults."""
    kinds: tuple[str, ...] = MILD
    workers: int = 3
    lease: float = 1.5
    waiting: int = 12
    losses: float = 0.005
    """How many statements lose their connection."""
    losing: float = 0.05
    """How many writes lose their answer."""
    patience: float = 0.5
    """How long a doubt may end by itself."""
    holds: bool = True
    """Whether a transaction stays open all the time."""
    stuck: float = 40.0
    most: int = 40
    """Steps in a playbook."""
    broker: str | None = None
    """Where `noetl-mcp serve` does the work, and executions are started through it: what carries
    its hints. Else the workers are those of the tests."""


@dataclass
class Outcome:
    """What came of a trial."""

    is_over: bool = False
    have_left: bool = False
    seconds: float = 0.0
    workers: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    people: Mapping[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    stories: list[str] = field(default_factory=list)
    """Everything about some of the executions for which a promise was broken."""

    @property
    def holds(self) -> bool:
        return self.is_over and self.have_left and not self.broken

    def as_json(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "is_over": self.is_over,
            "have_left": self.have_left,
            "seconds": round(self.seconds, 1),
            "workers": self.workers,
            "executions": sum(self.counts.get(status, 0) for status in STATUSES),
            "counts": dict(self.counts),
            "faults": dict(self.faults),
            "people": dict(self.people),
            "broken": self.broken[:20],
        }


def endure(
    dsn: str,
    terms: Terms,
    *,
    crash: Fault | None = None,
    wire: Wire | None = None,
    log: IO[bytes] | int | None = None,
) -> Outcome:
    """Let playbooks run through a storm; return what came of it."""
    random, found = Random(terms.seed), Outcome()
    with Judge() as judge, tempfile.TemporaryDirectory() as lives:
        plain = terms.broker is not None
        said = {"losing": terms.losing, "most": terms.most, "plain": plain}
        books = library(random, judge.url, terms.books, **said)
        own = [book for path, book in books.items() if path not in CALLED]
        shelf = Shelf(dsn, own, [books[path] for path in CALLED])
        ids = shelf.start(shelf.begins * terms.times)
        seed = random.randrange(2**30)
        person = Person(dsn, judge, terms.lease, patience=terms.patience, seed=seed)
        crew = _crew(dsn, terms, Path(lives), log)
        storm = Storm(dsn, crew, person, random, terms.lease, terms.every, terms.kinds, crash)
        storm.ids, storm.backlog, storm.wire = ids, terms.backlog, wire
        storm.feed = lambda: shelf.start(random.choices(shelf.begins, k=20))
        door = None
        if isinstance(crew, Servers):
            door = Door(lambda: crew.ports, [book.path for book in own], random, ids=ids)
            storm.feed = door.feed
        begun = time.monotonic()
        with crew, held_open(dsn if terms.holds else None):
            person.start()
            if door is not None:
                door.begin()
            found.is_over = storm.blow(terms.seconds, stuck=terms.stuck)
            if door is not None:
                door.leave()
                found.is_over = storm.blow(0, stuck=terms.stuck)
            found.seconds = time.monotonic() - begun
            if found.is_over:
                rest(dsn, 3 * terms.lease + 5)
                found.have_left = crew.leave()
            person.leave()
            with session(dsn) as connection:
                finding = Finding(connection, judge)
                all_cases = cases(connection, books, person.cancelled, person.accepted)
                found.broken = [*finding.look(all_cases), *person.problems]
                if door is not None:
                    found.broken += [*door.problems, *door.lost(_keys(connection))]
                    person.counts["starts that were not answered"] = door.unanswered
                found.stories = list(_stories(connection, found))
        found.counts, found.faults, found.people = finding.counts, storm.counts, person.counts
        found.workers = crew.begun
    return found


def _crew(dsn: str, terms: Terms, lives: Path, log: IO[bytes] | int | None) -> Crew:
    """Return who does the work."""

    def orders(number: int) -> Orders:
        hears = number % 3 > 0  # the others look once in a while
        seed = terms.seed * 1_000 + number
        return Orders(dsn, str(lives), terms.lease, terms.losses, hears, terms.waiting, seed)

    if terms.broker is None:
        return Crew(orders, terms.workers, spares=1, log=log)
    environment = {
        "NOETL_DSN": dsn,
        "NOETL_LEASE_SECONDS": str(terms.lease),
        "NOETL_BROKER": terms.broker,
    }
    servers = Servers(orders, terms.workers, log=log, environment=environment, home=lives)
    servers.random = Random(terms.seed)
    return servers


def _keys(connection: Any) -> dict[str, int]:
    """Return the executions that were started under a key of a client."""
    question = "select key, id from noetl.execution where key like 'key-%'"
    return dict(connection.execute(question).fetchall())


@contextmanager
def held_open(dsn: str | None) -> Iterator[None]:
    """Keep a transaction open that pins what the database may clean up; begin another when cut."""
    if dsn is None:
        yield
        return
    leaving = threading.Event()

    def hold() -> None:
        while not leaving.wait(0.2):
            with suppress(*LOST), session(dsn) as connection:
                connection.execute("set idle_in_transaction_session_timeout = 0")
                connection.execute("begin isolation level repeatable read")
                while not leaving.wait(0.2):
                    connection.execute("select count(*) from noetl.worker")

    holder = threading.Thread(target=hold, name="held open", daemon=True)
    holder.start()
    try:
        yield
    finally:
        leaving.set()
        holder.join(30)


def _stories(connection: Any, found: Outcome) -> Iterator[str]:
    text = " ".join(found.broken)
    numbers = {int(a or b) for a, b in re.findall(r"execution (\d+) |\[\((\d+),", text)}
    for number in sorted(numbers)[:5]:
        yield f"--- {number}"
        yield from tail(connection, number)


def saved(found: Outcome, folder: Path) -> None:
    """Keep the stories where somebody can read them."""
    (folder / "stories.txt").write_text("\n".join(found.stories))


__all__ = ["MILD", "SEVERE", "Outcome", "Terms", "endure", "held_open", "saved"]
