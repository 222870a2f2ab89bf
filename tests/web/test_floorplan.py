"""The floor plan server over HTTP, behind the guard of the web face, as MCP clients see it."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from noetl_mcp.bim.floorplan.tools import TOOLS
from noetl_mcp.mcp.over_http import MOST_BYTES
from noetl_mcp.web.app import FLOORPLAN
from noetl_mcp.web.guard import Policy
from tests.mcp.floorplan_server import facts
from tests.web.site import Site, serving

T = TypeVar("T")
WALLS = "walls [top: solid, right: solid, bottom: solid, left: solid]"
PLAN = f"floorplan\n  floor f1 {{\n    room A at (0,0) size (10 x 12) {WALLS}\n  }}\n"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
TAKES = {"Accept": "application/json, text/event-stream"}


def over_http(
    url: str,
    work: Callable[[Client], Awaitable[T]],
    headers: Mapping[str, str] | None = None,
    mode: str = "auto",
) -> T:
    async def done() -> T:
        async with httpx2.AsyncClient(headers=dict(headers or {}), timeout=20) as asks:
            reached = streamable_http_client(f"{url}{FLOORPLAN}", http_client=asks)
            async with Client(reached, mode=mode) as client:
                return await work(client)

    return asyncio.run(done())


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_tools_are_listed_and_called_over_http(site: Site, mode: str) -> None:
    async def work(client: Client) -> tuple[list[str], list[types.CallToolResult]]:
        tools = (await client.list_tools()).tools
        calls = [
            await client.call_tool("validate_floorplan", {"dsl": PLAN}),
            await client.call_tool("render_floorplan", {"dsl": PLAN, "width": 100}),
        ]
        return [one.name for one in tools], calls

    names, (checked, drawn) = over_http(site.url, work, mode=mode)

    assert names == [one.name for one in TOOLS]
    assert facts(checked)["valid"] is True
    assert isinstance(drawn.content[0], types.ImageContent)


def test_the_language_is_read_over_http(site: Site) -> None:
    async def work(client: Client) -> types.ReadResourceResult:
        return await client.read_resource("floorplan://schema")

    [content] = over_http(site.url, work).contents

    assert isinstance(content, types.TextResourceContents)
    assert content.text.startswith("# Floor plan language")


def test_two_clients_at_once_are_both_answered(site: Site) -> None:
    async def asks(number: int) -> list[Any]:
        async with httpx2.AsyncClient(timeout=20) as http:
            reached = streamable_http_client(f"{site.url}{FLOORPLAN}", http_client=http)
            async with Client(reached) as client:
                wide = PLAN.replace("10 x 12", f"{number} x 12")
                calls = [client.call_tool("analyze_floorplan", {"dsl": wide}) for _ in range(10)]
                return [facts(one)["rooms"][0]["area"] for one in await asyncio.gather(*calls)]

    async def both() -> Sequence[list[Any]]:
        return await asyncio.gather(asks(10), asks(20))

    assert list(asyncio.run(both())) == [[120] * 10, [240] * 10]


def test_the_guard_stands_before_the_server(site: Site) -> None:
    elsewhere = site.client.post(FLOORPLAN, json=LIST, headers={**TAKES, "Host": "evil.example"})
    foreign = {**TAKES, "Origin": "http://evil.example"}

    framed = site.client.post(FLOORPLAN, json=LIST, headers=foreign)

    assert (elsewhere.status_code, elsewhere.json()["error"]["code"]) == (421, "wrong-host")
    assert (framed.status_code, framed.json()["error"]["code"]) == (403, "wrong-origin")


def test_where_tokens_are_needed_a_client_brings_one(database: str, tmp_path: Path) -> None:
    with serving(database, tmp_path, Policy(tokens=True)) as site:
        bearer = {"Authorization": f"Bearer {site.token('assistant', 'viewer')}"}

        async def work(client: Client) -> int:
            return len((await client.list_tools()).tools)

        without = site.client.post(FLOORPLAN, json=LIST, headers=TAKES)

        assert (without.status_code, without.json()["error"]["code"]) == (401, "no-token")
        assert over_http(site.url, work, bearer) == len(TOOLS)


def test_a_request_that_is_too_large_is_refused(site: Site) -> None:
    sent = b'{"jsonrpc": "2.0", "id": 1, "method": "x' + b"x" * MOST_BYTES + b'"}'
    json = {**TAKES, "Content-Type": "application/json"}

    answer = site.client.post(FLOORPLAN, content=sent, headers=json)

    assert answer.status_code == 413
    assert site.client.get("/health").status_code == 200


def test_what_is_no_message_is_refused(site: Site) -> None:
    json = {**TAKES, "Content-Type": "application/json"}

    for sent in (b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000):
        answer = site.client.post(FLOORPLAN, content=sent, headers=json)

        assert 400 <= answer.status_code < 500, (sent[:20], answer.text)


def test_the_protocol_is_not_loaded_before_a_client_comes() -> None:
    asked = "import sys, noetl_mcp.web.app; print('mcp' in sys.modules, 'mcp_types' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
