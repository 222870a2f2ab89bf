"""Silence is watched and not computed; who was not heard for too long sends nothing."""

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.queue.lease import Flush, Wish
from noetl_mcp.tasks.calls import HandedBack
from noetl_mcp.worker.calling import Around, Rules
from noetl_mcp.worker.engine import BEATS
from noetl_mcp.worker.life import Life, Watch, begin_life, boot_mark, end_life, host_name
from noetl_mcp.worker.line import Line
from tests.promises.sessions import ask, uncommitted, worker
from tests.queue.world import InPostgres
from tests.worker.shop import Shop

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
Gone = list[tuple[int, int | None]]


def neighbour(world: InPostgres, *, host: str = "elsewhere", life: str = "", boot: str = "") -> int:
    """Return a worker of another machine, or of this one when it says so."""
    row = ask(
        world,
        "insert into noetl.worker (epoch, plan_format, pools, host, boot, pid, life)"
        " values (1, 1, '{}', %s, %s, 1, %s) returning id",
        host,
        boot,
        life,
    )
    return int(row[0][0])


def looks(watch: Watch, connection: Connection[TupleRow], beats: list[tuple[int, int]]) -> Gone:
    return watch.look(connection, beats)


def test_who_stands_still_at_eight_looks_in_a_row_is_gone_and_not_before(
    world: InPostgres,
) -> None:
    number, watch = neighbour(world), Watch()

    found = [looks(watch, world.own, [(number, 0)]) for _ in range(BEATS)]

    assert BEATS == 8
    assert found == [[]] * 7 + [[(number, 0)]]


def test_one_beat_in_between_begins_the_watch_anew(world: InPostgres) -> None:
    number, watch = neighbour(world), Watch()
    beat = 0

    for look in range(BEATS * 4):
        beat += look % (BEATS - 1) == 0
        assert looks(watch, world.own, [(number, beat)]) == []


def test_looks_that_come_in_a_rush_count_as_one(world: InPostgres) -> None:
    """A worker that flushes a thousand times a second must not count a thousand beats."""
    number, watch = neighbour(world), Watch(every=3600.0)

    for _ in range(BEATS * 3):
        assert looks(watch, world.own, [(number, 0)]) == []


def test_a_broken_connection_begins_the_watch_anew(world: InPostgres) -> None:
    """Whoever was cut off with the others, by a restart or a step of a clock, accuses nobody."""
    number, watch = neighbour(world), Watch()

    for _ in range(4):
        for _ in range(BEATS - 1):
            assert looks(watch, world.own, [(number, 0)]) == []
        watch.broken()


def test_times_of_the_database_give_nobody_up(world: InPostgres) -> None:
    number, watch = neighbour(world), Watch()
    ask(world, "update noetl.worker set seen_at = seen_at - interval '1 year'")

    for beat in range(BEATS * 2):
        assert looks(watch, world.own, [(number, beat)]) == []


@pytest.fixture
def life(world: InPostgres, tmp_path: Path) -> Iterator[Life]:
    made = begin_life(world.own, tmp_path / "lives", ("",), None)
    yield made
    made.path.unlink(missing_ok=True)


def test_a_free_lock_on_this_machine_means_dead_at_once(world: InPostgres, life: Life) -> None:
    watch = Watch()
    assert looks(watch, world.own, [(life.id, 0)]) == []

    end_life(None, life)

    assert looks(watch, world.own, [(life.id, 1)]) == [(life.id, None)]


def test_a_held_lock_or_one_of_another_boot_or_machine_says_nothing(
    world: InPostgres, tmp_path: Path
) -> None:
    path = tmp_path / "free.life"
    path.touch()
    far = neighbour(world, host="elsewhere", boot=boot_mark(), life=str(path))
    before = neighbour(world, host=host_name(), boot="another boot", life=str(path))
    here = neighbour(world, host=host_name(), boot=boot_mark(), life=str(path))
    held = os.open(path, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    assert looks(Watch(), world.own, [(far, 0), (before, 0), (here, 0)]) == []
    os.close(held)

    gone = looks(Watch(), world.own, [(far, 0), (before, 0), (here, 0)])
    assert gone == ([(here, None)] if boot_mark() else [])


def test_two_lives_never_have_the_same_number_nor_neighbouring_epochs(
    world: InPostgres, tmp_path: Path
) -> None:
    """A restored backup may give out a number again; then the epoch tells the two apart."""
    lives = [begin_life(world.own, tmp_path, ("",), None) for _ in range(3)]
    for one in lives[:2]:
        end_life(world.own, one)
    ask(world, "alter sequence noetl.worker_id restart with 1")
    again = begin_life(world.own, tmp_path, ("",), None)
    lives.append(again)

    epochs = [one.epoch for one in lives]

    assert again.id == lives[0].id
    assert len(set(epochs)) == 4
    assert all(abs(a - b) > 1_000_000 for a in epochs for b in epochs if a is not b)
    for one in lives[2:]:
        end_life(world.own, one)


class Heard:
    """A line whose last answered beat is as old as a test says."""

    def __init__(self) -> None:
        self.line = Line(lambda: pytest.fail("nothing is sent"), 1, 1)

    def ago(self, seconds: float) -> Around:
        self.line.acknowledged = time.clock_gettime(CLOCK) - seconds
        engine: Any = SimpleNamespace(line=self.line)
        return Around(engine, Rules(lease_seconds=100.0), cast(Any, None), *cast(Any, (None, None)))


def test_a_write_goes_out_while_sixty_parts_in_a_hundred_of_the_lease_are_left_unused() -> None:
    heard = Heard()

    heard.ago(59.0).may_send()
    with pytest.raises(HandedBack, match="nothing was sent"):
        heard.ago(60.0).may_send()


def test_a_beat_is_as_old_as_its_question_and_not_as_its_answer(world: InPostgres) -> None:
    """What was answered late was seen early: the others count from when it was sent."""
    queue, blocking = worker(world), world.connect()
    line = Line(world.connect, queue.worker, queue.epoch)
    line.start()
    is_there = threading.Event()

    with uncommitted(blocking):
        blocking.execute("select from noetl.worker where id = %s for update", (queue.worker,))
        line.send(Flush(), Wish((), (), beat=True), lambda said, _: is_there.set())
        while ask(world, "select 1 from pg_locks where not granted") == []:
            assert not is_there.is_set()
        released = time.clock_gettime(CLOCK)
    assert is_there.wait(20)
    line.stop()

    assert line.flushes == 1
    assert line.acknowledged < released


def test_the_age_of_a_beat_counts_time_that_the_machine_slept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system's own clock is asked for the one that runs on through suspend."""
    asked: list[int] = []
    real = time.clock_gettime

    def noted(clock: int) -> float:
        asked.append(clock)
        return real(clock)

    monkeypatch.setattr(time, "clock_gettime", noted)

    Heard().line.silent_for()

    assert set(asked) == {CLOCK}


def test_a_worker_whose_loop_hangs_does_not_beat(shop: Shop) -> None:
    """Its flush thread lives, but nobody would settle what it holds."""
    beat = "select beat from noetl.worker"

    def beats() -> int:
        row = watching.execute(beat.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def hang() -> tuple[int, int]:
        """Keep the loop from everything else for two leases."""
        sessions = (
            "select count(*) from pg_stat_activity where application_name = 'flush'"
            " and state = 'active' and datname = current_database()"
        )
        end = time.monotonic() + 20.0
        while watching.execute(sessions.encode()).fetchone() != (0,):
            assert time.monotonic() < end
        before, end = beats(), time.monotonic() + 2 * 0.4
        while time.monotonic() < end:
            pass
        return before, beats()

    async def work() -> tuple[tuple[int, int], int]:
        async with shop.worker():
            await shop.until(lambda: beats() > 2)
            hung = hang()
            await shop.until(lambda: beats() > hung[1])
            return hung, beats()

    shop.lease = 0.4
    watching = shop.connect("watching")
    (before, during), after = asyncio.run(work())
    watching.close()

    assert before == during < after
