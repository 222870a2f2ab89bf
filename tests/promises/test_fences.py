"""Flushes, reapers and ends that meet in the middle: each sees what the other has done."""

import pytest

from noetl_mcp.queue.lease import Fenced, Flush, Halt, Over, State, Status, Wish
from noetl_mcp.worker.life import give_up
from tests.promises.sessions import Beside, ask, lane, uncommitted, worker
from tests.queue.world import InPostgres, settled, take, token

NOTHING = Wish((), ())


def test_who_is_in_the_middle_of_a_flush_is_not_given_up(world: InPostgres) -> None:
    world.start((0, lane(world)))
    queue = worker(world)

    with uncommitted(queue.connection):
        assert len(take(queue).leases) == 1
        during = ask(world, "select noetl.give_up_1(%s, null)", queue.worker)

    assert during == [(False,)]


def test_what_the_last_flush_leased_is_found_when_its_worker_is_given_up(
    world: InPostgres,
) -> None:
    here = lane(world)
    execution = world.start((0, here))
    queue = worker(world)
    (lease,) = take(queue).leases
    with uncommitted(queue.connection):
        queue.flush(Flush([settled(lease)], [token(execution, 1, here)]), NOTHING)

    assert give_up(world.own, queue.worker, None) == 1

    assert world.state(execution, 1)[0] == State.READY


def test_a_flush_that_comes_while_its_worker_is_given_up_settles_nothing(
    world: InPostgres,
) -> None:
    execution = world.start((0, lane(world)))
    queue, reaper = worker(world), world.connect()
    (lease,) = take(queue).leases

    with uncommitted(reaper):
        reaper.execute("select noetl.give_up_1(%s, null)", (queue.worker,))
        late = Beside(queue.connection, lambda: queue.flush(Flush([settled(lease)]), NOTHING))
        assert late.waits(world.own)
    with pytest.raises(Fenced):
        late.result()

    assert world.state(execution, 0)[0] == State.LEASED


def test_two_flushes_of_different_workers_do_not_wait_for_each_other(world: InPostgres) -> None:
    here = lane(world)
    world.start((0, here))
    first, second = worker(world), worker(world)

    with uncommitted(first.connection):
        assert len(take(first).leases) == 1
        beside = Beside(second.connection, lambda: take(second).leases)
        assert not beside.waits(world.own)

    assert beside.result() == []


def test_two_that_end_the_last_two_steps_end_the_execution_once(world: InPostgres) -> None:
    here = lane(world)
    execution = world.start((0, here), (1, here))
    first, second = worker(world), worker(world)
    (one,) = take(first, want=1).leases
    (other,) = take(second, want=1).leases
    half = token(execution, 9, here, waits=2, n=1, live=1)

    with uncommitted(first.connection):
        assert first.flush(Flush([settled(one)], [half]), NOTHING).leases == []
        flush = Flush([settled(other)], [half])
        beside = Beside(second.connection, lambda: second.flush(flush, NOTHING))
        assert beside.waits(world.own)
    (last,) = beside.result().leases

    assert (last.idx, last.live) == (9, 2)
    over = [Over(execution, Status.COMPLETED, "1", None)]
    second.flush(Flush([settled(last)], over=over), NOTHING)
    assert ask(world, "select count(*) from noetl.event where kind = 2") == [(1,)]


def halt(world: InPostgres, execution: int, kind: Halt) -> None:
    ask(
        world,
        "insert into noetl.halt (execution_id, kind, reason) values (%s, %s, '{}')",
        execution,
        int(kind),
    )


def test_an_execution_is_not_closed_over_a_step_that_is_just_being_leased(
    world: InPostgres,
) -> None:
    """The lease was asked for before the cancel, and is granted after it."""
    execution = world.start((0, lane(world)))
    queue, closer = worker(world), world.connect()

    with uncommitted(queue.connection):
        assert len(take(queue).leases) == 1
        halt(world, execution, Halt.CANCELLED)
        beside = Beside(
            closer,
            lambda: closer.execute(
                "select said from noetl.close_1(%s, '{}', '{}')", (execution,)
            ).fetchone(),
        )
        beside.waits(world.own)
    said = beside.result()

    assert (said, world.status(execution)) == (("busy",), Status.RUNNING)
    assert world.state(execution, 0)[0] == State.LEASED


def test_whoever_resumes_waits_for_a_flush_that_has_seen_the_pause(world: InPostgres) -> None:
    here = lane(world)
    execution = world.start((0, here))
    queue, person = worker(world), world.connect()
    (lease,) = take(queue).leases
    world.pause(execution)

    def resume() -> None:
        person.execute("delete from noetl.halt where execution_id = %s", (execution,))
        person.execute("select noetl.requeue_1(array[%s::bigint])", (execution,))

    with uncommitted(queue.connection):
        flushed = queue.flush(Flush([settled(lease)], [token(execution, 1, here)]), NOTHING)
        assert list(flushed.halted) == [(execution, Halt.PAUSED)]
        beside = Beside(person, resume)
        assert beside.waits(world.own)
    beside.result()

    assert [one.key for one in take(queue).leases] == [(execution, 1, 0)]


def test_an_effect_is_numbered_after_its_cause_whoever_began_first(world: InPostgres) -> None:
    """The second worker waits for the row that the first has locked, and draws its numbers then."""
    here = lane(world)
    execution, other = world.start((0, here), (1, here)), world.start((0, here))
    first, second, third = worker(world), worker(world), world.connect()
    leases = take(first).leases
    one, two = (lease for lease in leases if lease.execution_id == execution)
    ask(world, "update noetl.step set owner = %s where idx = 1", second.worker)
    half = token(execution, 9, here, waits=2, n=1, live=1, keep=True)
    ends_another = Flush([settled(one)], [half], over=[Over(other, Status.COMPLETED, "1", None)])

    with uncommitted(third):
        third.execute("select from noetl.execution where id = %s for update", (other,))
        cause = Beside(first.connection, lambda: first.flush(ends_another, NOTHING))
        assert cause.waits(world.own)
        effect = Beside(
            second.connection, lambda: second.flush(Flush([settled(two)], [half]), NOTHING)
        )
        assert effect.waits(world.own)
    cause.result()
    effect.result()

    rows = ask(
        world,
        "select kind, idx from noetl.event where execution_id = %s and idx in (0, 9) order by id",
        execution,
    )
    assert rows == [(10, 0), (15, 0), (10, 9)]


def test_numbers_of_events_are_drawn_one_by_one_and_their_times_are_of_the_clock(
    world: InPostgres,
) -> None:
    """A session that drew numbers ahead would tell an effect before its cause."""
    caches = ask(
        world,
        "select sequencename, cache_size from pg_sequences"
        " where schemaname = 'noetl' and sequencename in ('event_id', 'execution_id', 'worker_id')"
        " order by 1",
    )
    assert caches == [("event_id", 1), ("execution_id", 1), ("worker_id", 1)]

    world.start((0, lane(world)))
    queue = worker(world)
    with uncommitted(queue.connection):
        queue.connection.execute("select pg_sleep(0.01)")
        take(queue)
        row = queue.connection.execute(
            "select bool_and(ts > now()) from noetl.event where kind = 10"
        ).fetchone()
    assert row == (True,)


def test_a_timer_that_is_due_wakes_its_step_once_whoever_sees_it_first(world: InPostgres) -> None:
    execution = world.start((0, lane(world)))
    first, second = worker(world), worker(world)
    (lease,) = take(first).leases
    first.flush(Flush([settled(lease, State.RETRYING, delay=3600.0)]), NOTHING)
    ask(world, "update noetl.timer set due = clock_timestamp()")

    with uncommitted(first.connection):
        assert first.flush(Flush(), NOTHING).due is None
        beside = Beside(second.connection, lambda: second.flush(Flush(), NOTHING))
        assert not beside.waits(world.own)
        beside.result()

    assert ask(world, "select execution_id from noetl.ready") == [(execution,)]
    assert [one.key for one in take(second).leases] == [(execution, 0, 0)]


def test_nobody_leads_for_longer_than_one_call(world: InPostgres) -> None:
    """A leader that is paused between two calls would keep everybody else from the work."""
    leader, other = world.connect(), world.connect()
    leader.execute("select noetl.log_make_1(current_date + 30, 1000)")

    made = other.execute("select said from noetl.log_make_1(current_date + 31, 1000)").fetchone()

    assert made == ("made",)
    held = (
        "select 1 from pg_locks where locktype = 'advisory'"
        " and database = (select oid from pg_database where datname = current_database())"
    )
    assert ask(world, held) == []
