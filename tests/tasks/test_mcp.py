"""The mcp task against programs that are MCP servers: calls, results, reuse, ends."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.mcp import Mcp
from tests.tasks.calling import Around
from tests.tasks.mcp_calls import GOOD, SERVERS, ask, broken, do, ends, is_alive, run

GOODS: dict[str, Any] = {"command": GOOD}
HERE = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")


def notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text().split("\n")[:-1]


def test_a_tool_gives_its_text_its_data_and_its_content() -> None:
    result = do({**GOODS, "tool": "add", "arguments": {"a": 1, "b": 2}}, writes=True)

    content = [{"type": "text", "text": "3"}]
    assert result == {"text": "3", "data": {"result": 3}, "content": content}


def test_everything_that_a_server_offers_can_be_asked_for() -> None:
    async def work(mcp: Mcp) -> dict[str, Any]:
        asked: dict[str, dict[str, Any]] = {
            "door": {"tool": "door", "arguments": {"mark": "D1", "width": None}},
            "json": {"tool": "says_json"},
            "picture": {"tool": "picture"},
            "doors": {"resource": "doors://all"},
            "one": {"resource": "doors://D7"},
            "blob": {"resource": "blob://it"},
            "prompt": {"prompt": "ask", "arguments": {"topic": 7}},
            "tools": {"list": "tools"},
            "resources": {"list": "resources"},
            "prompts": {"list": "prompts"},
        }
        return {name: await ask(mcp, {**GOODS, **said}) for name, said in asked.items()}

    got = run(work)

    assert got["door"]["data"] == {"mark": "D1", "width": None, "tags": ["D1", None, True]}
    assert got["json"]["data"] == {"level": 2}
    assert got["picture"]["text"] == "a wall"
    assert got["picture"]["content"][1] == {
        "type": "image",
        "data": "iVBORw==",
        "mimeType": "image/png",
    }
    assert got["doors"]["data"] == [{"mark": "D1"}]
    assert got["one"] == {
        "text": "door D7",
        "data": "door D7",
        "contents": [{"uri": "doors://D7", "mimeType": "text/plain", "text": "door D7"}],
    }
    assert got["blob"]["data"] == "iVBORw=="
    assert got["prompt"]["text"] == "Tell me about 7, plain."
    assert got["prompt"]["messages"][0]["role"] == "user"
    assert "inputSchema" in {one["name"]: one for one in got["tools"]["tools"]}["add"]
    assert {one["uri"] for one in got["resources"]["resources"]} == {"doors://all", "blob://it"}
    assert [one["name"] for one in got["prompts"]["prompts"]] == ["ask"]


def test_the_input_is_the_arguments_when_none_are_given() -> None:
    assert do({**GOODS, "tool": "says"}, input={"text": "hi"})["data"] == "hi"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_both_kinds_of_protocol_are_spoken(version: str) -> None:
    said = {**GOODS, "protocol_version": version, "tool": "says", "arguments": {"text": "hi"}}

    assert do(said)["text"] == "hi"


def test_what_a_tool_says_of_its_failure_is_the_failure() -> None:
    with pytest.raises(Failed, match=r"tool 'fail': .*the wall is gone") as told:
        do({**GOODS, "tool": "fail", "arguments": {"why": "the wall is gone"}}, writes=True)

    assert (told.value.code, told.value.retriable) == ("tool-error", True)


def test_a_misspelt_tool_is_told_what_there_is() -> None:
    with pytest.raises(Failed, match="lists no such tool; did you mean 'door'") as told:
        do({**GOODS, "tool": "dor"}, writes=True)

    assert not told.value.retriable


def test_an_error_of_the_protocol_is_a_failure() -> None:
    with pytest.raises(Failed, match=r"resource 'none://it': .*\(-32602\)") as told:
        do({**GOODS, "resource": "none://it"})

    assert (told.value.code, told.value.retriable) == ("rpc-error", False)


def test_an_error_with_the_code_of_a_lost_connection_is_still_a_refusal() -> None:
    with pytest.raises(Failed, match="the model is read-only"):
        do({"command": broken("minus_32000"), "tool": "t"}, writes=True)


def test_progress_goes_to_the_log() -> None:
    around = Around()

    do({**GOODS, "tool": "slow", "arguments": {"seconds": 0.9}}, around=around)

    assert around.notes == [f"tool 'slow': {n} of 3, part {n}" for n in (1, 2, 3)]


def test_a_flood_of_progress_is_thinned_and_its_end_is_kept() -> None:
    around = Around()

    do({**GOODS, "tool": "slow", "arguments": {"seconds": 0.0}}, around=around)

    assert around.notes == ["tool 'slow': 1 of 3, part 1", "tool 'slow': 3 of 3, part 3"]


def test_a_program_is_kept_for_the_next_call_of_the_same_command() -> None:
    async def work(mcp: Mcp) -> list[str]:
        here = {**GOODS, "tool": "who"}
        same = await asyncio.gather(*(ask(mcp, here) for _ in range(3)))
        there = await ask(mcp, {**here, "env": {"A": "1"}})
        return [one["text"] for one in (*same, await ask(mcp, here), there)]

    *same, other = run(work)

    assert len(set(same)) == 1
    assert other not in same


@HERE
def test_a_program_ends_when_it_is_idle_and_at_the_close() -> None:
    async def work(mcp: Mcp) -> tuple[int, int]:
        first = int((await ask(mcp, {**GOODS, "tool": "who"}))["text"])
        await asyncio.to_thread(ends, first, 5.0)
        return first, int((await ask(mcp, {**GOODS, "tool": "who"}))["text"])

    first, second = run(work, idle_seconds=0.2)

    assert first != second
    assert not is_alive(first)
    assert not is_alive(second)


@HERE
def test_a_program_that_does_not_want_to_end_is_ended() -> None:
    pid = int(do({"command": broken("stubborn"), "tool": "t"})["text"])

    assert not is_alive(pid)


@HERE
def test_a_killed_worker_leaves_no_server_behind() -> None:
    script = (
        "import asyncio\n"
        "from noetl_mcp.tasks.mcp import Mcp\n"
        "from tests.tasks.mcp_calls import GOOD, ask\n"
        "async def main():\n"
        "    mcp = Mcp(commands=True)\n"
        "    said = await ask(mcp, {'command': GOOD, 'tool': 'who'})\n"
        "    print(said['text'], flush=True)\n"
        "    await ask(mcp, {'command': GOOD, 'tool': 'slow', 'arguments': {'seconds': 60}})\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=SERVERS.parents[2]
    ) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        assert is_alive(pid)

        worker.send_signal(signal.SIGKILL)

    assert ends(pid)


def test_a_program_gets_a_few_variables_its_own_and_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SECRET_TOKEN", "hush")
    said = {**GOODS, "tool": "environment", "env": {"MINE": 1}, "cwd": str(tmp_path)}

    names, _, folder = do(said)["text"].partition(" in ")

    assert {"MINE", "PATH"} <= set(names.split())
    assert "NOETL_SECRET_TOKEN" not in names
    assert folder == os.path.realpath(tmp_path)


def test_no_program_is_started_where_that_is_not_allowed() -> None:
    async def work(mcp: Mcp) -> None:
        await ask(mcp, {**GOODS, "tool": "who"})

    with pytest.raises(Failed, match="NOETL_ALLOW_SHELL") as told:
        run(work, commands=False)

    assert (told.value.code, told.value.retriable) == ("shell-not-allowed", False)


def test_a_write_asks_right_before_it_is_sent_and_a_read_does_not(tmp_path: Path) -> None:
    said = {**GOODS, "tool": "add", "arguments": {"a": 1, "b": 2}, "env": {"NOTES": str(tmp_path)}}
    asked, silent = Around(), Around()

    do(said, writes=True, around=asked)
    do(said, writes=False, around=silent)

    assert (asked.asked, silent.asked) == (1, 0)
    with pytest.raises(HandedBack):
        do(said, writes=True, around=Around(holds=False))
    assert notes(tmp_path) == ["add", "add"]


def test_a_server_that_dies_leaves_a_write_open_and_its_last_words(tmp_path: Path) -> None:
    said = {**GOODS, "tool": "die", "env": {"NOTES": str(tmp_path)}}

    with pytest.raises(UnknownOutcome, match=r"exit code 3 .*(?s:.*)roof is on fire") as told:
        do(said, writes=True)

    assert told.value.code == "server-died"
    assert notes(tmp_path) == ["die"]


def test_a_read_of_a_server_that_dies_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="exit code 3") as told:
        do({**GOODS, "tool": "die", "env": {"NOTES": str(tmp_path)}})

    assert told.value.retriable


def test_the_next_call_after_a_death_gets_a_new_server() -> None:
    async def work(mcp: Mcp) -> Any:
        with pytest.raises(UnknownOutcome):
            await ask(mcp, {**GOODS, "tool": "die"}, writes=True)
        return await ask(mcp, {**GOODS, "tool": "says", "arguments": {"text": "hi"}}, writes=True)

    assert run(work)["text"] == "hi"


@pytest.mark.parametrize("tool", ["die_once", "die_once_twice_is_fine"])
def test_a_tool_that_says_it_is_harmless_is_asked_again(tool: str, tmp_path: Path) -> None:
    async def work(mcp: Mcp) -> str:
        said = {**GOODS, "tool": tool, "env": {"NOTES": str(tmp_path)}}
        await ask(mcp, said, writes=True)
        text: str = (await ask(mcp, said, writes=True))["text"]
        return text

    assert run(work) == "call 3"


def test_a_tool_that_says_nothing_is_not_asked_again(tmp_path: Path) -> None:
    async def work(mcp: Mcp) -> None:
        said = {**GOODS, "tool": "die_once_for_good", "env": {"NOTES": str(tmp_path)}}
        await ask(mcp, said, writes=True)
        with pytest.raises(UnknownOutcome):
            await ask(mcp, said, writes=True)

    run(work)

    assert notes(tmp_path) == ["die_once_for_good"] * 2


@pytest.mark.parametrize(("writes", "kind"), [(True, UnknownOutcome), (False, Failed)])
def test_a_call_ends_in_time(writes: bool, kind: type[Exception], tmp_path: Path) -> None:
    said = {"command": broken("hangs"), "tool": "t", "env": {"NOTES": str(tmp_path)}}

    with pytest.raises(kind, match=r"tool 't' of the command .* no answer within 1 s"):
        do(said, writes=writes, timeout=1.0)

    assert notes(tmp_path)[-2:] == ["tools/call", "notifications/cancelled"]


def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def work(mcp: Mcp) -> str:
        there = {**GOODS, "env": {"NOTES": str(tmp_path)}}
        slow = {**there, "tool": "slow", "arguments": {"seconds": 30}}
        calling = asyncio.create_task(ask(mcp, slow))
        while not (tmp_path / "notes").exists():
            await asyncio.sleep(0.02)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        text: str = (await ask(mcp, {**there, "tool": "who"}))["text"]
        return text

    run(work)

    assert notes(tmp_path) == ["slow begins", "slow is cancelled"]


def test_a_full_list_of_unused_programs_is_thinned() -> None:
    async def work(mcp: Mcp) -> tuple[int, ...]:
        first = await ask(mcp, {**GOODS, "tool": "who"})
        second = await ask(mcp, {**GOODS, "tool": "who", "env": {"A": "2"}})
        ended = await asyncio.to_thread(ends, int(first["text"]))
        return int(ended), int(second["text"])

    assert run(work, most_idle=1)[0] == 1
