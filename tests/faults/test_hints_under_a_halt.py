"""Halts that come and go while workers are at it: nothing is forgotten, and no halt stays."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.queue.lease import Flush, Over, State, Status, Wish
from noetl_mcp.queue.postgres import PostgresQueue
from tests.queue.world import InPostgres, settled, take

NOTHING = Wish((), ())
PARKED, RETRY = 19, 14
ASKS = '{"approve":{},"until":"2099-01-01T00:00:00+00:00"}'


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:
    made = InPostgres(database)
    yield made
    made.close()


def ask(world: InPostgres, question: str, *values: Any) -> list[tuple[Any, ...]]:
    return world.own.execute(question.encode(), values).fetchall()


def go_on(connection: Connection[TupleRow], execution: int) -> None:
    """Let an execution go on, as `resume` does."""
    connection.execute("delete from noetl.halt where execution_id = %s", (execution,))
    connection.execute("select noetl.requeue_1(%s)", ([execution],))


def somebody_waits(world: InPostgres) -> bool:
    """Whether a session waits for another one's lock."""
    question = (
        "select 1 from pg_stat_activity"
        " where wait_event_type = 'Lock' and datname = current_database()"
    )
    return bool(ask(world, question))


def within(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def test_what_was_answered_during_a_pause_goes_on_after_it(world: InPostgres) -> None:
    """It has a timer, too: its bound, which is an hour away."""
    here = world.lane()
    execution, queue = world.start((0, here)), world.worker()
    (lease,) = take(queue).leases
    parked = settled(lease, State.PARKED, kind=PARKED, note=ASKS, delay=3600.0)
    queue.flush(Flush([parked]), NOTHING)
    world.own.execute(
        "insert into noetl.signal (execution_id, idx, item, waits, lane)"
        " values (%s, 0, 0, true, %s)",
        (execution, here),
    )
    world.pause(execution)
    ask(world, "select noetl.answer_1(%s, 0, 0, '1', 'ann')", execution)
    assert take(queue).leases == []  # the hint is used up

    go_on(world.own, execution)

    assert [one.key for one in take(queue).leases] == [(execution, 0, 0)]


def retrying(world: InPostgres) -> tuple[int, PostgresQueue]:
    """Return a paused execution with a step whose time to be tried again has come, and a worker."""
    execution, queue = world.start((0, world.lane())), world.worker()
    assert isinstance(queue, PostgresQueue)
    (lease,) = take(queue).leases
    queue.flush(Flush([settled(lease, State.RETRYING, kind=RETRY, delay=3600.0)]), NOTHING)
    world.own.execute("update noetl.timer set due = clock_timestamp()")
    world.pause(execution)
    return execution, queue


def test_a_hint_that_is_used_up_while_somebody_resumes_is_replaced(world: InPostgres) -> None:
    execution, queue = retrying(world)
    queue.connection.execute("begin")
    assert take(queue).leases == []  # the timer is gone, and its hint; both not committed

    resuming = threading.Thread(target=go_on, args=(world.connect(), execution))
    resuming.start()
    within(lambda: not resuming.is_alive() or somebody_waits(world))
    queue.connection.execute("commit")
    resuming.join(20)

    assert [one.key for one in take(queue).leases] == [(execution, 0, 0)]


def test_a_hint_is_left_while_nobody_knows_whether_it_counts(world: InPostgres) -> None:
    execution, queue = retrying(world)
    other = world.connect()
    other.execute("begin")
    go_on(other, execution)

    assert take(queue).leases == []
    other.execute("commit")

    assert [one.key for one in take(queue).leases] == [(execution, 0, 0)]


def test_a_pause_that_comes_with_the_end_leaves_nothing(world: InPostgres) -> None:
    """It holds the execution's row when the flush comes that ends it."""
    execution, queue = world.start((0, world.lane())), world.worker()
    (lease,) = take(queue).leases
    pausing = world.connect()
    pausing.execute("begin")
    pausing.execute("select from noetl.execution where id = %s for update", (execution,))
    end = Flush([settled(lease)], over=[Over(execution, Status.COMPLETED, "1", None)])

    ending = threading.Thread(target=queue.flush, args=(end, NOTHING))
    ending.start()
    within(lambda: somebody_waits(world))
    pausing.execute("insert into noetl.halt (execution_id, kind) values (%s, 1)", (execution,))
    pausing.execute("commit")
    ending.join(20)

    assert world.status(execution) == Status.COMPLETED
    assert ask(world, "select 1 from noetl.halt") == []


def test_hints_of_a_halted_execution_are_in_nobodys_way(world: InPostgres) -> None:
    here = world.lane()
    halted = [world.start((0, here)) for _ in range(20)]
    for one in halted:
        world.pause(one)
    free = world.start((0, here))
    queue = world.worker()

    taken = [one.execution_id for _ in range(3) for one in take(queue).leases]

    assert taken == [free]
    assert ask(world, "select 1 from noetl.ready") == []
