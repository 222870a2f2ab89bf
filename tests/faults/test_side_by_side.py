"""One worker that reads for two steps of an execution at once: each begins with all it reads."""

import asyncio

from noetl_mcp.queue.lease import Lease, State
from noetl_mcp.worker.worker import Worker
from tests.worker.shop import Shop

BOOK = """
workflow:
  - {step: start, next: [each, other]}
  - {step: each, type: iterator, collection: [7, 8], element: x, mode: async,
     task: {type: echo, data: {x: "{{ x }}", sleep: 30}}}
  - {step: other, type: echo, data: {sleep: 30}}
"""


def leases(shop: Shop, number: int) -> list[Lease]:
    """Return what another worker would be given: an item of the iterator, and the other step."""
    rows = shop.records.connection.execute(
        "select s.execution_id, s.idx, s.item, s.lease + 1, 1, 0, 1, s.state, s.lane, e.plan_id,"
        " e.payload, true from noetl.step s join noetl.execution e on e.id = s.execution_id"
        " where s.execution_id = %s and s.state = %s and s.item <= 1 order by s.item desc",
        (number, State.READY),
    ).fetchall()
    return [Lease(*row) for row in rows]


def test_what_is_read_for_one_step_is_not_lost_by_reading_for_another(shop: Shop) -> None:
    """Each reads the execution anew, for it is one of those of which more must be known."""
    number = shop.start(BOOK, key="once")

    async def stopped() -> None:
        async with shop.worker():
            await shop.until(lambda: len(shop.echo.calls) == 3)

    async def read() -> None:
        async with shop.worker(pools=("elsewhere",)) as other:
            assert isinstance(other, Worker)
            item, step = leases(shop, number)
            both = await asyncio.gather(
                other.ask(other._read, [item]), other.ask(other._read, [step])
            )
            run = both[0][number]
            node = run.program.nodes[item.idx]
            assert [run.collections[key][0] for key in run.outer(node, item.item)] == [[7, 8]]

    asyncio.run(stopped())
    asyncio.run(read())
