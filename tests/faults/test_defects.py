"""What nobody thought of: a worker that broke lets its steps go, and another life goes on."""

import asyncio

import pytest

from noetl_mcp.queue.lease import Lease, Status
from noetl_mcp.worker.engine import Broken, Engine, Terms
from noetl_mcp.worker.line import Line
from tests.faults.test_held import worker, world  # noqa: F401  # a fixture
from tests.queue.world import InPostgres
from tests.worker.shop import Shop
from tests.worker.test_lives import living


def test_a_loop_that_cannot_begin_its_steps_ends_and_holds_none(
    world: InPostgres,  # noqa: F811
) -> None:
    """Else it would be neither gone nor at work, and nobody would take its steps."""
    world.start((0, world.lane()))
    queue = worker(world)

    def begin(leases: list[Lease]) -> None:
        raise ZeroDivisionError

    async def work() -> None:
        line = Line(world.connect, queue.worker, queue.epoch)
        line.start()
        try:
            async with asyncio.timeout(20):
                await Engine(line, Terms(), begin).run()
        finally:
            line.stop()

    with pytest.raises(Broken, match="ZeroDivisionError"):
        asyncio.run(work())


def test_what_breaks_every_worker_is_buried_and_the_others_go_on(shop: Shop) -> None:
    """Its row was damaged, so that no worker can read with what it was started."""
    text = "workflow:\n  - {step: start, type: echo, data: {v: 1}}\n"
    numbers = [shop.start(text) for _ in range(4)]
    damaged = numbers[1]
    shop.records.connection.execute(
        "update noetl.execution set payload = '{' where id = %s", (damaged,)
    )

    async def work() -> int:
        async with living(shop) as lives:
            await shop.until(lambda: all(shop.status(one) != Status.RUNNING for one in numbers))
            return lives.begun

    assert asyncio.run(work()) > 3  # one life for each that broke
    ends = {shop.done(one).status for one in numbers if one != damaged}
    assert ends == {"completed"}
    error = shop.done(damaged).error
    assert error is not None
    assert error["code"] == "poison"
