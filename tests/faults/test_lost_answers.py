"""Sessions that break at every point: before a statement is done, or after, its answer lost."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.worker import Worker
from tests.faults.lossy import lossy
from tests.worker.shop import Done, Shop

CHILD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: kid, path: tests/kid}
workflow:
  - {step: start, type: change, confirm: true, data: {v: 5}, next: [end]}
  - {step: end, result: "{{ start.v }}"}
"""
BOOK = """
workflow:
  - {step: start, next: [a, each, kid]}
  - {step: a, type: change, confirm: true, data: {v: 1, text: "LARGE"}, next: [b]}
  - {step: b, type: echo, data: {v: 2, fails: 1}, retry: {max_attempts: 3, initial_delay: 0.01},
     next: [end]}
  - {step: each, type: iterator, collection: [1, 2, 3], element: x, mode: async, concurrency: 2,
     task: {type: change, confirm: true, data: {x: "{{ x }}"}}, next: [end]}
  - {step: kid, type: playbook, path: tests/kid, next: [end]}
  - {step: end, type: set, values: {sum: "{{ b.v + each.count + kid }}"}}
"""
EFFECTS = [("a", None), ("each.item", "0"), ("each.item", "1"), ("each.item", "2"), ("start", None)]


@dataclass
class Breaks:
    """Breaks the sessions for one purpose once, around a statement of some number."""

    purpose: str
    at: int
    when: str
    seen: int = 0
    was: list[str] = field(default_factory=list)

    def plan(self) -> str | None:
        self.seen += 1
        if self.seen != self.at:
            return None
        self.was.append(self.when)
        return self.when


class Leaky(Shop):
    """A shop whose workers' sessions break."""

    breaks: Breaks | None = None

    def connect(self, purpose: str) -> Connection[TupleRow]:
        connection = super().connect(purpose)
        breaks = self.breaks
        if breaks is None or purpose != breaks.purpose:
            return connection
        return lossy(connection, breaks.plan)


@pytest.fixture
def leaky(database: str, tmp_path: Path) -> Iterator[Leaky]:
    made = Leaky(database, tmp_path / "lives")
    made.submit(CHILD)
    yield made
    made.close()


def survived(leaky: Leaky, breaks: Breaks) -> tuple[Done, list[tuple[str, str | None]]]:
    """Run the book while sessions break; return how it ended and what it changed."""
    leaky.breaks = breaks
    leaky.change.calls.clear()
    done = leaky.run(BOOK.replace("LARGE", "x" * 70_000))
    return done, sorted((call.step, call.item) for call in leaky.change.calls)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("purpose", ["flush", "records"])
def test_whatever_answer_is_lost_everything_is_done_once(
    leaky: Leaky, purpose: str, when: str
) -> None:
    at = 5  # a session begins with what it is set to
    while True:
        at += 1
        breaks = Breaks(purpose, at, when)

        done, effects = survived(leaky, breaks)

        assert (done.status, done.steps["end"]) == ("completed", "done"), f"statement {at}"
        assert effects == EFFECTS, f"statement {at}"
        kinds = leaky.kinds(done.id)
        assert kinds.count("execution_completed") == 1
        if not breaks.was:
            break
    assert at > 9


def test_a_step_that_ended_while_an_answer_was_lost_is_not_begun_again(leaky: Leaky) -> None:
    """The worker is told that it holds the step, which it has ended but could not yet say so."""
    ends = asyncio.Event()

    async def when_told(call: Call) -> Json:
        await ends.wait()
        return {"v": 1}

    async def work() -> None:
        async with leaky.worker() as worker:
            await leaky.until(lambda: bool(leaky.change.calls))
            breaks.ending = (asyncio.get_running_loop(), ends, worker)
            worker.engine.wake()
            await leaky.until(lambda: leaky.status(number) != Status.RUNNING)

    breaks = EndsMeanwhile("flush", 0, "after")
    leaky.breaks = breaks
    leaky.change.answer = when_told
    number = leaky.start("workflow:\n  - {step: start, type: change, confirm: true}\n")

    asyncio.run(work())

    assert len(leaky.change.calls) == 1
    assert leaky.done(number).status == "completed"
    assert leaky.kinds(number).count("step_completed") == 1


@dataclass
class EndsMeanwhile(Breaks):
    """Loses an answer once a step has ended while the flush was under way."""

    ending: tuple[asyncio.AbstractEventLoop, asyncio.Event, Worker] | None = None

    def plan(self) -> str | None:
        if self.ending is None:
            return None
        (loop, ends, worker), self.ending = self.ending, None
        loop.call_soon_threadsafe(ends.set)
        while not worker.engine.outbox.flush.settled:
            time.sleep(0.001)
        return self.when
