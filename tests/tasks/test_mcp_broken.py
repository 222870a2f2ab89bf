"""The mcp task against programs that misbehave: each gets a clear failure in time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.tasks.calls import Failed, UnknownOutcome
from noetl_mcp.tasks.mcp import Mcp
from tests.tasks.mcp_calls import GOOD, ask, broken, do, run


@pytest.mark.parametrize(
    ("way", "code", "words"),
    [
        ("silent", "timeout", r"did not open a session within 1\.5 s.*\n.*still thinking"),
        ("dies", "server-died", r"exit code 3 before it opened a session.*\n.*no licence file"),
        ("killed", "server-died", r"ended by signal 9"),
        ("garbage", "server-died", r"1000 lines that are no messages.*'Lorem ipsum'"),
        ("old", "no-session", r"Unsupported protocol version from the server: 1999-01-01"),
        ("refuses", "no-session", r"the database is away \(-32603\)"),
    ],
)
@pytest.mark.parametrize("writes", [True, False])
def test_who_opens_no_session_is_told_of_and_nothing_was_sent(
    way: str, code: str, words: str, writes: bool
) -> None:
    slowly = 1.5 if way == "silent" else 20

    with pytest.raises(Failed, match=words) as told:
        do({"command": broken(way), "tool": "t", "connect_timeout": slowly}, writes=writes)

    assert told.value.code == code
    assert f"broken.py {way}'" in told.value.message


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/no/such/server"], "'/no/such/server' cannot be started: No such file"),
        (["no-such-server-at-all"], "cannot be started: No such file"),
        ([__file__], "cannot be started: Permission denied"),
        (["a\0b"], "it holds what no command may hold"),
        ([""], "the command is empty"),
    ],
)
def test_a_command_that_cannot_be_started_is_told(command: list[str], words: str) -> None:
    with pytest.raises(Failed, match=words) as told:
        do({"command": command, "tool": "t"}, writes=True)

    assert not told.value.retriable


def test_a_folder_that_is_not_there_is_told() -> None:
    with pytest.raises(Failed, match="in the folder '/no/such/folder'"):
        do({"command": GOOD, "cwd": "/no/such/folder", "tool": "who"})


def test_a_greeting_on_standard_output_does_no_harm() -> None:
    assert do({"command": broken("banner"), "tool": "t"})["text"] == "fine"


def test_a_list_that_cannot_be_read_does_no_harm() -> None:
    assert do({"command": broken("bad_list"), "tool": "t"}, writes=True)["text"] == "fine"


@pytest.mark.parametrize(
    ("way", "code", "words"),
    [
        ("huge", "too-large", "a line of more than 100000 bytes"),
        ("wrong_shape", "bad-answer", "the answer does not follow the protocol: content"),
        ("unreadable", "bad-answer", "the answer is no message of the protocol"),
        ("no_output", "bad-answer", "has an output schema but did not return structured content"),
    ],
)
@pytest.mark.parametrize(("writes", "kind"), [(True, UnknownOutcome), (False, Failed)])
def test_an_answer_that_is_none_leaves_a_write_open_and_fails_a_read(
    way: str, code: str, words: str, writes: bool, kind: type[Exception]
) -> None:
    said = {"command": broken(way), "tool": "t", "max_response_bytes": 100_000}

    with pytest.raises(kind, match=words) as told:
        do(said, writes=writes, timeout=20)

    assert told.value.code == code  # type: ignore[attr-defined]
    assert "top secret" not in str(told.value)


@pytest.mark.parametrize(
    ("size", "words"),
    [(10, "it sent 257 requests and read no answers"), (60_000, r"it sent requests of \d+ bytes")],
)
@pytest.mark.parametrize(("writes", "kind"), [(True, UnknownOutcome), (False, Failed)])
def test_a_server_that_asks_on_and_reads_no_answers_is_given_up(
    size: int, words: str, writes: bool, kind: type[Exception]
) -> None:
    said = {"command": [*broken("asks_on"), str(size)], "tool": "t", "max_response_bytes": 500_000}

    with pytest.raises(kind, match=words) as told:
        do(said, writes=writes, timeout=20)

    assert told.value.code == "server-died"  # type: ignore[attr-defined]


def test_a_server_may_ask_much_while_it_reads_the_answers() -> None:
    assert do({"command": broken("asks_much"), "tool": "t"}, timeout=20)["text"] == "fine"


def test_a_promise_that_takes_ages_to_check_is_not_checked() -> None:
    result = do({"command": broken("wild_schema"), "tool": "t"}, timeout=20)

    assert result["data"] == {"a": "a" * 40 + "!"}


def test_a_list_without_end_is_refused() -> None:
    with pytest.raises(Failed, match="more than 100 pages"):
        do({"command": broken("endless_list"), "list": "tools"}, timeout=20)


def test_a_server_that_asks_back_is_refused() -> None:
    with pytest.raises(Failed, match="asks for more input") as told:
        do({"command": broken("asks_back"), "tool": "t"}, writes=True)

    assert told.value.code == "input-required"


def test_all_calls_of_a_server_that_does_not_start_are_told() -> None:
    async def work(mcp: Mcp) -> list[Any]:
        said = {"command": broken("dies"), "tool": "t"}
        return await asyncio.gather(*(ask(mcp, said) for _ in range(3)), return_exceptions=True)

    assert [one.code for one in run(work)] == ["server-died"] * 3


def test_a_call_that_is_given_up_while_a_server_starts_leaves_the_others_alone() -> None:
    async def work(mcp: Mcp) -> str:
        said = {"command": GOOD, "tool": "who"}
        early = asyncio.create_task(ask(mcp, said))
        late = asyncio.create_task(ask(mcp, said))
        await asyncio.sleep(0.05)
        early.cancel()
        text: str = (await late)["text"]
        return text

    assert run(work).isdigit()


def test_a_task_that_is_closed_while_a_server_starts_ends_it() -> None:
    async def work(mcp: Mcp) -> None:
        calling = asyncio.create_task(ask(mcp, {"command": broken("silent"), "tool": "t"}))
        await asyncio.sleep(0.3)
        calling.cancel()

    run(work)


def test_what_a_program_was_given_is_not_told() -> None:
    said = {"command": broken("dies"), "env": {"LICENCE": "hush-hush-hush"}, "tool": "t"}

    with pytest.raises(Failed, match=r"no licence file in \*\*\*") as told:
        do(said)

    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"tool": "t", "protocol_version": "2031-01-01"}, "bad-protocol-version", "2026-07-28"),
        ({}, "bad-settings", "names a tool, a resource"),
    ],
)
def test_what_cannot_be_asked_is_refused(said: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(Failed, match=words) as told:
        do({"command": GOOD, **said})

    assert (told.value.code, told.value.retriable) == (code, False)


def test_arguments_that_are_no_map_are_refused() -> None:
    with pytest.raises(Failed, match="the arguments of a tool are a map"):
        do({"command": GOOD, "tool": "says"}, input=[1])
    with pytest.raises(Failed, match="'topic' of a prompt must be a text"):
        do({"command": GOOD, "prompt": "ask", "arguments": {"topic": [1]}})
    for odd in ("\ud800", float("nan")):
        with pytest.raises(Failed, match="cannot be written as JSON"):
            do({"command": GOOD, "tool": "says", "arguments": {"text": odd}}, writes=True)


def test_a_credential_is_not_for_a_program() -> None:
    with pytest.raises(Failed, match="a command takes no credential"):
        do({"command": GOOD, "tool": "who"}, auth={"": {"type": "bearer", "token": "hush"}})


def test_a_program_that_hangs_does_not_hold_the_next_call_of_another(tmp_path: Path) -> None:
    async def work(mcp: Mcp) -> str:
        said = {"command": broken("hangs"), "tool": "t", "env": {"NOTES": str(tmp_path)}}
        hanging = asyncio.create_task(ask(mcp, said))
        text: str = (await ask(mcp, {"command": broken("banner"), "tool": "t"}))["text"]
        hanging.cancel()
        return text

    assert run(work) == "fine"
