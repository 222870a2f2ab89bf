"""The process of the web face: told what to serve, and when to leave, by its supervisor."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping
from typing import Any

from noetl_mcp.assembly import Home
from noetl_mcp.settings import Settings, WrongSetting
from noetl_mcp.web.app import application
from noetl_mcp.web.guard import policy_for
from noetl_mcp.web.serving import serve
from noetl_mcp.worker.placed import Parent, listen, loop_factory, orders, say
from noetl_mcp.worker.pulse import beat
from noetl_mcp.worker.supervisor import HOPELESS


def main() -> None:
    """Serve as the parent says."""
    given = orders()
    if given is None:
        return
    told, parent = given
    try:
        home = Home(Settings.load(os.environ), told["dsn"], embedded=told["embedded"])
    except WrongSetting as problem:
        say(str(problem))
        raise SystemExit(HOPELESS) from None
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(home, told, parent))


async def _serve(home: Home, told: Mapping[str, Any], parent: Parent) -> None:
    left = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, left.set)
    listen(parent, left.set, lambda: os._exit(0))
    policy = policy_for(told["host"], tuple(told["allowed"]), tokens=told["tokens"])
    pulse = asyncio.create_task(beat(told["pulse"]))
    try:
        await serve(application(home, policy), socket.socket(fileno=told["socket"]), left)
    finally:
        pulse.cancel()


__all__ = ["main"]
