"""A whole trial: playbooks by chance, a storm over them, and what held afterwards."""

import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Any

from tests.faults.crew import Crew
from tests.faults.hand import Orders
from tests.faults.judge import Judge
from tests.faults.plans import CALLED
from tests.faults.promises import Finding, cases, tail
from tests.faults.storm import Fault, Person, Shelf, Storm, library, rest, session

MILD = ("kill", "pause", "cut", "reapers", "hints", "cancel", "rest")
SEVERE = (*MILD, "crash", "backend")


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
            "counts": dict(self.counts),
            "faults": dict(self.faults),
            "people": dict(self.people),
            "broken": self.broken[:20],
        }


def endure(
    dsn: str, terms: Terms, *, crash: Fault | None = None, log: IO[bytes] | int | None = None
) -> Outcome:
    """Let playbooks run through a storm; return what came of it."""
    random, found = Random(terms.seed), Outcome()
    with Judge() as judge, tempfile.TemporaryDirectory() as lives:
        books = library(random, judge.url, terms.books, losing=terms.losing, most=terms.most)
        own = [book for path, book in books.items() if path not in CALLED]
        shelf = Shelf(dsn, own, [books[path] for path in CALLED])
        ids = shelf.start(shelf.begins * terms.times)
        person = Person(
            dsn, judge, terms.lease, patience=terms.patience, seed=random.randrange(2**30)
        )

        def orders(number: int) -> Orders:
            hears = number % 3 > 0  # the others look once in a while
            seed = terms.seed * 1_000 + number
            return Orders(dsn, lives, terms.lease, terms.losses, hears, terms.waiting, seed)

        def feed() -> list[int]:
            return shelf.start(random.choices(shelf.begins, k=20))

        crew = Crew(orders, terms.workers, spares=1, log=log)
        storm = Storm(dsn, crew, person, random, terms.lease, terms.every, terms.kinds, crash)
        storm.ids, storm.feed, storm.backlog = ids, feed, terms.backlog
        begun = time.monotonic()
        with crew, held_open(dsn if terms.holds else None):
            person.start()
            found.is_over = storm.blow(terms.seconds, stuck=terms.stuck)
            found.seconds = time.monotonic() - begun
            if found.is_over:
                rest(dsn, 3 * terms.lease + 5)
                found.have_left = crew.leave()
            person.leave()
            with session(dsn) as connection:
                finding = Finding(connection, judge)
                all_cases = cases(connection, books, person.cancelled, person.accepted)
                found.broken = [*finding.look(all_cases), *person.problems]
                found.stories = list(_stories(connection, found))
        found.counts, found.faults, found.people = finding.counts, storm.counts, person.counts
        found.workers = crew.begun
    return found


@contextmanager
def held_open(dsn: str | None) -> Iterator[None]:
    """Keep a transaction open that pins what the database may clean up; it may be cut."""
    if dsn is None:
        yield
        return
    with session(dsn) as connection:
        connection.execute("set idle_in_transaction_session_timeout = 0")
        connection.execute("begin isolation level repeatable read")
        connection.execute("select count(*) from noetl.execution")
        yield


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
