"""Servers at an `endpoint:` that do not answer as floor plan servers do fail the step plainly."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from starlette.applications import Starlette

from noetl_mcp.mcp.over_http import Mounted
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.floorplan import Floorplan
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.specs_floorplan import FloorplanSettings
from noetl_mcp.web.serving import serve
from noetl_mcp.wire.addresses import bound
from tests.tasks.calling import call
from tests.tasks.floorplan_candidates import PLAN


def text(says: object) -> types.TextContent:
    return types.TextContent(type="text", text=says if isinstance(says, str) else json.dumps(says))


GOOD = text({"success": True, "format": "png"})
NO_PICTURE = types.ImageContent(type="image", data="is no picture!", mime_type="image/png")


@asynccontextmanager
async def answering(content: list[Any]) -> AsyncIterator[str]:
    """Yield the address of a server whose every tool answers the same."""

    async def call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=content)

    mounted = Mounted("/mcp", lambda: Server("other", on_call_tool=call))
    listening, left = bound("127.0.0.1", 0), asyncio.Event()
    port = listening.getsockname()[1]
    serving = asyncio.create_task(serve(Starlette(routes=[mounted.route]), listening, left))
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await mounted.close()
        left.set()
        await serving


async def asked(content: list[Any], settings: Mapping[str, Any]) -> Json:
    servers = Mcp()
    task = Floorplan(mcp=lambda: servers)
    async with answering(content) as url:
        try:
            said = FloorplanSettings.model_validate({"dsl": PLAN, "endpoint": url, **settings})
            return await task.execute(call("floorplan", said))
        finally:
            await servers.close()


@pytest.mark.parametrize(
    "content",
    [
        [NO_PICTURE, GOOD],
        [text({"success": False, "errors": ["no list of findings"]})],
        [text({"success": False, "errors": {"message": "no list"}})],
        [text({"success": "yes"})],
        [text("[" * 100_000)],
        [text('{"success": true, "format": "png", "x": NaN}')],
        [GOOD],
        [GOOD] * 1_001,
        [],
    ],
)
def test_an_answer_of_another_shape_fails_the_step(content: list[Any]) -> None:
    with pytest.raises(Failed) as failed:
        asyncio.run(asked(content, {"action": "render"}))

    assert failed.value.code == "wrong-answer"


@pytest.mark.parametrize("action", ["modify", "analyze", "to_json", "to_dxf", "to_ifc"])
def test_a_success_without_what_was_asked_for_is_none(action: str) -> None:
    facts = text({"success": True, "dsl": 5, "plan": [], "summary": "large"})

    with pytest.raises(Failed, match=f"nothing of what '{action}' asks for"):
        asyncio.run(asked([facts], {"action": action}))


def test_what_a_server_finds_wrong_is_told_in_short() -> None:
    errors = [{"message": "wrong " * 10_000, "line": "x"}, {"message": ["a"], "line": 3}]

    with pytest.raises(Failed) as failed:
        asyncio.run(asked([text({"success": False, "errors": errors})], {"action": "render"}))

    assert failed.value.code == "wrong-plan"
    assert str(failed.value).startswith("wrong wrong")
    assert len(str(failed.value)) < 1_100


def test_a_check_that_does_not_say_whether_a_plan_is_valid_is_none() -> None:
    with pytest.raises(Failed, match="did not answer as a floor plan server"):
        asyncio.run(asked([text({"errors": []})], {"action": "validate"}))


def test_a_text_of_a_server_takes_the_place_of_no_fact() -> None:
    facts = {"success": True, "format": "rooms", "rooms": []}

    found = asyncio.run(asked([text("<svg/>"), text(facts)], {"action": "render"}))

    assert isinstance(found, dict)
    assert (found["rooms"], found["text"]) == ([], "<svg/>")
