"""The mcp task passes the exam of task types, with a program and with a server behind a URL."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from noetl_mcp.tasks.exam import Candidate, Case, examine
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.registry import BUILT_IN
from tests.tasks.mcp_calls import SERVERS
from tests.tasks.test_mcp_http import Web, fine, result
from tests.wire.servers import Seen, answer, serving

SECRET = "hunter2-and-more"
BEARER = {"": {"type": "bearer", "token": SECRET}}


def examined(candidate: Candidate) -> list[str]:
    async def do() -> list[str]:
        return [str(breach) for breach in await examine(candidate)]

    return asyncio.run(do())


def test_programs_pass_the_exam(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    at: dict[str, Any] = {
        "command": [sys.executable, "-S", str(SERVERS / "plain.py")],
        "env": {"MARK": str(mark), "TOKEN": SECRET},
    }

    found = examined(
        Candidate(
            BUILT_IN["mcp"],
            lambda: Mcp(commands=True),
            [
                Case("a resource", {**at, "resource": "walls://1"}),
                Case("a tool that reads", {**at, "tool": "read"}, writes=False),
                Case("a tool that writes", {**at, "tool": "write"}),
                Case("a tool that fails", {**at, "tool": "fail"}, ends="failed"),
                Case("no program", {**at, "command": "/no/such", "tool": "t"}, ends="failed"),
                Case("a tool that dies", {**at, "tool": "die"}, ends="lost"),
                Case("a slow tool", {**at, "tool": "slow"}, ends="slow", writes=False),
            ],
            sent=lambda: mark.exists() and mark.stat().st_size,
            secrets=[SECRET],
        )
    )

    assert found == []


def test_servers_behind_a_url_pass_the_exam() -> None:
    writes = list[str]()

    def called(request: Seen, asked: dict[str, Any]) -> bytes | None:
        name = asked["params"]["name"]
        if name in ("write", "lost"):
            writes.append(name)
        if name == "refused":
            said = f'{{"you sent": "{request.headers.get("authorization", "")}"}}'
            return answer(said.encode(), status="403 Forbidden")
        if name == "slow":
            return b""
        return None if name == "lost" else fine(asked)

    def read(request: Seen, asked: dict[str, Any]) -> bytes | None:
        if asked.get("method") != "resources/read":
            return None
        return result(asked, {"contents": [{"uri": "walls://1", "text": "a wall"}]})

    web = Web(called, other=read)

    async def do() -> list[str]:
        async with serving(web) as server:
            at = {"url": server.url + "/mcp"}
            candidate = Candidate(
                BUILT_IN["mcp"],
                Mcp,
                [
                    Case("a resource", {**at, "resource": "walls://1"}, auth=BEARER),
                    Case("a tool that writes", {**at, "tool": "write"}, auth=BEARER),
                    Case("a refusal", {**at, "tool": "refused"}, ends="failed", auth=BEARER),
                    Case("a lost tool", {**at, "tool": "lost"}, ends="lost"),
                    Case("a slow tool", {**at, "tool": "slow"}, ends="slow", writes=False),
                ],
                sent=lambda: len(writes),
                secrets=[SECRET],
            )
            return [str(breach) for breach in await examine(candidate)]

    assert asyncio.run(do()) == []
