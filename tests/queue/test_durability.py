"""What may be lost with the server waits for no disk; what must not be lost always does."""

from collections.abc import Iterator

import pytest

from noetl_mcp.broker.lanes import WRITES, Lane
from noetl_mcp.broker.records import Records
from noetl_mcp.queue.lease import Flush, Halt, Halted, Lease, Over, Status, Told, Wish
from noetl_mcp.queue.postgres import PostgresQueue
from tests.queue.world import InPostgres, settled, take, token

NOTHING = Wish((), ())
LOG = 35


class Durable(InPostgres):
    """A worker whose flushes are looked at before they are committed."""

    def begin(self) -> tuple[PostgresQueue, Lease, int]:
        """Return a worker, the step it holds, and a lane."""
        lane = self.lane()
        self.start((0, lane))
        queue = self.worker()
        assert isinstance(queue, PostgresQueue)
        queue.connection.execute("set synchronous_commit = on")
        (lease,) = take(queue).leases
        return queue, lease, lane

    def waits(self, queue: PostgresQueue, flush: Flush, wish: Wish = NOTHING) -> bool:
        """Whether the commit of a flush waits for the disk."""
        with queue.connection.transaction():
            queue.flush(flush, wish)
            row = queue.connection.execute("show synchronous_commit").fetchone()
        assert row is not None
        return bool(row[0] == "on")


@pytest.fixture
def world(database: str) -> Iterator[Durable]:
    made = Durable(database)
    yield made
    made.close()


def test_a_step_that_may_be_lost_waits_for_no_disk(world: Durable) -> None:
    queue, lease, lane = world.begin()
    next_one = [token(lease.execution_id, 1, lane)]
    told = [Told(LOG, *lease.key, 1, "{}")]

    assert not world.waits(queue, Flush([settled(lease)], next_one, told=told, relaxed=1))


def test_a_strict_step_waits_for_the_disk_and_so_does_what_is_said_with_it(
    world: Durable,
) -> None:
    queue, lease, lane = world.begin()
    (other,) = queue.flush(
        Flush([settled(lease)], [token(lease.execution_id, 1, lane)]), NOTHING
    ).leases
    world.start((0, lane))
    (strict,) = take(queue).leases

    assert world.waits(queue, Flush([settled(other), settled(strict)], relaxed=1))


def test_the_lease_of_a_write_waits_for_the_disk(world: Durable) -> None:
    queue, lease, _ = world.begin()
    writing = Lane("", 0, (), (), WRITES)
    lane = Records(world.own).lanes([writing])[writing]

    assert world.waits(
        queue, Flush([settled(lease)], [token(lease.execution_id, 1, lane)], relaxed=1)
    )


def test_a_lease_from_the_queue_waits_for_the_disk(world: Durable) -> None:
    queue, lease, lane = world.begin()
    world.start((0, lane))

    assert world.waits(queue, Flush([settled(lease)], relaxed=1), Wish(("",), (1,)))


@pytest.mark.parametrize("what", ["over", "halts", "told"])
def test_ends_and_what_others_said_wait_for_the_disk(world: Durable, what: str) -> None:
    queue, lease, _ = world.begin()
    number = lease.execution_id
    flush = Flush([settled(lease)], relaxed=1)
    if what == "over":
        flush.over.append(Over(number, Status.COMPLETED, "1", None))
    elif what == "halts":
        flush.halts.append(Halted(number, Halt.FAILING, None))
    else:
        flush.told.append(Told(LOG, number + 1, 0, 0, 1, "{}"))

    assert world.waits(queue, flush)
