"""The web face on a free port, as clients see it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from noetl_mcp.assembly import Home
from noetl_mcp.catalog.access import Tokens
from noetl_mcp.crew import working
from noetl_mcp.database import connect
from noetl_mcp.settings import Settings
from noetl_mcp.web.app import application
from noetl_mcp.web.guard import Policy
from noetl_mcp.web.patience import Bounds
from noetl_mcp.web.serving import DRAIN_SECONDS, serve
from noetl_mcp.wire.addresses import bound

HEAD = "apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: {name: t, path: tests/t}\n"
HELLO = (
    HEAD + "workload: {n: 1}\nworkflow:\n  - {step: start, next: [a]}\n"
    "  - {step: a, type: wait, wait: {for: '0.01s'}, next: [end]}\n"
    "  - {step: end, type: end, result: '{{ workload.n }}'}\n"
)
ASKING = (
    HEAD + "workflow:\n  - {step: start, next: [ask]}\n"
    "  - {step: ask, type: approve, approve: {message: may I}, next: [end]}\n  - {step: end}\n"
)
CALLING = (
    HEAD + "workflow:\n  - {step: start, next: [call]}\n"
    "  - {step: call, type: callback, message: tell me, next: [end]}\n"
    "  - {step: end, type: end, result: '{{ call }}'}\n"
)
FAILING = (
    HEAD + "workflow:\n  - {step: start, next: [bad]}\n"
    "  - {step: bad, type: wait, wait: {event: never, timeout: '0.01s'}, next: [end]}\n"
    "  - {step: end}\n"
)
READING = ("validate", "compile", "explain", "graph", "migrate")
"""What is asked about a playbook that is only read."""


def chain(length: int) -> str:
    """Return a playbook of so many steps, one behind the other."""
    steps = "".join(
        f"  - {{step: s{n}, type: http, url: 'http://x/{n}', next: [s{n + 1}]}}\n"
        for n in range(length)
    )
    ends = f"  - {{step: s{length}, next: [end]}}\n  - {{step: end}}\n"
    return f"{HEAD}workflow:\n  - {{step: start, next: [s0]}}\n{steps}{ends}"


@dataclass
class Site:
    """A server, a client that talks to it, and the installation behind both."""

    home: Home
    url: str
    client: httpx.Client

    def get(self, path: str, **more: Any) -> Any:
        """Return what is there; it must be there."""
        answer = self.client.get(path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        """Send something and return the answer, which must have a status."""
        answer = self.client.post(path, json=body, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    def start(self, content: str, **more: Any) -> str:
        """Start a playbook and return its execution."""
        body = {"content": content, **more}
        return str(self.post("/api/executions", body, 201)["execution_id"])

    def work(self) -> None:
        """Do what can be done, until nothing is left that goes on by itself."""
        from noetl_mcp.worker.drain import is_drained

        async def go() -> None:
            async with working(self.home, name=None, hears=False) as lives:
                with connect(self.home.dsn, application_name="drain") as connection:
                    async with asyncio.timeout(20):
                        while not (
                            lives.number is not None
                            and not lives.held
                            and is_drained(connection, ("", "~"))
                        ):
                            await asyncio.sleep(0.02)

        asyncio.run(go())

    def token(self, name: str, role: str) -> str:
        """Return a new token."""
        with connect(self.home.dsn, application_name="tokens") as connection:
            return Tokens(connection).create(name, role)


@contextmanager
def serving(
    dsn: str,
    folder: Path,
    policy: Policy | None = None,
    bounds: Bounds | None = None,
    drain: int = DRAIN_SECONDS,
) -> Iterator[Site]:
    """Yield a server on a free port, which ends what is under way after so many seconds."""
    home = Home(Settings.load({"NOETL_HOME": str(folder), "NOETL_DSN": dsn}), dsn, embedded=False)
    listening = bound("127.0.0.1", 0)
    port = listening.getsockname()[1]
    loop, left = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve(application(home, policy), listening, left, bounds, drain))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=20) as client:
            yield Site(home, url, client)
    finally:
        loop.call_soon_threadsafe(left.set)
        thread.join(20)
