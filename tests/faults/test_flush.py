"""What a flush must survive: the same row named twice, early hints, one reaper beside another."""

from collections.abc import Iterator
from typing import Any

import pytest

from noetl_mcp.broker.lanes import Lane
from noetl_mcp.broker.records import Records
from noetl_mcp.queue.lease import (
    Arrived,
    Awaited,
    Ended,
    Flush,
    Halt,
    Halted,
    Lease,
    Opened,
    State,
    Wish,
)
from noetl_mcp.queue.postgres import PostgresQueue
from noetl_mcp.worker.evidence import Known, report
from noetl_mcp.worker.life import give_up
from tests.queue.world import InPostgres, settled, take, token

NOTHING = Wish((), ())
PARKED = 19


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:
    made = InPostgres(database)
    yield made
    made.close()


def lane(world: InPostgres, writes: int = 0, pool: str = "", limit: str = "") -> int:
    wanted = Lane(pool, 0, (limit,) * bool(limit), (1,) * bool(limit), writes)
    return Records(world.own).lanes([wanted])[wanted]


def hint(world: InPostgres, execution: int, idx: int, item: int = 0) -> None:
    world.own.execute(
        "insert into noetl.ready (pool, rank, execution_id, idx, item) values ('', 0, %s, %s, %s)",
        (execution, idx, item),
    )


def ask(world: InPostgres, question: str, *values: Any) -> list[tuple[Any, ...]]:
    return world.own.execute(question.encode(), values).fetchall()


def test_what_arrives_in_the_flush_that_parks_its_step_wakes_it(world: InPostgres) -> None:
    here = world.lane()
    parent, child = world.start((0, here)), world.start((0, here))
    queue = world.worker()
    leases = {one.execution_id: one for one in take(queue).leases}

    parked = settled(leases[parent], State.PARKED, kind=PARKED, note=f'{{"child":{child}}}')
    flush = Flush(
        [parked, settled(leases[child])],
        arrived=[Arrived(parent, 0, 0, f'{{"child":{child}}}')],
        awaited=[Awaited(parent, 0, 0, here, None)],
    )
    queue.flush(flush, NOTHING)

    assert [one.key for one in take(queue).leases] == [(parent, 0, 0)]


def test_two_steps_of_an_execution_may_fail_in_one_flush(world: InPostgres) -> None:
    here = world.lane()
    execution = world.start((0, here), (1, here))
    queue = world.worker()
    leases = take(queue).leases

    failed = [settled(one, State.FAILED, kind=16, error="{}") for one in leases]
    halts = [Halted(execution, Halt.FAILING, f'{{"step":{one.idx}}}') for one in leases]
    flushed = queue.flush(Flush(failed, halts=halts), NOTHING)

    assert set(flushed.halted) == {(execution, Halt.FAILING)}


def test_an_iterator_that_was_looked_at_too_early_is_looked_at_again(world: InPostgres) -> None:
    here = world.lane()
    execution = world.start((0, here))
    worker, early, thief = world.worker(), world.worker(), world.worker()
    (lease,) = take(worker).leases
    opened = Opened(execution, 0, 0, 1, 1, 0, (1,), (here,))
    parked = settled(lease, State.PARKED, kind=PARKED, note='{"items":[7]}')
    item = token(execution, 1, here, item=1, waits=0, n=0)
    (running,) = worker.flush(Flush([parked], [item], [opened]), NOTHING).leases
    hint(world, execution, 0)
    (looking,) = take(early).leases

    last = Ended(execution, 0, 0, 1, 0, here, 0)
    worker.flush(Flush([settled(running)], ended=[last]), NOTHING)
    assert take(thief).leases == []  # the hint is used up, for the step is at work
    parks_again = settled(looking, State.PARKED, kind=PARKED, note='{"items":[7]}')
    early.flush(Flush([parks_again]), NOTHING)

    assert [one.key for one in take(thief).leases] == [(execution, 0, 0)]


def test_a_hint_that_outlives_its_step_makes_none(world: InPostgres) -> None:
    execution = world.start((0, world.lane()))
    hint(world, execution, 5, 3)

    taken = take(world.worker()).leases

    assert [one.idx for one in taken] == [0]
    assert ask(world, "select idx from noetl.step order by idx") == [(0,)]


def test_a_hint_that_outlives_its_execution_leases_nothing(world: InPostgres) -> None:
    here = world.lane()
    execution = world.start((0, here))
    queue = world.worker()
    queue.flush(Flush([settled(take(queue).leases[0])]), NOTHING)
    hint(world, execution, 0, 0)

    assert take(queue).leases == []
    assert ask(world, "select 1 from noetl.ready") == []


def test_what_is_handed_back_keeps_what_was_known_of_it(world: InPostgres) -> None:
    execution = world.start((0, world.lane()))
    queue = world.worker()
    (lease,) = take(queue).leases
    world.own.execute(
        "update noetl.step set note = '{\"job\":7}', answer = '1' where execution_id = %s",
        (execution,),
    )

    queue.flush(Flush([settled(lease, State.READY, kind=24)]), NOTHING)

    (again,) = take(queue).leases
    assert (again.note, again.answer) == ('{"job":7}', "1")


@pytest.mark.parametrize(
    ("writes", "state"),
    [(0, State.READY), (1, State.IN_DOUBT), (2, State.READY), (4, State.READY)],
    ids=["reading", "writing", "armed later", "idempotent"],
)
def test_the_steps_of_a_dead_worker(world: InPostgres, writes: int, state: State) -> None:
    execution = world.start((0, lane(world, writes)))
    queue = world.worker()
    take(queue)
    assert isinstance(queue, PostgresQueue)

    assert give_up(world.own, queue.worker, None) == 1

    assert world.state(execution, 0)[0] == state


def test_a_second_reaper_frees_no_permit_of_a_step_in_doubt(world: InPostgres) -> None:
    execution = world.start((0, lane(world, 1, limit="revit")))
    queue = world.worker()
    take(queue)
    assert isinstance(queue, PostgresQueue)
    ask(world, "select noetl.give_up_1(%s, null)", queue.worker)

    for _ in range(2):
        ask(world, "select noetl.recover_1(%s)", queue.worker)

    assert world.state(execution, 0)[0] == State.IN_DOUBT
    assert ask(world, "select execution_id from noetl.permit") == [(execution,)]


def test_a_limited_step_is_taken_by_workers_of_its_pool(world: InPostgres) -> None:
    world.start((0, lane(world, pool="gpu", limit="revit")))

    assert take(world.worker()).leases == []
    assert len(take(world.worker(), pool="gpu").leases) == 1


def test_a_limited_step_is_not_taken_by_who_works_for_another_execution(world: InPostgres) -> None:
    here = lane(world, limit="revit")
    first, second = world.start((0, here)), world.start((0, here))

    taken = world.worker().flush(Flush(), Wish(("",), (10,), only=(second,))).leases

    assert [one.execution_id for one in taken] == [second]
    assert world.state(first, 0)[0] == State.READY


def suspect(world: InPostgres, here: int) -> int:
    """Return an execution whose step took two workers with it."""
    execution = world.start((0, here))
    pool = ask(world, "select pool from noetl.lane where id = %s", here)[0][0]
    for _ in range(2):
        queue = world.worker()
        assert isinstance(queue, PostgresQueue)
        assert len(take(queue, pool=pool.rpartition("@")[2]).leases) == 1
        give_up(world.own, queue.worker, None)
    return execution


@pytest.mark.parametrize("limit", ["", "revit"])
def test_a_suspect_is_done_alone_by_a_worker_of_its_pool(world: InPostgres, limit: str) -> None:
    execution = suspect(world, lane(world, pool="gpu", limit=limit))
    wish = Wish(("gpu",), (10,), alone=True)

    assert take(world.worker(), pool="gpu").leases == []
    other = world.worker().flush(Flush(), Wish(("",), (10,), alone=True))
    assert (other.leases, other.alone_waits) == ([], False)
    (lease,) = world.worker().flush(Flush(), wish).leases

    assert (lease.execution_id, lease.crashes) == (execution, 2)
    assert len(ask(world, "select 1 from noetl.permit")) == bool(limit)


def doubt(world: InPostgres) -> tuple[PostgresQueue, Lease]:
    """Return a worker that was given up, and the lease of its writing step."""
    world.start((0, lane(world, 1, limit="revit")))
    queue = world.worker()
    assert isinstance(queue, PostgresQueue)
    (lease,) = take(queue).leases
    give_up(world.own, queue.worker, None)
    return queue, lease


@pytest.mark.parametrize("answer", ['{"id":7}', None], ids=["answered", "not sent"])
def test_what_a_late_worker_knows_ends_the_doubt(world: InPostgres, answer: str | None) -> None:
    queue, lease = doubt(world)

    assert report(world.own, queue.worker, [Known(*lease.key, lease.lease, answer)]) == 1

    (again,) = take(world.worker()).leases
    assert (again.key, again.answer) == (lease.key, answer)
    told = ask(world, "select data from noetl.event where kind = 22")
    assert ('"answered"' in told[0][0]) == (answer is not None)


def test_a_late_word_about_another_lease_counts_nothing(world: InPostgres) -> None:
    queue, lease = doubt(world)
    known = Known(*lease.key, lease.lease, "1")

    assert report(world.own, queue.worker, [known._replace(lease=lease.lease + 1)]) == 0
    assert report(world.own, queue.worker + 1, [known]) == 0
    world.own.execute("update noetl.step set state = 1, answer = '\"accepted\"'")
    assert report(world.own, queue.worker, [known]) == 0

    assert ask(world, "select answer from noetl.step") == [('"accepted"',)]


@pytest.mark.parametrize(("status", "said"), [(0, "busy"), (1, "over")])
def test_a_failing_execution_waits_for_children_that_run(
    world: InPostgres, status: int, said: str
) -> None:
    execution = world.start((0, world.lane()))
    child = world.start((0, world.lane()))
    world.own.execute(
        "update noetl.execution set parent_execution = %s, parent_idx = 0, parent_item = 0,"
        " status = %s where id = %s",
        (execution, status, child),
    )
    world.own.execute(
        "update noetl.step set state = 9, note = %s where execution_id = %s",
        (f'{{"child":{child}}}', execution),
    )
    world.own.execute(
        "insert into noetl.halt (execution_id, kind, reason) values (%s, 2, '{}')", (execution,)
    )

    assert ask(world, "select said from noetl.close_1(%s, '{}', '{}')", execution) == [(said,)]
