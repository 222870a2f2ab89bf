"""Executions started a second: by the library, and by the JSON API of `noetl-mcp serve`."""

import re
import time
from typing import Any

import httpx

from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.starting import Order, Starting
from speed import processes
from speed.product import Command, command
from speed.server import Server

_TEXT = (
    "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: b, path: bench/submit}\n"
    "workload: {floor: 1, name: hall}\n"
    "workflow:\n"
    "  - {step: start, type: http, url: 'http://127.0.0.1:9/{{ workload.floor }}'}\n"
)
_PAYLOAD = {"floor": 2, "name": "kitchen"}
_BATCHES = (1, 100, 1_000)


def submit(server: Server, size: float) -> dict[str, Any]:
    """Start executions that nobody works off, in batches of several sizes."""
    found = {"library": _by_library(server, size), "api": _by_api(server, size)}
    server.clear()
    return found


def _counts(size: float) -> list[tuple[int, int]]:
    """Return batches: how many there are, of which size."""
    return [(max(2, int(min(20_000, 500 * one) * size) // one), one) for one in _BATCHES]


def _by_library(server: Server, size: float) -> dict[str, Any]:
    found = {}
    with server.connect("submit") as connection:
        starting = Starting(connection)
        kept = starting.submit(load_bytes(_TEXT.encode(), "bench.yaml"))
        for count, of in _counts(size):
            orders = [Order(_PAYLOAD)] * of
            cpu, in_server, wall = time.process_time(), server.cpu(), time.perf_counter()
            for _ in range(count):
                starting.start(kept, orders)
            wall = time.perf_counter() - wall
            found[f"batches_of_{of}"] = _told(
                count * of, wall, time.process_time() - cpu, server.cpu() - in_server
            )
    return found


def _by_api(server: Server, size: float) -> dict[str, Any]:
    found = {}
    with command(server, "serve", "--processes", "0", "--port", "0") as serving:
        address = _address(serving)
        with httpx.Client(base_url=address, timeout=60) as client:
            _answered(client.post("/api/executions", json={"content": _TEXT, "payload": _PAYLOAD}))
            for count, of in _counts(size):
                found[f"batches_of_{of}"] = _posted(client, server, serving, count, of)
    return found


def _posted(
    client: httpx.Client, server: Server, serving: Command, count: int, of: int
) -> dict[str, Any]:
    body = {"path": "bench/submit", "executions": [{"payload": _PAYLOAD}] * of}
    pid = serving.process.pid
    cpu, in_server, wall = processes.seconds_of_all(pid), server.cpu(), time.perf_counter()
    for _ in range(count):
        answer = _answered(client.post("/api/executions/batch", json=body))
        assert len(answer["execution_ids"]) == of
    wall = time.perf_counter() - wall
    return _told(count * of, wall, processes.seconds_of_all(pid) - cpu, server.cpu() - in_server)


def _told(executions: int, wall: float, python: float, postgres: float) -> dict[str, Any]:
    return {
        "executions": executions,
        "executions_per_s": round(executions / wall),
        "python_us": round(python / executions * 1e6, 1),
        "whole_server_us": round(postgres / executions * 1e6, 1),
    }


def _address(serving: Command) -> str:
    """Return where it serves, once it answers."""

    def told() -> str | None:
        found = re.search(r"http://[\d.]+:\d+", serving.said())
        return found.group() if found else None

    def answers() -> bool:
        address = told()
        if address is None:
            return False
        try:
            return httpx.get(f"{address}/api/executions?limit=1", timeout=5).is_success
        except httpx.TransportError:
            return False

    serving.until(answers, "the server answers")
    return str(told())


def _answered(answer: httpx.Response) -> Any:
    if not answer.is_success:
        raise RuntimeError(f"the API says {answer.status_code}: {answer.text[:1000]}")
    return answer.json()


__all__ = ["submit"]
