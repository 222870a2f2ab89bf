"""One worker process: told what to do, and when to leave, by the supervisor that started it.

Begins nothing that it was not told, and goes when its parent is gone.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from noetl_mcp.worker.placed import Parent, calm_collector, listen, loop_factory, orders, say
from noetl_mcp.worker.pulse import beat
from noetl_mcp.worker.supervisor import HOPELESS

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.worker.lives import Lives

DRAIN_LOOK = 0.3


def main() -> None:
    """Work as the parent says."""
    given = orders()
    if given is None:
        return
    told, parent = given
    from noetl_mcp.assembly import Home
    from noetl_mcp.settings import Settings, WrongSetting
    from noetl_mcp.worker.pool import NoBroker

    try:
        home = Home(Settings.load(os.environ), told["dsn"], embedded=told["embedded"])
        calm_collector()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_work(home, told, parent))
    except (WrongSetting, NoBroker) as problem:
        say(str(problem))
        sys.exit(HOPELESS)


async def _work(home: "Home", told: Mapping[str, Any], parent: Parent) -> None:
    from noetl_mcp.crew import working
    from noetl_mcp.worker.pool import Carrier

    loop, left = asyncio.get_running_loop(), asyncio.Event()
    pulse = asyncio.create_task(beat(told["pulse"]))
    pools = tuple(told["pools"])
    async with working(
        home,
        name=told["name"],
        pools=pools,
        computing=told["computing"],
        told=say,
        hears=False,
    ) as lives:
        carrier = Carrier(
            home.settings.broker, pools or ("",), lives.hear, lambda: home.connect("hints")
        )
        lives.awaken = carrier.awaken
        carrier.start()
        loop.add_signal_handler(signal.SIGTERM, left.set)
        listen(parent, left.set, lives.hurry)
        drain = asyncio.create_task(_drain(home, lives, told["queues"], left))
        try:
            await left.wait()
        finally:
            drain.cancel()
            lives.leave()
            await asyncio.to_thread(carrier.stop)
    pulse.cancel()


async def _drain(home: "Home", lives: "Lives", queues: list[str], left: asyncio.Event) -> None:
    """Leave when there is nothing more to do, seen twice."""
    if not queues:
        return
    from noetl_mcp.database import Connection, Error, NotReachable, TupleRow
    from noetl_mcp.worker.drain import is_drained

    connection: Connection[TupleRow] | None = None
    seen = 0
    try:
        while seen < 2:
            await asyncio.sleep(DRAIN_LOOK)
            try:
                if connection is None:
                    connection = await asyncio.to_thread(home.connect, "drain")
                drained = await asyncio.to_thread(is_drained, connection, queues)
            except (Error, NotReachable):
                connection, drained = None, False
            seen = seen + 1 if drained and lives.number is not None and not lives.held else 0
    finally:
        if connection is not None:
            connection.close()
    left.set()


__all__ = ["main"]
