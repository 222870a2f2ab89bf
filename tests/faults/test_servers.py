"""`noetl-mcp serve` that is killed, in whole or in part, and started again at once."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.database import connect
from tests.faults.hand import Orders
from tests.faults.judge import Judge, Place
from tests.faults.plans import post
from tests.faults.serving import Server, Servers

ANN = By("ann", "tests")
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: tests/t}\n"


def until(holds: Callable[[], Any], seconds: float = 40.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)
    return found


def one_server(dsn: str, home: Path) -> Servers:
    environment = {"NOETL_DSN": dsn, "NOETL_LEASE_SECONDS": "2"}
    return Servers(lambda _: Orders(dsn, ""), 1, environment=environment, home=home, workers=1)


def ask(servers: Servers, method: str, path: str, **said: Any) -> Any:
    """Ask the server, as soon as there is one that answers."""

    def answered() -> Any:
        servers.fill()
        try:
            url = f"http://127.0.0.1:{servers.ports[0]}{path}"
            return httpx.request(method, url, timeout=5, **said).raise_for_status().json()
        except httpx.TransportError:
            return None

    return until(answered)


def writing(judge: Judge) -> str:
    """Return a playbook whose write takes a while to be answered."""
    step = {**post(judge.url, "a", {"wait": 1_000}), "timeout": 20, "next": ["b"]}
    last = {"step": "b", "type": "set", "values": {"v": 1}}
    steps = [{"step": "start", "next": ["a"]}, step, last]
    return f"{HEAD}workflow: {json.dumps(steps)}\n"


@pytest.mark.parametrize("how", ["the parent", "everybody"])
def test_a_server_that_was_killed_goes_on_where_it_was(
    database: str, tmp_path: Path, how: str
) -> None:
    with Judge() as judge, one_server(database, tmp_path) as servers:
        begun = ask(servers, "POST", "/api/executions", json={"content": writing(judge)})
        number = int(begun["execution_id"])
        place = Place(number, "a")
        until(lambda: judge.done(place))
        (server,) = servers.hands
        assert isinstance(server, Server)

        for pid in [server.process.pid] if how == "the parent" else server.family:
            os.kill(pid, signal.SIGKILL)
        server.process.wait(10)

        def status() -> str:
            found = ask(servers, "GET", f"/api/executions/{number}")
            return "doubt" if found["attention"] else str(found["status"])

        if how == "everybody":  # nobody is left who could tell what came of the write
            until(lambda: status() == "doubt")
            with connect(database, application_name="tests") as connection:
                resolve(Desk(connection), number, "a", "accept", by=ANN, value={"v": 1})
        until(lambda: status() == "completed")
        assert judge.arrived[place] == 1
        assert servers.leave()
