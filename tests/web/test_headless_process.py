"""The process of the headless server: it opens a model in its thread, and leaves when told to."""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from noetl_mcp.errors import NotReadable
from noetl_mcp.web.headless.process import Document, Place, answering
from noetl_mcp.wire.addresses import bound
from tests.web.headless import Model


class Opened(Model):
    """A model of a file."""

    title = "A house\x1b[31m with\na cellar"


def place() -> Place:
    return Place(bound("127.0.0.1", 0), "127.0.0.1", ("revit.example",), "house.ifc")


def test_a_model_is_opened_and_asked_in_one_thread(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_one_thread())

    assert "answers for 'A house [31m with a cellar'" in capsys.readouterr().err


async def _one_thread() -> None:
    model, left, at = Opened(), asyncio.Event(), place()

    def opens(file: Path) -> Document:
        assert file == Path("house.ifc")
        model.threads.add(threading.get_ident())
        return model

    serving = asyncio.create_task(answering(at, opens, left))
    async with httpx.AsyncClient(base_url=at.url, timeout=20) as client:
        answer = await client.post("/rpc", json={"method": "echo"})
        named = await client.get("/health", headers={"Host": "revit.example"})
        other = await client.get("/health", headers={"Host": "other.example"})
    left.set()

    assert await asyncio.wait_for(serving, 20) == 0
    assert answer.json()["result"]["ok"] is True
    assert len(model.threads) == 1
    assert (named.json()["document"], other.status_code) == (model.title, 421)


def test_a_file_that_cannot_be_opened_is_a_sentence_and_nothing_is_tried_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def opens(file: Path) -> Document:
        raise NotReadable(f"'{file}' is no IFC file")

    code = asyncio.run(answering(place(), opens, asyncio.Event()))

    assert code == 2
    assert "'house.ifc' is no IFC file" in capsys.readouterr().err


def test_a_model_that_breaks_what_opens_it_is_not_opened_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def opens(file: Path) -> Document:
        raise LookupError("no storey 7")

    code = asyncio.run(answering(place(), opens, asyncio.Event()))

    assert code == 2
    assert "no storey 7" in capsys.readouterr().err


def test_who_waits_is_told_at_once_that_the_server_leaves() -> None:
    asyncio.run(_leaving())


async def _leaving() -> None:
    model, left, at = Opened(), asyncio.Event(), place()
    serving = asyncio.create_task(answering(at, lambda file: model, left))
    async with httpx.AsyncClient(base_url=at.url, timeout=20) as client:
        runs = asyncio.create_task(client.post("/rpc", json={"method": "hold"}))
        assert await asyncio.to_thread(model.begun.wait, 10)
        waits = asyncio.create_task(client.post("/rpc", json={"method": "echo"}))
        while (await client.post("/rpc/status")).json()["result"]["queue"]["queuedCount"] == 0:
            await asyncio.sleep(0.01)
        left.set()
        told = (await waits).json()["code"]
        is_held = not runs.done()
        model.gate.set()
        answered = (await runs).json()["result"]["ok"]

    assert (told, is_held, answered) == ("E_LEAVING", True, True)
    assert await asyncio.wait_for(serving, 20) == 0


def test_who_is_told_to_leave_does_not_wait_for_a_model_to_be_opened() -> None:
    gate = threading.Event()

    def opens(file: Path) -> Document:
        gate.wait(20)
        return Opened()

    async def go() -> int:
        left = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, left.set)
        return await asyncio.wait_for(answering(place(), opens, left), 10)

    try:
        assert asyncio.run(go()) == 0
    finally:
        gate.set()


def test_calls_that_come_while_the_model_is_opened_are_answered_then() -> None:
    asyncio.run(_early())


async def _early() -> None:
    gate, left, at = threading.Event(), asyncio.Event(), place()

    def opens(file: Path) -> Document:
        gate.wait(20)
        return Opened()

    serving = asyncio.create_task(answering(at, opens, left))
    async with httpx.AsyncClient(base_url=at.url, timeout=20) as client:
        early = asyncio.create_task(client.post("/rpc", json={"method": "echo"}))
        await asyncio.sleep(0.2)
        assert not early.done()
        gate.set()
        assert (await early).json()["result"]["ok"] is True
    left.set()
    await asyncio.wait_for(serving, 20)
