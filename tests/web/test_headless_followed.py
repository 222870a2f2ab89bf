"""Our own jsonrpc steps call the headless server, at once and by tickets."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.jsonrpc import JsonRpc
from noetl_mcp.tasks.specs_web import JsonRpcSettings
from noetl_mcp.web.headless.jobs import Bounds
from tests.tasks.calling import Around
from tests.web.headless import Headless, serving


@pytest.fixture
def server() -> Iterator[Headless]:
    with serving(Bounds(waiting=1)) as made:
        yield made


def do(server: Headless, path: str, method: str, **params: Any) -> tuple[Any, Around]:
    return asyncio.run(_do(server.url + path, method, params))


async def _do(url: str, method: str, params: Any) -> tuple[Any, Around]:
    said = {"url": url, "method": method, "params": params, "poll": {"every": 0.01}}
    http, around = Http(), Around()
    try:
        settings = JsonRpcSettings.model_validate(said)
        call = Call("jsonrpc", settings, None, around)
        return await JsonRpc(http=http).execute(call), around
    finally:
        await http.close()


def test_a_step_gets_the_result_at_once(server: Headless) -> None:
    result, around = do(server, "/rpc", "echo", level="L1")

    assert result == {"ok": True, "code": "OK", "params": {"level": "L1"}}
    assert around.notes == []


def test_a_step_follows_a_ticket_to_the_same_result(server: Headless) -> None:
    server.held()
    server.model.gate.set()

    result, around = do(server, "/enqueue", "echo", level="L1")

    assert result == do(server, "/rpc", "echo", level="L1")[0]
    job = server.client.get("/jobs").json()["jobs"][0]["job_id"]
    assert {"job": job} in around.notes


def test_a_step_waits_for_a_job_that_is_slow(server: Headless) -> None:
    asked = asyncio.run(_slowly(server))

    assert asked["ok"] is True


async def _slowly(server: Headless) -> Any:
    step = asyncio.create_task(_do(server.url + "/enqueue", "hold", {}))
    assert await asyncio.to_thread(server.model.begun.wait, 10)
    await asyncio.sleep(0.2)
    assert not step.done()
    server.model.gate.set()
    return (await step)[0]


@pytest.mark.parametrize("path", ["/rpc", "/enqueue"])
def test_a_command_that_failed_is_a_result_with_ok_false(server: Headless, path: str) -> None:
    assert do(server, path, "nothing")[0]["code"] == "UNKNOWN_COMMAND"


def test_a_job_that_broke_fails_the_step(server: Headless) -> None:
    with pytest.raises(Failed, match=r"UNHANDLED_EXCEPTION.*no more walls") as failed:
        do(server, "/enqueue", "break")

    assert failed.value.code == "job-failed"


def test_a_server_that_is_full_says_when_to_try_again(server: Headless) -> None:
    server.held()
    server.enqueue("echo")

    with pytest.raises(Failed, match="503") as failed:
        do(server, "/rpc", "echo")

    assert (failed.value.retriable, failed.value.retry_after) == (True, 1.0)
