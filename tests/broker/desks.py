"""Ways to bring an execution where a test wants it, and to read what was told of it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from noetl_mcp.broker.desk import By
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Status
from tests.worker.shop import Shop

ANN = By("ann", "tests")


def work(shop: Shop, holds: Callable[[], bool], seconds: float = 20.0, **terms: Any) -> None:
    """Let one worker work until something holds."""

    async def do() -> None:
        async with shop.worker(**terms):
            await shop.until(holds, seconds)

    asyncio.run(do())


def work_off(shop: Shop, number: int) -> str:
    """Let one worker work until an execution is over; return how it ended."""
    work(shop, lambda: shop.status(number) != Status.RUNNING)
    return shop.done(number).status


def events(shop: Shop, number: int, kind: str) -> list[Mapping[str, Any]]:
    """Return what the events of a kind tell."""
    rows = shop.records.connection.execute(
        "select v.data from noetl.event v join noetl.event_kind k using (kind)"
        " where v.execution_id = %s and k.name = %s order by v.id",
        (number, kind),
    ).fetchall()
    return [decode(row[0]) if row[0] else {} for row in rows]
