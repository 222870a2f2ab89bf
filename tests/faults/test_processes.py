"""Worker processes that are killed, paused for too long, or killed by what they do."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.engine import GivenUp
from noetl_mcp.worker.equipment import Equipment
from noetl_mcp.worker.life import give_up
from noetl_mcp.worker.worker import Worker
from tests.faults.crew import Crew
from tests.faults.hand import Orders
from tests.faults.judge import Judge, Place
from tests.faults.plans import post
from tests.worker.shop import Shop

ANN = By("ann", "tests")


def writing(judge: Judge, wait: int) -> str:
    """Return a playbook whose write takes a while to be answered."""
    step = {**post(judge.url, "a", {"wait": wait}), "timeout": 20, "next": ["b"]}
    last = {"step": "b", "type": "set", "values": {"v": 1}}
    return f"workflow:\n- {{step: start, next: [a]}}\n- {json.dumps(step)}\n- {json.dumps(last)}\n"


def crew(shop: Shop, count: int, lease: float = 15.0) -> Crew:
    return Crew(lambda _: Orders(shop.dsn, str(shop.lives), lease), count)


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def state(shop: Shop, number: int, name: str = "a") -> str:
    return shop.state(number, name)


def test_a_write_whose_worker_was_killed_is_in_doubt_and_not_sent_again(shop: Shop) -> None:
    with Judge() as judge, crew(shop, 1) as workers:
        number = shop.start(writing(judge, wait=5_000))
        place = Place(number, "a")
        until(lambda: judge.done(place))

        workers.kill(workers.hands[0])
        workers.fill()
        until(lambda: state(shop, number) == "in_doubt")
        resolve(Desk(shop.records.connection), number, "a", "accept", by=ANN, value={"v": 1})
        until(lambda: shop.status(number) != Status.RUNNING)

        assert judge.arrived[place] == 1
    assert shop.done(number).status == "completed"


def test_a_worker_that_wakes_too_late_says_what_came_of_its_write(shop: Shop) -> None:
    with Judge() as judge, crew(shop, 2, lease=1.0) as workers:
        number = shop.start(writing(judge, wait=300))
        place = Place(number, "a")
        until(lambda: judge.done(place))
        row = shop.records.connection.execute(
            "select w.pid from noetl.step s join noetl.worker w on w.id = s.owner"
            " where s.execution_id = %s and s.state = 2",
            (number,),
        ).fetchone()
        assert row is not None
        (hand,) = (one for one in workers.hands if one.process.pid == row[0])

        workers.pause(hand, 1.0)
        until(lambda: state(shop, number) == "in_doubt")
        workers.rouse(everybody=True)
        until(lambda: shop.status(number) != Status.RUNNING)

        assert judge.arrived[place] == 1
    assert shop.done(number).status == "completed"
    assert "step_resolved" in shop.kinds(number, "a")


def test_a_worker_that_was_given_up_sends_nothing_and_says_so(shop: Shop) -> None:
    text = "workflow:\n  - {step: start, type: change, confirm: true}\n"
    goes_on, effects = asyncio.Event(), 0

    async def hesitating(call: Call) -> Json:
        nonlocal effects
        await goes_on.wait()
        call.around.may_send()
        effects += 1
        return {}

    shop.change.answer = hesitating
    number = shop.start(text)

    async def work() -> None:
        late = Worker(Equipment(shop.connect, shop.specs, shop.bench().task, shop.lives))
        life = asyncio.create_task(late.run())
        await shop.until(lambda: bool(shop.change.calls))
        give_up(shop.records.connection, late.engine.line.worker, None)
        late.engine.beat()
        await shop.until(lambda: late.engine.line.silent_for() > 1e9)
        assert shop.state(number, "start") == "in_doubt"
        goes_on.set()
        with pytest.raises(GivenUp):
            await life
        assert shop.state(number, "start") == "ready"
        async with shop.worker():
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())

    assert effects == 1
    assert shop.done(number).status == "completed"


def test_a_step_that_kills_its_workers_is_buried_and_takes_nobody_along(shop: Shop) -> None:
    poison = "workflow:\n  - {step: start, type: echo, data: {kills: true, sleep: 0.05}}\n"
    with crew(shop, 1) as workers:
        workers.spares = 3
        workers.fill()
        innocent = [
            shop.start("workflow:\n  - {step: start, type: echo, data: {sleep: 0.5}}\n")
            for _ in range(5)
        ]
        number = shop.start(poison)

        def ended() -> bool:
            workers.fill()
            return all(shop.status(one) != Status.RUNNING for one in (*innocent, number))

        until(ended, 40)

    assert {shop.done(one).status for one in innocent} == {"completed"}
    done = shop.done(number)
    assert (done.status, done.steps["start"]) == ("failed", State.DEAD.name.lower())
    assert done.error is not None
    assert done.error["code"] == "poison"


def test_what_a_life_leaves_behind_is_taken_away(shop: Shop) -> None:
    with crew(shop, 1) as workers:
        until(lambda: list(Path(shop.lives).glob("*.life")))
        workers.kill(workers.hands[0])
        workers.fill()
        count = "select count(*) from noetl.worker where gone_at is null"

        def is_alone() -> bool:
            row = shop.records.connection.execute(count.encode()).fetchone()
            return row == (1,) and len(list(shop.lives.glob("*.life"))) == 1

        until(is_alone)
        assert workers.leave()

    assert list(shop.lives.glob("*.life")) == []
