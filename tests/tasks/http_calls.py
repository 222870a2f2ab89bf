"""Call the http task in a test, against a real server."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, HandedBack
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.specs_web import SAFE_METHODS, HttpSettings
from tests.wire.servers import Server, Talk, serving


@dataclass
class Around:
    """What surrounds a call: whether it may send, and how often it asked."""

    lease_is_gone: bool = False
    asked: int = 0
    lines: list[str] = field(default_factory=list)

    def may_send(self) -> None:
        self.asked += 1
        if self.lease_is_gone:
            raise HandedBack

    async def remember(self, note: Json) -> None:
        raise AssertionError("an http call has nothing to remember")

    def log(self, text: str, *, stream: str = "stdout") -> None:
        self.lines.append(text)


def call(url: str = "http://127.0.0.1/", given: Any = None, **settings: Any) -> Call:
    """Make a call; keys of the call itself begin with an underscore."""
    own = {key.strip("_"): settings.pop(key) for key in list(settings) if key[0] == "_"}
    made = HttpSettings.model_validate({"url": url, **settings})
    own.setdefault("writes", made.method not in SAFE_METHODS)
    own.setdefault("key", "key-1")
    return Call("http", made, given, **{"around": Around(), **own})


def do(talk: Talk, path: str = "/", given: Any = None, **settings: Any) -> tuple[Any, Server]:
    """Send one call to a server; return its result and what the server saw."""
    return asyncio.run(_do(talk, path, given, settings))


async def _do(talk: Talk, path: str, given: Any, settings: Mapping[str, Any]) -> tuple[Any, Server]:
    task = Http()
    async with serving(talk) as server:
        try:
            result = await task.execute(call(server.url + path, given, **settings))
        finally:
            await task.close()
    return result, server
