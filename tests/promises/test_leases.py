"""What a lease says, what it counts, and who gets one."""

import asyncio
from typing import Any

import pytest

from noetl_mcp.broker.lanes import WRITES
from noetl_mcp.broker.records import Records
from noetl_mcp.queue.encode import encode
from noetl_mcp.queue.lease import (
    Arrived,
    Flush,
    Lease,
    Over,
    Settled,
    Stale,
    State,
    Status,
    Token,
    Wish,
)
from noetl_mcp.worker.evidence import Known, evidence, report
from noetl_mcp.worker.life import give_up
from noetl_mcp.worker.mending import one_by_one
from noetl_mcp.worker.outbox import Outbox, Slots
from noetl_mcp.worker.settle import Kind
from tests.promises.sessions import Beside, ask, lane, uncommitted, worker
from tests.queue.world import InPostgres, settled, take, token
from tests.worker.shop import Shop

NOTHING = Wish((), ())


def test_a_leased_write_is_told_as_begun_together_with_its_lease(world: InPostgres) -> None:
    reading, writing = lane(world), lane(world, WRITES)
    execution = world.start((0, reading), (1, writing))
    queue = worker(world)
    leases = take(queue).leases
    first = next(one for one in leases if one.idx == 0)

    sticky = [token(execution, 2, writing)]
    queue.flush(Flush([settled(first)], sticky), NOTHING)

    rows = ask(world, "select idx from noetl.event where kind = 11 order by idx")
    assert rows == [(1,), (2,)]


def test_a_worker_holds_no_more_than_it_has_begun(shop: Shop) -> None:
    """What it held in reserve would be in doubt with it, although nothing was ever sent."""
    text = "workflow:\n  - {step: start, type: change, confirm: true, data: {sleep: 0.02}}\n"
    numbers = [shop.start(text) for _ in range(12)]
    leased = "select count(*) from noetl.step where state = 2"
    seen: list[int] = []

    async def counted(call: Any) -> None:
        row = shop.records.connection.execute(leased.encode()).fetchone()
        assert row is not None
        seen.append(int(row[0]))
        await asyncio.sleep(0.01)

    shop.change.answer = counted

    async def work() -> None:
        async with shop.worker(waiting=3):
            await shop.until(lambda: all(shop.status(one) for one in numbers))

    asyncio.run(work())

    assert len(seen) == 12
    assert max(seen) <= 3


def test_an_attempt_is_counted_with_the_lease_and_not_with_the_hint(world: InPostgres) -> None:
    here = lane(world)
    execution = world.start((0, here))
    queue = worker(world)
    (lease,) = take(queue).leases
    spilled = token(execution, 1, here, keep=False)
    queue.flush(Flush([settled(lease)], [spilled, token(execution, 2, here)]), NOTHING)

    rows = ask(world, "select idx, state, attempt, owner from noetl.step where idx > 0 order by 1")

    assert rows == [(1, State.READY, 0, None), (2, State.LEASED, 1, queue.worker)]
    assert [one.attempt for one in take(worker(world)).leases] == [1]


def test_an_attempt_that_its_worker_did_not_survive_was_one(world: InPostgres) -> None:
    world.start((0, lane(world)))
    queue = worker(world)
    take(queue)

    give_up(world.own, queue.worker, None)

    assert [(one.attempt, one.crashes) for one in take(worker(world)).leases] == [(2, 1)]


def test_only_a_crash_alone_leads_to_the_dead_letters(world: InPostgres) -> None:
    """Whoever ran beside it may have been the one that ended the worker."""
    world.start((0, lane(world)))
    queue = worker(world)
    (lease,) = take(queue).leases
    ask(world, "update noetl.step set crashes = 2")

    give_up(world.own, queue.worker, None)

    assert world.state(*lease.key)[0] == State.READY
    alone = worker(world)
    assert alone.flush(Flush(), Wish(("",), (1,), alone=True)).leases
    give_up(world.own, alone.worker, None)
    assert world.state(*lease.key)[0] == State.DEAD


def test_an_eighth_of_the_slots_is_filled_from_the_queue() -> None:
    outbox = Outbox(Slots(80, 4), ("", "~"))
    for idx in range(200):
        outbox.token((1, idx, 0), 1, 1, 1, 1, mine=True, computes=False)

    flush, wish = outbox.take(Wish())

    assert sum(one.keep for one in flush.tokens) == 70
    assert wish.wants[0] == 10


def test_a_newcomer_waits_for_no_long_chain(world: InPostgres) -> None:
    """A worker whose chains could fill it takes the newcomer with its next flush."""
    here = lane(world)
    chains = [world.start((0, here)) for _ in range(8)]
    queue = worker(world)
    outbox = Outbox(Slots(8, 1), ("",))
    held = take(queue).leases
    newcomer = world.start((0, here))

    outbox.held = len(held)
    for one in held:
        outbox.held -= 1
        outbox.settle(settled(one))
        outbox.token((one.execution_id, 1, 0), 1, 1, 1, here, mine=True, computes=False)
    flushed = queue.flush(*outbox.take(Wish()))

    assert newcomer in {one.execution_id for one in flushed.leases}
    assert len(flushed.leases) == len(chains)


def test_every_hand_over_has_a_number_of_its_own(world: InPostgres) -> None:
    """A number that came again would let an old word about a step pass for a new one."""
    here = lane(world)
    execution = world.start((0, here))
    numbers: list[int] = []

    def leased() -> tuple[Any, Lease]:
        queue = worker(world)
        (lease,) = take(queue).leases
        numbers.append(lease.lease)
        return queue, lease

    queue, lease = leased()
    queue.flush(Flush([settled(lease, State.READY)]), NOTHING)
    queue, lease = leased()
    queue.flush(Flush([settled(lease, State.RETRYING, delay=0.0)]), NOTHING)
    queue, lease = leased()
    give_up(world.own, queue.worker, None)
    queue, lease = leased()
    queue.flush(Flush([settled(lease, State.PARKED, note="{}")]), NOTHING)
    ask(world, "select noetl.answer_1(%s, 0, 0, '1', 'ann')", execution)
    ask(
        world,
        "insert into noetl.ready (pool, rank, execution_id, idx, item) values ('',0,%s,0,0)",
        execution,
    )
    queue, lease = leased()

    assert numbers == [1, 2, 3, 4, 5]
    old = settled(lease)._replace(lease=4)
    with pytest.raises(Stale):
        queue.flush(Flush([old]), NOTHING)
    assert not Records(world.own).note(lease.key, 4, queue.worker, "{}")
    assert Records(world.own).note(lease.key, 5, queue.worker, "{}")


def test_a_row_that_is_not_held_any_more_is_dropped_with_its_tokens(world: InPostgres) -> None:
    """A token that came through without its step would open a join twice."""
    here = lane(world)
    execution = world.start((0, here), (1, here))
    queue = worker(world)
    stale, held = sorted(take(queue).leases)
    ask(world, "update noetl.step set lease = 9, owner = 99 where idx = 0")
    half = token(execution, 5, here, waits=3, n=1)
    flush = Flush([settled(stale, result="1"), settled(held, result="2")], [half, half])

    with pytest.raises(Stale):
        queue.flush(flush, NOTHING)
    for back, _ in one_by_one(flush, queue.held(), "stale"):
        queue.flush(back, NOTHING)

    rows = ask(world, "select idx, state, answer from noetl.step order by idx")
    assert rows == [(0, State.LEASED, None), (1, State.READY, "2")]


def test_the_end_of_a_child_waits_for_nothing_of_its_parent(world: InPostgres) -> None:
    here = lane(world)
    parent, child = world.start((0, here)), world.start((0, here))
    queue, busy = worker(world), world.connect()
    leases = {one.execution_id: one for one in take(queue).leases}
    over = Flush(
        [settled(leases[child])],
        over=[Over(child, Status.COMPLETED, "1", None)],
        arrived=[Arrived(parent, 0, 0, encode({"child": child}))],
    )

    with uncommitted(busy):
        busy.execute("select from noetl.execution where id = %s for update", (parent,))
        busy.execute("select from noetl.step where execution_id = %s for update", (parent,))
        beside = Beside(queue.connection, lambda: queue.flush(over, NOTHING))
        assert not beside.waits(world.own)
    beside.result()

    rows = ask(world, "select arrived from noetl.signal where execution_id = %s", parent)
    assert rows == [(f'{{"child":{child}}}',)]


def test_the_end_of_a_child_and_the_word_to_its_parent_stand_or_fall_together(
    world: InPostgres,
) -> None:
    here = lane(world)
    parent, child = world.start((0, here)), world.start((0, here))
    queue = worker(world)
    leases = {one.execution_id: one for one in take(queue).leases}
    stale = settled(leases[child])._replace(lease=7)
    arrived = [Arrived(parent, 0, 0, encode({"child": child}))]

    with pytest.raises(Stale):
        queue.flush(
            Flush([stale], over=[Over(child, Status.COMPLETED, "1", None)], arrived=arrived),
            NOTHING,
        )

    assert world.status(child) == Status.RUNNING
    assert ask(world, "select 1 from noetl.signal") == []


def test_hints_for_one_step_lease_it_once_however_many_there_are(world: InPostgres) -> None:
    execution = world.start((0, lane(world)))
    hint = "insert into noetl.ready (pool, rank, execution_id, idx, item) values ('', 0, %s, 0, 0)"
    for _ in range(5):
        ask(world, hint, execution)

    taken = [one for _ in range(3) for one in take(worker(world)).leases]

    assert [one.key for one in taken] == [(execution, 0, 0)]
    assert ask(world, "select count(*) from noetl.event where kind = 10") == [(1,)]


def test_a_late_word_about_a_write_that_was_not_in_doubt_changes_nothing(
    world: InPostgres,
) -> None:
    world.start((0, lane(world, WRITES)))
    queue = worker(world)
    (lease,) = take(queue).leases
    known = [Known(*lease.key, lease.lease, "1")]

    assert report(world.own, queue.worker, known) == 0
    assert world.state(*lease.key)[0] == State.LEASED


def row(state: State, kind: int) -> Settled:
    return Settled(1, 2, 0, 3, state, kind, 1, result="1")


def test_only_what_was_answered_or_never_sent_is_evidence() -> None:
    doubt = row(State.IN_DOUBT, Kind.IN_DOUBT)
    done = row(State.DONE, Kind.COMPLETED)
    back = row(State.READY, Kind.LEASE_LOST)

    assert evidence([doubt], []) == []
    assert evidence([done, back], []) == [Known(1, 2, 0, 3, "1"), Known(1, 2, 0, 3, None)]


def test_a_round_of_a_repeated_write_that_was_done_is_no_evidence_of_the_contrary() -> None:
    done_and_to_be_repeated = row(State.RETRYING, Kind.ITERATION)

    assert evidence([done_and_to_be_repeated], []) == []


def test_the_permit_of_a_remote_job_is_not_freed_with_its_worker(world: InPostgres) -> None:
    here = lane(world, WRITES, limit="revit")
    first, second = world.start((0, here)), world.start((0, here))
    queue = worker(world)
    (lease,) = take(queue).leases
    note = encode({"remembered": {"job": 7}})
    Records(world.own).note(lease.key, lease.lease, queue.worker, note)

    give_up(world.own, queue.worker, None)
    taken = take(worker(world)).leases

    assert first < second
    assert [one.key for one in taken] == [(first, 0, 0)]


def test_tokens_for_one_step_are_added_up_before_they_are_sent() -> None:
    """One statement cannot touch a row twice, and two would wait for each other."""
    outbox = Outbox(Slots(8, 1), ("",))
    outbox.token((1, 2, 0), 3, 1, 1, 4, mine=True, computes=False)
    outbox.token((1, 2, 0), 3, 1, 0, 4, mine=True, computes=False)

    flush, _ = outbox.take(Wish())

    assert flush.tokens == [Token(1, 2, 0, 3, 2, 1, 4, True)]
