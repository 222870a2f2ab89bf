"""Items that run are stopped when too many of the others have failed."""

import asyncio
from collections import Counter

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.retry import retry
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.worker.calling_off import ITEMS
from noetl_mcp.worker.hints import HALT
from noetl_mcp.worker.lives import Lives
from noetl_mcp.worker.worker import Equipment
from tests.broker.conftest import desk  # noqa: F401  # a fixture
from tests.broker.desks import ANN, work_off
from tests.worker.shop import Shop

ITEM = "{type: %s, data: {x: '{{ x }}'}}"


def book(task: str, items: int = 4, width: int = 4) -> str:
    return (
        f"workflow:\n  - {{step: start, type: iterator, collection: {list(range(items))},"
        f" element: x, mode: async, concurrency: {width}, task: {task}}}\n"
    )


class Items:
    """Items that wait until they are let go; the first one fails once the others have begun."""

    def __init__(self, others: int) -> None:
        self.begun = Counter[int]()
        self.others = others
        self.release = asyncio.Event()
        self.fails = True

    async def __call__(self, call: Call) -> Json:
        assert isinstance(call.input, dict)
        x = int(str(call.input["x"]))
        self.begun[x] += 1
        if not self.fails:
            return {"x": x}
        while x == 0 and sum(self.begun.values()) <= self.others:
            await asyncio.sleep(0.005)
        if x == 0:
            raise Failed("unlucky", "no", retriable=False)
        await self.release.wait()
        return {"x": x}


def states(shop: Shop, number: int) -> Counter[str]:
    steps = shop.done(number).steps
    return Counter(state for name, state in steps.items() if "[" in name)


def test_what_reads_is_stopped_and_the_step_is_over_at_once(shop: Shop) -> None:
    shop.echo.answer = Items(others=3)

    done = shop.run(book(ITEM % "echo"))

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["message"].startswith("1 of 4 items failed, 0 done, 3 not done; ")
    assert states(shop, done.id) == {"failed": 1, "cancelled": 3}
    assert shop.kinds(done.id).count("step_cancelled") == 3


def test_an_item_of_several_steps_is_over_with_the_one_that_was_stopped(shop: Shop) -> None:
    shop.echo.answer = Items(others=3)
    second = "{type: change, confirm: true, data: {x: 7}}"

    done = shop.run(book(f"[{ITEM % 'echo'}, {second}]"))

    assert done.status == "failed"
    assert states(shop, done.id) == {"failed": 1, "cancelled": 3}
    assert shop.change.calls == []


def test_what_writes_comes_to_its_end(shop: Shop) -> None:
    items = Items(others=1)
    shop.echo.answer = shop.change.answer = items
    text = book("{type: change, confirm: true, data: {x: '{{ x }}'}}", 2, 2)
    number = shop.start(text)

    async def do() -> None:
        async with shop.worker():
            await shop.until(lambda: states(shop, number)["failed"] == 1)
            assert shop.status(number) == Status.RUNNING
            items.release.set()
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert states(shop, number) == {"failed": 1, "done": 1}


def test_what_was_handed_out_and_has_not_begun_does_not_begin(shop: Shop) -> None:
    items = Items(others=0)
    shop.echo.answer = items
    number = shop.start(book(ITEM % "echo", 6, 6))

    async def do() -> None:
        async with shop.worker(waiting=2):
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert states(shop, number)["cancelled"] == 5
    assert len(items.begun) < 6


def test_a_retry_does_what_was_called_off_again(
    shop: Shop,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    items = Items(others=3)
    shop.echo.answer = items
    number = shop.start(book(ITEM % "echo"))
    assert work_off(shop, number) == "failed"

    items.fails = False
    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert states(shop, number) == {"done": 4}


class Stubborn:
    """Waits to be stopped, and does not stop before it may."""

    def __init__(self) -> None:
        self.may_stop = asyncio.Event()
        self.is_patient = True

    async def __call__(self, call: Call) -> Json:
        try:
            while self.is_patient:
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            await self.may_stop.wait()
            raise
        return None


def test_a_worker_that_saw_a_round_cancelled_stops_nothing_of_the_next_one_for_ever(
    shop: Shop,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    """Another one closed it, so nobody told this one that the halt was over."""
    stubborn = Stubborn()
    shop.echo.answer = stubborn
    number = shop.start("workflow:\n  - {step: start, type: echo}\n")

    async def do() -> None:
        async with shop.worker(waiting=0) as idle:
            idle.engine.ticked = lambda flushed, flush: None
            async with shop.worker():
                await shop.until(lambda: len(shop.echo.calls) == 1)
                cancel(desk, number, by=ANN)
                await idle.tending._close()
                stubborn.may_stop.set()
                await shop.until(lambda: shop.status(number) == Status.CANCELLED)
            retry(desk, number, by=ANN)
            idle.engine.outbox.slots.waiting = 4
            idle.engine.wake()
            await shop.until(lambda: len(shop.echo.calls) == 2)

    asyncio.run(do())

    assert shop.state(number, "start") == "ready"
    stubborn.is_patient = False
    assert work_off(shop, number) == "completed"


def test_a_word_about_a_window_that_is_open_does_no_harm(shop: Shop) -> None:
    shop.echo.answer = Items(others=9)  # none ever fails by itself
    number = shop.start(book(ITEM % "echo", 3, 3))

    async def do() -> None:
        async with shop.worker() as worker:
            await shop.until(lambda: len(shop.echo.calls) == 3)
            for word in (word_about(shop, number), f"{ITEMS}x:1", f"{ITEMS}99:1:0", ITEMS):
                worker.tending.calling_off.hear(word)
            await worker.tending.calling_off.look()
            assert [held.task.cancelling() for held in worker.engine.held.values()] == [0, 0, 0]

    asyncio.run(do())


def test_items_of_another_worker_are_stopped_by_a_word(shop: Shop) -> None:
    """The other one holds them all; whoever sees the window closed says so."""
    shop.echo.answer = Items(others=9)
    number = shop.start(book(ITEM % "echo", 3, 3))
    lives = Lives(_equipment(shop))

    async def do() -> None:
        task = asyncio.create_task(lives.live())
        await shop.until(lambda: len(shop.echo.calls) == 3)
        shop.records.connection.execute("update noetl.fan set closed = true, failed = 1")
        lives.hear(HALT, word_about(shop, number))
        await shop.until(lambda: shop.status(number) != Status.RUNNING)
        lives.leave()
        await task

    asyncio.run(do())

    assert states(shop, number) == {"cancelled": 3}


def test_whoever_sees_it_tells_the_others(shop: Shop) -> None:
    shop.echo.answer = Items(others=3)
    with shop.connect("ear") as ear:
        ear.execute(f"listen {HALT}".encode())

        done = shop.run(book(ITEM % "echo"))

        told = {one.payload for one in ear.notifies(timeout=0)}
    assert word_about(shop, done.id) in told


def word_about(shop: Shop, number: int) -> str:
    """Return what is said when the window of an execution's iterator is closed."""
    row = shop.records.connection.execute(
        "select idx from noetl.fan where execution_id = %s", (number,)
    ).fetchone()
    assert row is not None
    return f"{ITEMS}{number}:{row[0]}:0"


def _equipment(shop: Shop) -> Equipment:
    return Equipment(shop.connect, shop.specs, shop.bench().task, shop.lives, world=shop.secrets)


@pytest.mark.parametrize("tolerate", ["1", '"50%"'])
def test_a_failure_that_is_tolerated_stops_nobody(shop: Shop, tolerate: str) -> None:
    items = Items(others=1)
    items.release.set()
    shop.echo.answer = items
    text = book(ITEM % "echo", 2, 2).replace("element:", f"tolerate: {tolerate}, element:")

    done = shop.run(text)

    assert done.status == "completed"
    assert states(shop, done.id) == {"failed": 1, "done": 1}
