"""A worker whose process is gone can send nothing any more; one that is only silent can."""

import json
import time
from collections.abc import Callable

import pytest

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.queue.lease import Status
from noetl_mcp.worker.housekeeping import Housekeeping
from tests.faults.crew import Crew, Hand
from tests.faults.hand import Orders
from tests.faults.judge import Judge, Place
from tests.faults.plans import post
from tests.worker.shop import Shop

ANN = By("ann", "tests")


def writing(judge: Judge) -> str:
    step = {**post(judge.url, "a", {"wait": 2_000}), "timeout": 60, "next": ["b"]}
    last = {"step": "b", "type": "set", "values": {"v": 1}}
    return f"workflow:\n- {{step: start, next: [a]}}\n- {json.dumps(step)}\n- {json.dumps(last)}\n"


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def crew(shop: Shop, count: int, lease: float = 15.0) -> Crew:
    return Crew(lambda _: Orders(shop.dsn, str(shop.lives), lease), count)


def holder(shop: Shop, workers: Crew, number: int) -> Hand:
    """Return the process that does the write."""
    row = shop.records.connection.execute(
        "select w.pid from noetl.step s join noetl.worker w on w.id = s.owner"
        " where s.execution_id = %s and s.state = 2",
        (number,),
    ).fetchone()
    assert row is not None
    return next(one for one in workers.hands if one.process.pid == row[0])


def ended(shop: Shop) -> int:
    rows = shop.records.connection.execute("select count(*) from noetl.ended_life").fetchall()
    return int(rows[0][0])


def test_a_write_of_a_killed_worker_may_be_done_again_at_once(shop: Shop) -> None:
    with Judge() as judge, crew(shop, 2) as workers:
        number = shop.start(writing(judge))
        place = Place(number, "a")
        until(lambda: judge.done(place))

        workers.kill(holder(shop, workers, number))
        until(lambda: shop.state(number, "a") == "in_doubt")
        resolve(Desk(shop.records.connection), number, "a", "retry", by=ANN)
        until(lambda: shop.status(number) != Status.RUNNING)

        assert judge.arrived[place] == 2
    assert shop.done(number).status == "completed"
    assert ended(shop) == 1


def test_a_write_of_a_silent_worker_may_still_arrive(shop: Shop) -> None:
    with Judge() as judge, crew(shop, 2, lease=1.0) as workers:
        number = shop.start(writing(judge))
        until(lambda: judge.done(Place(number, "a")))

        workers.pause(holder(shop, workers, number), 1.0)
        until(lambda: shop.state(number, "a") == "in_doubt")

        with pytest.raises(NotAllowed, match="may still arrive"):
            resolve(Desk(shop.records.connection), number, "a", "retry", by=ANN)
        assert ended(shop) == 0
        workers.rouse(everybody=True)


def test_old_ends_are_forgotten(shop: Shop) -> None:
    connection = shop.records.connection
    connection.execute(
        "insert into noetl.ended_life (worker, at)"
        " values (1, now() - interval '8 days'), (2, now() - interval '6 days')"
    )

    Housekeeping().do(connection)

    assert connection.execute("select worker from noetl.ended_life").fetchall() == [(2,)]
