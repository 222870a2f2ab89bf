"""What is noted of the steps that a worker holds: enough to find all of them when it is gone."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from noetl_mcp.queue.lease import Flush, Flushed, Lease, Lost, State, Wish
from noetl_mcp.queue.postgres import PostgresQueue
from noetl_mcp.worker.life import give_up
from noetl_mcp.worker.line import Line
from tests.queue.world import InPostgres, settled, take, token

Key = tuple[int, int, int]


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:
    made = InPostgres(database)
    yield made
    made.close()


def worker(world: InPostgres) -> PostgresQueue:
    made = world.worker()
    assert isinstance(made, PostgresQueue)
    return made


def beat(queue: PostgresQueue, holds: tuple[Key, ...], flush: Flush | None = None) -> Flushed:
    return queue.flush(flush or Flush(), Wish((), (), beat=True, holds=holds))


def notes(world: InPostgres) -> list[tuple[int, ...]]:
    rows = world.own.execute("select execs from noetl.held order by id").fetchall()
    return [tuple(row[0]) for row in rows]


def test_a_beat_gathers_what_is_held_and_forgets_the_rest(world: InPostgres) -> None:
    one, two = world.start((0, world.lane())), world.start((0, world.lane()))
    queue = worker(world)
    take(queue, want=1)
    (second,) = take(queue, want=1).leases

    before = notes(world)
    beat(queue, (second.key,))

    assert (before, notes(world)) == ([(one,), (two,)], [(two,)])


def test_a_successor_kept_in_the_flush_of_a_beat_is_found(world: InPostgres) -> None:
    here = world.lane()
    execution = world.start((0, here))
    queue = worker(world)
    (lease,) = take(queue).leases

    kept = beat(queue, (), Flush([settled(lease)], [token(execution, 1, here)])).leases

    assert [one.idx for one in kept] == [1]
    assert give_up(world.own, queue.worker, None) == 1
    assert world.state(execution, 1)[0] == State.READY


def test_every_step_of_a_dead_worker_is_found_however_it_came_by_it(world: InPostgres) -> None:
    here = world.lane()
    executions = [world.start((0, here)) for _ in range(6)]
    queue = worker(world)
    first = take(queue, want=3).leases
    beat(queue, tuple(lease.key for lease in first))
    later = take(queue, want=2).leases
    done = Flush([settled(first[0])], [token(first[0].execution_id, 1, here)])
    queue.flush(done, Wish((), ()))

    assert give_up(world.own, queue.worker, None) == 5
    assert [one.execution_id for one in later] == executions[3:5]
    assert world.own.execute("select from noetl.held").fetchall() == []
    assert len(take(world.worker()).leases) == 6


def test_notes_of_the_past_are_not_read(world: InPostgres) -> None:
    world.start((0, world.lane()))
    queue = worker(world)
    take(queue)
    beat(queue, ())

    world.own.execute(
        "insert into noetl.held (worker, id, execs, idxs, items) overriding system value"
        " select %s, -n, array[1], array[0], array[0] from generate_series(1, 50) n",
        (queue.worker,),
    )

    assert queue.held() == []


class CutOff(PostgresQueue):
    """Loses the answer of its first flush that leases something."""

    is_cut = False

    def flush(self, flush: Flush, wish: Wish) -> Flushed:
        said = super().flush(flush, wish)
        if said.leases and not self.is_cut:
            self.is_cut = True
            raise Lost("57P01 cut")
        return said


class OnceCutOff(Line):
    """A line whose first connection is cut off, and no later one."""

    has_begun = False

    def _open(self) -> PostgresQueue:
        if not self.has_begun:
            self.has_begun = True
            self._queue = CutOff(self._connect(), self.worker, self.epoch)
        return super()._open()


def test_what_came_with_a_lost_answer_stays_noted(world: InPostgres) -> None:
    for _ in range(2):
        world.start((0, world.lane()))
    queue = worker(world)
    line = OnceCutOff(world.connect, queue.worker, queue.epoch)
    wish = Wish(("",), (1,), beat=True, holds=())

    said = line._carry(Flush(), wish)
    further = line._carry(Flush(), replace(wish, holds=None, beat=False))

    assert line.losses == 1
    assert isinstance(said, Flushed)
    assert isinstance(further, Flushed)
    held: list[Lease] = [*said.leases, *further.leases]
    assert len(held) == 2
    assert give_up(world.own, queue.worker, None) == 2
