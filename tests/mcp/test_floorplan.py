"""The floor plan server under odd, hostile and busy clients."""

import json
import os
import subprocess
import sys
import threading
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from noetl_mcp.bim.floorplan.tools import TOOLS
from noetl_mcp.mcp.floorplan import AT_ONCE
from tests.mcp.floorplan_server import answered, called, facts, in_memory, over_a_pipe, said

PLAN = """%%{version: 1.0}%%
floorplan
  floor f1 {
    room A at (0,0) size (10 x 12) walls [top: solid, right: solid, bottom: solid, left: solid]
    room B at (10,0) size (8 x 12) walls [top: solid, right: solid, bottom: solid, left: solid]
  }
  connect A.right to B.left door at 50%
"""


def send(process: "subprocess.Popen[bytes]", *messages: Any) -> None:
    assert process.stdin is not None
    for one in messages:
        line = one if isinstance(one, bytes) else json.dumps(one).encode()
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def receive(process: "subprocess.Popen[bytes]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def started() -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-m", "noetl_mcp", "mcp", "floorplan"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "NOETL_HOME": "/nowhere"},
    )
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    send(process, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert receive(process)["result"]["serverInfo"]["name"] == "noetl-mcp-floorplan"
    send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return process


def ask(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_an_assistant_draws_looks_changes_and_checks() -> None:
    async def work(client: Client) -> list[dict[str, Any]]:
        drawn = await client.call_tool("render_floorplan", {"dsl": PLAN, "showArea": True})
        grow = [{"action": "resize_room", "target": "B", "params": {"width": 9, "height": 12}}]
        changed = await client.call_tool("modify_floorplan", {"dsl": PLAN, "operations": grow})
        text = facts(changed)["dsl"]
        checked = await client.call_tool("validate_floorplan", {"dsl": text})
        measured = await client.call_tool("analyze_floorplan", {"dsl": text})
        return [facts(one) for one in (drawn, changed, checked, measured)]

    drawn, changed, checked, measured = over_a_pipe(work)

    assert [room["name"] for room in drawn["rooms"]] == ["A", "B"]
    assert "room B at (10,0) size (9 x 12)" in changed["dsl"]
    assert checked["valid"] is True
    assert {room["name"]: room["area"] for room in measured["rooms"]} == {"A": 120, "B": 108}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_both_eras_of_the_protocol_are_served(mode: str) -> None:
    async def work(client: Client) -> dict[str, Any]:
        return facts(await client.call_tool("validate_floorplan", {"dsl": PLAN}))

    assert over_a_pipe(work, mode=mode)["valid"] is True


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "'dsl': this is missing"),
        ({"dsl": 7}, "'dsl': this must be a text"),
        ({"dsl": PLAN, "widht": 9}, "there is no argument 'widht'; did you mean 'width'?"),
        ({"dsl": PLAN, "width": -5}, "'width': this must be at least 16"),
        ({"dsl": PLAN, "format": "gif"}, "'format': this must be 'png', 'svg' or 'dxf'"),
        ({"dsl": PLAN, "areaUnit": "acres"}, "'areaUnit': this must be 'sqft' or 'sqm'"),
        ({"dsl": PLAN, "width": 9, "height": 1e9}, "'height': this must be at most 8000"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], told: str) -> None:
    result = called("render_floorplan", **arguments)

    assert result.is_error
    assert told in said(result)


def test_a_text_without_end_is_refused() -> None:
    result = called("validate_floorplan", dsl="#" * 3_000_000)

    assert result.is_error
    assert "2000000" in said(result)


def test_an_unknown_tool_is_told_which_there_are() -> None:
    result = called("draw")

    assert result.is_error
    assert "there is no tool 'draw'" in said(result)
    assert "render_floorplan" in said(result)


def test_an_unknown_resource_is_not_found() -> None:
    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("floorplan://secrets")
        return refused.value.error.message

    assert "only floorplan://schema" in in_memory(work)


def test_whoever_asks_for_templates_of_resources_is_told_that_there_are_none() -> None:
    async def work(client: Client) -> int:
        return len((await client.list_resource_templates()).resource_templates)

    assert in_memory(work) == 0


def test_tools_say_that_they_change_nothing() -> None:
    async def work(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    for one in in_memory(work):
        assert one.annotations is not None
        assert one.annotations.read_only_hint is True
        assert one.annotations.open_world_hint is False


def test_a_schema_names_every_argument_and_what_it_is_for() -> None:
    for tool in TOOLS:
        schema = tool.input_schema
        assert schema["additionalProperties"] is False
        for name, described in schema["properties"].items():
            assert described.get("description"), f"{tool.name}: {name}"


def test_a_picture_of_no_such_floor_is_refused() -> None:
    shown = answered("render_floorplan", dsl=PLAN, floorIndex=3)

    assert shown["success"] is False
    assert "floor" in shown["errors"][0]["message"]


def test_svg_comes_as_text() -> None:
    result = called("render_floorplan", dsl=PLAN, format="svg")

    assert said(result).startswith("<svg")
    assert facts(result)["format"] == "svg"


def test_garbage_ends_nothing() -> None:
    process = started()
    try:
        send(process, b"\xff\xfe nonsense", b"[]", b'{"jsonrpc": "2.0"}', b"{" * 20_000)
        send(process, ask(5, "validate_floorplan", dsl=PLAN))

        answer = receive(process)
        while answer.get("id") != 5:
            answer = receive(process)
        assert answer["result"]["structuredContent"]["valid"] is True
    finally:
        process.kill()
        process.communicate()


def test_many_requests_at_once_are_all_answered() -> None:
    process = started()
    try:
        sending = threading.Thread(
            target=send,
            args=(process, *(ask(n, "validate_floorplan", dsl=PLAN) for n in range(1, 201))),
        )
        sending.start()
        numbers = {receive(process)["id"] for _ in range(200)}
        sending.join()

        assert numbers == set(range(1, 201))
    finally:
        process.kill()
        process.communicate()


def test_only_so_many_calls_are_at_work_at_once() -> None:
    rooms = "\n".join(
        f"room r{n} at ({n * 9},0) size (9 x 9) walls [top: door]" for n in range(900)
    )
    plan = f"floorplan floor f {{ {rooms} }}"
    most = 0

    async def work(client: Client) -> list[bool]:
        nonlocal most
        answers: list[bool] = []

        async def one() -> None:
            found = await client.call_tool("validate_floorplan", {"dsl": plan})
            answers.append(facts(found)["valid"])

        async with anyio.create_task_group() as group:
            for _ in range(3 * AT_ONCE):
                group.start_soon(one)
            while len(answers) < 3 * AT_ONCE:
                await anyio.sleep(0.002)
                names = [one.name for one in threading.enumerate()]
                most = max(most, sum("AnyIO worker thread" in name for name in names))
        return answers

    assert in_memory(work) == [True] * 3 * AT_ONCE
    assert 1 < most <= AT_ONCE


def test_the_end_of_the_input_is_the_end() -> None:
    process = started()
    assert process.stdin is not None
    process.stdin.close()

    code = process.wait(timeout=20)

    assert code == 0
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read() == b""
    assert b"Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


def test_a_server_that_starts_loads_nothing_that_it_does_not_need_yet() -> None:
    asked = (
        "import sys, noetl_mcp.cli.main, noetl_mcp.cli.mcp, noetl_mcp.mcp.stdio\n"
        "from noetl_mcp.mcp.floorplan import server\n"
        "from noetl_mcp.bim.floorplan.tools import TOOLS\n"
        "server(), [one.input_schema for one in TOOLS]\n"
        "print(*(name for name in sys.modules if name.startswith('noetl_mcp.')))"
    )

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    loaded = {name.split(".")[1] for name in done.stdout.split()}
    parts = {
        ".".join(name.split(".")[3:4])
        for name in done.stdout.split()
        if name.startswith("noetl_mcp.bim.floorplan.")
    }
    assert loaded <= {"bim", "cli", "diagnostics", "errors", "mcp"}
    assert not parts & {"reading", "drawing", "checks", "scanner", "resolve", "svg", "png", "dxf"}


def test_the_sdk_is_loaded_lean_and_whole_when_somebody_asks_for_the_rest() -> None:
    asked = (
        "import gc, sys, pydantic\n"
        "from noetl_mcp.mcp.lean import lean\n"
        "with lean():\n"
        "    from noetl_mcp.mcp.floorplan import server\n"
        "    server()\n"
        "print('mcp.client' in sys.modules, 'mcp.server.mcpserver' in sys.modules)\n"
        "print(pydantic.BaseModel.model_config, gc.isenabled())\n"
        "import mcp\n"
        "from mcp.server import MCPServer\n"
        "print(mcp.ClientSession.__name__, MCPServer.__name__, hasattr(mcp, 'nonsense'))"
    )

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "False False",
        "{} True",
        "ClientSession MCPServer False",
    ]
