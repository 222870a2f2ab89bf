"""A headless server on a free port, with a model of a few methods behind it."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from noetl_mcp.web.guard import Policy
from noetl_mcp.web.headless.app import application
from noetl_mcp.web.headless.jobs import Bounds, Jobs
from noetl_mcp.web.headless.model_thread import ModelThread, now
from noetl_mcp.web.headless.shown import Server
from noetl_mcp.web.serving import serve
from noetl_mcp.wire.addresses import bound
from tests.cli.test_run import until


@dataclass
class Model:
    """Answers a few methods; `hold` takes as long as the gate is shut."""

    gate: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.threads.add(threading.get_ident())
        self.asked.append((method, dict(params)))
        if method == "hold":
            self.begun.set()
            assert self.gate.wait(20)
        if method == "break":
            raise StopIteration("no more walls")
        if method == "odd":
            return {"ok": True, "walls": {1, 2}}
        if method == "long":
            return {"ok": True, "text": "x" * int(params["bytes"])}
        if method not in ("hold", "echo", "long"):
            return {"ok": False, "code": "UNKNOWN_COMMAND", "msg": f"no '{method}'"}
        return {"ok": True, "code": "OK", "params": dict(params)}

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


@dataclass
class Headless:
    """A server, a client that talks to it, and the model behind both."""

    model: Model
    url: str
    client: httpx.Client
    jobs: Jobs
    stop: Callable[[], None]

    def rpc(self, method: str, id_: Any = 1, **params: Any) -> Any:
        """Call a method; it must be answered."""
        body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        answer = self.client.post("/rpc", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def enqueue(self, method: str, more: Mapping[str, Any] | None = None, **params: Any) -> str:
        """Return the job of a call that waits."""
        body = {"method": method, "params": params, **(more or {})}
        answer = self.client.post("/enqueue", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["jobId"])

    def over(self, job: str) -> Any:
        """Return the row of a job once it is over."""
        return until(lambda: (row := self.row(job))["finish_ts"] and row)

    def row(self, job: str) -> Any:
        answer = self.client.get(f"/job/{job}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def held(self) -> str:
        """Let the model be at work until its gate is opened; return the job."""
        self.model.gate.clear()
        self.model.begun.clear()
        job = self.enqueue("hold")
        assert self.model.begun.wait(20)
        return job


@contextmanager
def serving(bounds: Bounds | None = None, policy: Policy | None = None) -> Iterator[Headless]:
    """Yield a server on a free port; a shut gate is opened at the end."""
    model, jobs, listening = Model(), Jobs(bounds), bound("127.0.0.1", 0)
    port = listening.getsockname()[1]
    loop, left = asyncio.new_event_loop(), asyncio.Event()
    thread = ThreadPoolExecutor(1)
    model_thread = ModelThread(model, thread, jobs)

    def run() -> None:
        asyncio.set_event_loop(loop)
        app = application(model_thread, Server("A house", port, now()), policy)
        loop.run_until_complete(serve(app, listening, left))
        loop.close()

    def leave() -> None:
        model_thread.leave()
        left.set()

    def stop() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(leave)

    serves = threading.Thread(target=run)
    serves.start()
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=20) as client:
            yield Headless(model, url, client, jobs, stop)
    finally:
        model.gate.set()
        stop()
        serves.join(20)
        thread.shutdown()
