"""What becomes of the steps of a worker that is gone."""

from collections.abc import Iterator

import pytest

from noetl_mcp.broker.lanes import ARMED_LATER, CHECKED, IDEMPOTENT, WRITES, Lane
from noetl_mcp.broker.records import Records
from noetl_mcp.queue.lease import State
from noetl_mcp.queue.postgres import PostgresQueue
from noetl_mcp.worker.life import give_up
from tests.queue.world import InPostgres, take


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:
    made = InPostgres(database)
    yield made
    made.close()


def lost(
    world: InPostgres, writes: int, *, note: str | None = None, answer: str | None = None
) -> int:
    """Lease a step, end its worker's life, and return how the step stands then."""
    lane = Records(world.own).lanes([Lane("", 0, (), (), writes)])[Lane("", 0, (), (), writes)]
    execution = world.start((0, lane))
    queue = world.worker()
    assert isinstance(queue, PostgresQueue)
    take(queue)
    world.own.execute(
        "update noetl.step set note = %s, answer = %s where execution_id = %s",
        (note, answer, execution),
    )
    assert give_up(world.own, queue.worker, None) == 1
    return world.state(execution, 0)[0]


def test_a_reading_step_is_ready_again(world: InPostgres) -> None:
    assert lost(world, 0) == State.READY


def test_a_write_is_in_doubt(world: InPostgres) -> None:
    assert lost(world, WRITES) == State.IN_DOUBT


def test_a_write_with_a_remote_job_is_resumed(world: InPostgres) -> None:
    assert lost(world, WRITES, note='{"remembered":{"job":7}}') == State.READY


def test_what_a_repeated_write_has_kept_is_no_remote_job(world: InPostgres) -> None:
    note = '{"rounds":1,"collected":[],"attempt":1}'

    assert lost(world, WRITES, note=note) == State.IN_DOUBT


@pytest.mark.parametrize("writes", [ARMED_LATER, CHECKED, IDEMPOTENT])
def test_a_write_that_can_be_asked_or_repeated_is_ready_again(
    world: InPostgres, writes: int
) -> None:
    assert lost(world, writes) == State.READY


def test_a_write_that_was_armed_is_in_doubt(world: InPostgres) -> None:
    assert lost(world, ARMED_LATER, note='{"armed":true}') == State.IN_DOUBT


def test_a_step_that_has_answered_is_only_settled(world: InPostgres) -> None:
    assert lost(world, WRITES, answer="1") == State.READY


def test_only_one_of_two_gives_a_worker_up(world: InPostgres) -> None:
    lane = world.lane()
    world.start((0, lane))
    queue = world.worker()
    assert isinstance(queue, PostgresQueue)
    take(queue)

    assert [give_up(world.own, queue.worker, None) for _ in range(2)] == [1, 0]


def test_a_worker_that_beat_meanwhile_is_not_given_up(world: InPostgres) -> None:
    queue = world.worker()
    assert isinstance(queue, PostgresQueue)
    world.own.execute("update noetl.worker set beat = 5 where id = %s", (queue.worker,))

    assert give_up(world.own, queue.worker, 4) == 0
    assert world.own.execute(
        "select gone_at is null from noetl.worker where id = %s", (queue.worker,)
    ).fetchone() == (True,)
