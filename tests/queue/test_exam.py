"""The exam that every queue passes."""

from collections.abc import Iterator

import pytest

from noetl_mcp.queue.lease import (
    WIDTH,
    Arrived,
    Awaited,
    Ended,
    Fenced,
    Flush,
    Halt,
    Halted,
    Opened,
    Over,
    Settled,
    Stale,
    State,
    Status,
    Wish,
)
from tests.queue.world import InMemory, InPostgres, World, settled, take, token

NOTHING = Wish((), ())


@pytest.fixture(params=["memory", "postgres"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "memory":
        yield InMemory()
        return
    made = InPostgres(request.getfixturevalue("database"))
    yield made
    made.close()


def test_what_was_started_is_leased_once(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    first, second = world.worker(), world.worker()

    taken = take(first).leases

    assert [(one.execution_id, one.idx, one.attempt) for one in taken] == [(execution, 0, 1)]
    assert (taken[0].before, taken[0].payload, taken[0].live) == (State.READY, "{}", 1)
    assert take(second).leases == []
    assert [one.key for one in first.held()] == [(execution, 0, 0)]


def test_a_successor_stays_with_who_unlocked_it(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    flush = Flush(settled=[settled(lease)], tokens=[token(execution, 1, lane)])
    (kept,) = queue.flush(flush, NOTHING).leases

    assert (kept.key, kept.before, kept.lease, kept.attempt) == ((execution, 1, 0), 0, 1, 1)


def test_a_successor_that_nobody_keeps_is_queued(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue, other = world.worker(), world.worker()
    (lease,) = take(queue).leases

    flush = Flush(settled=[settled(lease)], tokens=[token(execution, 1, lane, keep=False)])

    assert queue.flush(flush, NOTHING).leases == []
    assert [one.key for one in take(other).leases] == [(execution, 1, 0)]


def test_a_join_waits_for_every_way_and_counts_the_live_ones(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane), (1, lane), (2, lane))
    queue = world.worker()
    leases = take(queue).leases

    for number, lease in enumerate(leases[:2]):
        one = token(execution, 9, lane, waits=3, live=number)
        assert queue.flush(Flush([settled(lease)], [one]), NOTHING).leases == []
    assert world.state(execution, 9) == (State.WAITING, 1, 1)
    last = token(execution, 9, lane, waits=3, live=0)
    (joined,) = queue.flush(Flush([settled(leases[2])], [last]), NOTHING).leases

    assert (joined.idx, joined.live) == (9, 1)


def test_a_join_that_nothing_live_reached_says_so(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    one = token(execution, 9, lane, waits=2, n=2, live=0)
    (joined,) = queue.flush(Flush([settled(lease)], [one]), NOTHING).leases

    assert joined.live == 0


def test_any_join_is_unlocked_once_by_the_first_live_way(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane), (1, lane))
    queue = world.worker()
    first, second = take(queue).leases

    one = token(execution, 9, lane, waits=-2)
    (begun,) = queue.flush(Flush([settled(first)], [one]), NOTHING).leases
    late = queue.flush(Flush([settled(second)], [one]), NOTHING).leases

    assert begun.idx == 9
    assert late == []
    assert world.state(execution, 9) == (State.LEASED, 0, 2)


def test_a_late_settlement_changes_nothing(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane), (1, lane))
    queue = world.worker()
    first, second = take(queue).leases
    queue.flush(Flush([settled(first)]), NOTHING)

    with pytest.raises(Stale):
        queue.flush(Flush([settled(first), settled(second)]), NOTHING)

    assert world.state(execution, 1)[0] == State.LEASED


def test_somebody_elses_step_cannot_be_settled(world: World) -> None:
    lane = world.lane()
    world.start((0, lane))
    queue, other = world.worker(), world.worker()
    (lease,) = take(queue).leases

    with pytest.raises(Stale):
        other.flush(Flush([settled(lease)]), NOTHING)


def test_a_worker_that_was_given_up_settles_nothing(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases
    queue.epoch = 8  # type: ignore[attr-defined]  # another life

    with pytest.raises(Fenced):
        queue.flush(Flush([settled(lease)]), NOTHING)
    assert world.state(execution, 0)[0] == State.LEASED


def test_what_is_handed_back_is_ready_for_others(world: World) -> None:
    lane = world.lane()
    world.start((0, lane))
    queue, other = world.worker(), world.worker()
    (lease,) = take(queue).leases

    queue.flush(Flush([settled(lease, State.READY, attempt=0)]), NOTHING)
    (again,) = take(other).leases

    assert (again.attempt, again.lease) == (1, 2)


def test_a_retry_waits_for_its_time(world: World) -> None:
    lane = world.lane()
    world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    later = queue.flush(Flush([settled(lease, State.RETRYING, delay=0.05)]), NOTHING)
    assert later.due is not None
    assert later.due > 0
    assert take(queue).leases == []
    taken = take(queue).leases
    while not taken:
        taken = take(queue).leases

    assert [(one.attempt, one.before) for one in taken] == [(2, State.RETRYING)]


def test_windows_hand_items_out_as_items_end(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    opened = Opened(execution, 0, 0, 5, 2, 0, (1,), (lane,))
    tokens = [token(execution, 1, lane, item=item, waits=0, n=0) for item in (1, 2)]
    flush = Flush([settled(lease, State.PARKED, note="{}")], tokens, [opened])
    items = list(queue.flush(flush, NOTHING).leases)
    seen = []
    while items:
        one = items.pop(0)
        seen.append(one.item)
        ended = Ended(execution, 0, 0, 1, 0, lane, 1)
        answer = queue.flush(Flush([settled(one)], ended=[ended]), Wish(("",), (5,)))
        items += [lease for lease in answer.leases if lease.idx == 1]
        done = [lease for lease in answer.leases if lease.idx == 0]

    assert seen == [1, 2, 3, 4, 5]
    assert [(lease.before, lease.note) for lease in done] == [(State.PARKED, "{}")]


def test_too_many_failures_close_the_window(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases
    opened = Opened(execution, 0, 0, 5, 1, 0, (1,), (lane,))
    flush = Flush([settled(lease, State.PARKED)], [], [opened])
    flush.tokens = [token(execution, 1, lane, item=1, waits=0, n=0)]
    (item,) = queue.flush(flush, NOTHING).leases

    ended = Ended(execution, 0, 0, 1, 1, lane, 1)
    answer = queue.flush(Flush([settled(item, State.FAILED)], ended=[ended]), Wish(("",), (5,)))

    assert [(one.idx, one.item) for one in answer.leases] == [(0, 0)]


def test_inner_items_are_numbered_within_outer_ones(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases
    outer = Opened(execution, 0, 3, 2, 1, 0, (1,), (lane,))
    queue.flush(Flush([settled(lease, State.PARKED)], [], [outer]), NOTHING)

    ended = Ended(execution, 0, 3, 1, 0, lane, 1)
    (inner,) = queue.flush(Flush(ended=[ended]), NOTHING).leases

    assert inner.item == 3 * WIDTH + 2


@pytest.mark.parametrize("early", [True, False])
def test_arrival_and_parking_meet_whichever_comes_first(world: World, early: bool) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases
    arrival = Flush(arrived=[Arrived(execution, 0, 0, '"yes"')])
    parking = Flush([settled(lease, State.PARKED)])
    parking.awaited = [Awaited(execution, 0, 0, lane, None)]

    for flush in (arrival, parking) if early else (parking, arrival):
        assert queue.flush(flush, NOTHING).leases == []

    assert [one.before for one in take(queue).leases] == [State.PARKED]


def test_limits_bound_how_many_run_in_the_whole_fleet(world: World) -> None:
    lane = world.lane(limit=1)
    world.start((0, lane), (1, lane))
    queue, other = world.worker(), world.worker()

    first = take(queue).leases
    assert len(first) == 1
    assert take(other).leases == []
    release = Flush([settled(first[0])], released=[first[0].key])
    queue.flush(release, NOTHING)

    assert len(take(other).leases) == 1


def test_a_pool_takes_only_its_own(world: World) -> None:
    gpu, plain = world.lane("gpu"), world.lane()
    execution = world.start((0, gpu), (1, plain))

    assert [one.idx for one in take(world.worker(), pool="gpu").leases] == [0]
    assert [one.key for one in take(world.worker()).leases] == [(execution, 1, 0)]


def test_nothing_of_a_halted_execution_begins(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane), (1, lane))
    queue = world.worker()
    (lease,) = take(queue, want=1).leases
    world.pause(execution)

    answer = queue.flush(Flush([settled(lease)], [token(execution, 5, lane)]), Wish(("",), (5,)))

    assert answer.leases == []
    assert list(answer.halted) == [(execution, Halt.PAUSED)]
    assert world.state(execution, 5)[0] == State.READY


def test_a_failing_step_halts_its_execution(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    flush = Flush([settled(lease, State.FAILED)])
    flush.halts = [Halted(execution, Halt.FAILING, '{"code":"x"}')]
    answer = queue.flush(flush, NOTHING)

    assert (execution, Halt.FAILING) in list(answer.halted)


def test_an_execution_ends_once(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases

    over = [Over(execution, Status.COMPLETED, "1", None)]
    queue.flush(Flush([settled(lease)], over=over), NOTHING)
    queue.flush(Flush(over=[Over(execution, Status.FAILED, "2", None)]), NOTHING)

    assert world.status(execution) == Status.COMPLETED


def test_steps_are_passed_through_without_a_lease(world: World) -> None:
    lane = world.lane()
    execution = world.start((0, lane))
    queue = world.worker()
    (lease,) = take(queue).leases
    passed = Settled(execution, 1, 0, 0, State.SKIPPED, 17, 0, lane=lane)

    queue.flush(Flush([settled(lease), passed]), NOTHING)

    assert world.state(execution, 1)[0] == State.SKIPPED
