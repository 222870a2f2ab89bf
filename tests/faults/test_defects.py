"""What nobody thought of: a worker that broke lets its steps go, and another life goes on."""

import asyncio

import pytest

from noetl_mcp.queue.lease import Lease, State, Status
from noetl_mcp.tasks.calls import Call, Failed, Task
from noetl_mcp.worker.engine import Engine, Terms
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
        async with asyncio.timeout(20):
            await Engine(line, Terms(), begin).run()
        line.stop()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())


class Odd(Failed):
    """A failure that cannot even be told."""

    @property
    def message(self) -> str:
        raise ZeroDivisionError

    @message.setter
    def message(self, text: str) -> None:
        """Is never told."""


def test_a_step_that_cannot_be_settled_is_buried_and_the_others_go_on(shop: Shop) -> None:
    async def breaking(call: Call) -> Task:
        raise Odd("odd", "nobody can read it")

    shop.change.answer = breaking  # type: ignore[assignment]
    text = "workflow:\n  - {step: start, type: TYPE, confirm: true}\n"
    broken = shop.start(text.replace("TYPE", "change"))
    other = shop.start(text.replace("TYPE, confirm: true", "echo, data: {v: 1}"))

    async def work() -> None:
        async with living(shop):
            await shop.until(lambda: shop.status(other) != Status.RUNNING)
            await shop.until(lambda: shop.state(broken, "start") != "leased")

    asyncio.run(work())

    assert shop.done(other).status == "completed"
    assert shop.state(broken, "start") == State.IN_DOUBT.name.lower()
