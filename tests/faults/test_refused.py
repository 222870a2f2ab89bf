"""Flushes that the database refuses: what is at fault fails alone, and everything else is kept."""

import threading
from collections.abc import Iterator

import pytest

from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Ended, Fenced, Flush, Flushed, Lease, State, Wish
from noetl_mcp.worker.life import give_up
from noetl_mcp.worker.line import Line
from tests.queue.world import InPostgres, settled, token

NUL = '"\0"'  # no text for Postgres
WISH = Wish(("",), (10,))
NOTHING = Wish((), ())


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:
    made = InPostgres(database)
    yield made
    made.close()


@pytest.fixture
def line(world: InPostgres) -> Iterator[Line]:
    queue = world.worker()
    made = Line(world.connect, queue.worker, queue.epoch)  # type: ignore[attr-defined]
    made.start()
    yield made
    made.stop()


def sent(line: Line, flush: Flush, wish: Wish = NOTHING) -> Flushed | BaseException:
    """Send a flush and wait for what comes of it."""
    found: list[Flushed | BaseException] = []
    is_there = threading.Event()

    def answered(said: Flushed | BaseException, _: Flush) -> None:
        found.append(said)
        is_there.set()

    line.send(flush, wish, answered)
    assert is_there.wait(20)
    return found[0]


def taken(line: Line) -> list[Lease]:
    """Take what is ready."""
    done = sent(line, Flush(), WISH)
    assert isinstance(done, Flushed)
    return sorted(done.leases)


def leased(line: Line) -> dict[int, Lease]:
    """Take what is ready, by execution."""
    return {one.execution_id: one for one in taken(line)}


def states(world: InPostgres, execution: int) -> list[tuple[int, int, str | None]]:
    rows = world.own.execute(
        "select idx, state, answer from noetl.step where execution_id = %s order by idx",
        (execution,),
    )
    return rows.fetchall()


def test_one_bad_result_fails_alone(world: InPostgres, line: Line) -> None:
    here = world.lane()
    ids = [world.start((0, here)) for _ in range(9)]
    leases = leased(line)

    flush = Flush([settled(leases[one], result=NUL if one == ids[4] else "1") for one in ids])
    done = sent(line, flush, WISH)

    assert isinstance(done, Flushed)
    found = {one: states(world, one)[0][1] for one in ids}
    assert found.pop(ids[4]) == State.FAILED
    assert set(found.values()) == {State.DONE}
    row = world.own.execute("select reason from noetl.halt").fetchone()
    assert row is not None
    assert decode(row[0])["code"] == "refused"


def test_its_neighbours_in_an_execution_are_handed_back_with_their_answers(
    world: InPostgres, line: Line
) -> None:
    here = world.lane()
    execution = world.start((0, here), (1, here))
    good, bad = taken(line)

    rows = [settled(good, result='{"a":1}'), settled(bad, result=NUL)]
    sent(line, Flush(rows, [token(execution, 2, here)]))

    assert states(world, execution) == [
        (0, State.READY, '{"a":1}'),
        (1, State.FAILED, None),
    ]


def test_an_item_that_was_called_off_is_handed_back_for_its_iterator_would_not_hear_of_its_end(
    world: InPostgres, line: Line
) -> None:
    here = world.lane()
    execution = world.start((0, here), (1, here))
    item, bad = taken(line)

    rows = [settled(item, State.CANCELLED, kind=18), settled(bad, result=NUL)]
    sent(line, Flush(rows, ended=[Ended(execution, 7, 0, 1, 0, here, 0)]))

    assert states(world, execution) == [(0, State.READY, None), (1, State.FAILED, None)]


def test_what_is_not_held_any_more_is_left_out(world: InPostgres, line: Line) -> None:
    here = world.lane()
    ids = [world.start((0, here)) for _ in range(3)]
    leases = leased(line)
    world.own.execute(
        "update noetl.step set lease = lease + 1, owner = 999 where execution_id = %s", (ids[1],)
    )

    done = sent(line, Flush([settled(leases[one], result="1") for one in ids]))

    assert isinstance(done, Flushed)
    assert [states(world, one)[0][1] for one in ids] == [State.DONE, State.LEASED, State.DONE]


def test_a_failure_that_cannot_be_told_with_its_neighbours_is_told_anew(
    world: InPostgres, line: Line
) -> None:
    here = world.lane()
    execution = world.start((0, here), (1, here))
    failed, bad = taken(line)

    error = '{"code":"unlucky","message":"no"}'
    rows = [settled(failed, State.FAILED, kind=16, error=error), settled(bad, result=NUL)]
    sent(line, Flush(rows))

    _, state, answer = states(world, execution)[0]
    assert state == State.READY
    assert answer is not None
    assert "unlucky" in answer


def test_what_is_refused_for_ever_is_not_handed_back_for_ever(
    world: InPostgres, line: Line
) -> None:
    """The answer is fine, but something that follows from it never is."""
    here = world.lane()
    execution = world.start((0, here))
    leases = taken(line)
    rounds = 0

    while leases and rounds < 9:
        rounds += 1
        sent(line, Flush([settled(leases[0], result="1", extra=NUL)]))
        leases = taken(line)

    assert (states(world, execution)[0][1], rounds) == (State.FAILED, 2)


def test_a_fenced_worker_may_send_nothing_more(world: InPostgres, line: Line) -> None:
    world.start((0, world.lane()))
    (lease,) = taken(line)
    give_up(world.own, line.worker, None)

    said = sent(line, Flush([settled(lease)]))

    assert isinstance(said, Fenced)
    assert line.silent_for() == float("inf")


def test_a_worker_that_was_given_up_while_its_answer_was_lost_is_told(
    world: InPostgres, line: Line
) -> None:
    world.start((0, world.lane()))
    (lease,) = taken(line)
    give_up(world.own, line.worker, None)
    world.own.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where pid <> pg_backend_pid() and datname = current_database()"
    )

    assert isinstance(sent(line, Flush([settled(lease)])), Fenced)


def test_only_an_answered_beat_says_that_the_others_hear_this_worker(line: Line) -> None:
    before = line.acknowledged

    sent(line, Flush(), WISH)
    assert line.acknowledged == before
    sent(line, Flush(), Wish(("",), (0,), beat=True))

    assert line.acknowledged > before
