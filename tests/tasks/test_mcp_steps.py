"""Steps that call MCP servers, carried out by a real worker."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.worker.bench import Bench
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.tasks.mcp_calls import GOOD, broken, http_server
from tests.worker.shop import Shop


class Allowed(Shop):
    """A shop whose workers may start programs."""

    def bench(self) -> Bench:
        return replace(super().bench(), shell=True)


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Allowed]:  # noqa: F811  # asked for
    made = Allowed(database, tmp_path / "lives")
    yield made
    made.close()


def test_results_are_read_by_the_steps_that_follow(shop: Allowed) -> None:
    with http_server() as url:
        done = shop.run(
            "workflow:\n"
            "  - step: start\n    next: [doors]\n"
            f"  - step: doors\n    type: mcp\n    url: {url}\n    resource: doors://all\n"
            "    next: [door]\n"
            f"  - step: door\n    type: mcp\n    url: {url}\n    tool: door\n"
            "    arguments: {mark: '{{ doors.data[0].mark }}', width: 0.9}\n    confirm: true\n"
            "    next: [end]\n"
            "  - step: end\n"
            "    result: {mark: '{{ door.data.mark }}', width: '{{ door.data.width }}'}\n"
        )

    assert (done.status, done.result) == ("completed", {"mark": "D1", "width": 0.9})


def test_a_program_is_asked_with_the_input_of_the_step_and_tells_its_progress(
    shop: Allowed,
) -> None:
    done = shop.run(
        "workflow:\n"
        "  - step: start\n    next: [slow]\n"
        f"  - step: slow\n    type: mcp\n    command: {GOOD}\n    tool: slow\n"
        "    data: {seconds: 0.3}\n    writes: false\n    next: [end]\n"
        "  - step: end\n    result: '{{ slow.text }}'\n"
    )

    assert (done.status, done.result) == ("completed", "done")
    assert "log" in shop.kinds(done.id, "slow")


def test_a_write_whose_server_dies_is_in_doubt_and_not_sent_again(
    shop: Allowed, tmp_path: Path
) -> None:
    text = (
        "workflow:\n"
        "  - step: start\n    next: [die]\n"
        f"  - step: die\n    type: mcp\n    command: {GOOD}\n    tool: die\n    retry: 3\n"
        f"    confirm: true\n    env: {{NOTES: '{tmp_path}'}}\n"
    )
    number = shop.start(text)

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "die") == "in_doubt")

    asyncio.run(work())

    error = shop.done(number).rows["die"][3]
    assert "server-died" in error
    assert "the roof is on fire" in error
    assert (tmp_path / "notes").read_text() == "die\n"


def test_what_the_tool_says_fails_the_step(shop: Allowed) -> None:
    with http_server() as url:
        done = shop.run(
            "workflow:\n"
            "  - step: start\n    next: [fail]\n"
            f"  - step: fail\n    type: mcp\n    url: {url}\n    tool: fail\n"
            "    arguments: {why: the wall is gone}\n    confirm: true\n"
        )

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "tool-error"
    assert "the wall is gone" in done.error["message"]


def test_secrets_reach_a_program_and_no_message(shop: Allowed) -> None:
    shop.secrets = World(secrets={"licence": Secret("hush-hush-hush")})

    done = shop.run(
        "workflow:\n"
        "  - step: start\n    next: [dies]\n"
        f"  - step: dies\n    type: mcp\n    command: {broken('dies')}\n    list: tools\n"
        "    env: {LICENCE: '{{ secrets.licence }}'}\n"
    )

    assert done.error is not None
    assert done.error["code"] == "server-died"
    assert "no licence file" in done.error["message"]
    assert "hush" not in str(done)


def test_programs_are_not_started_by_workers_that_may_not(database: str, tmp_path: Path) -> None:  # noqa: F811  # asked for
    plain = Shop(database, tmp_path / "lives")

    done = plain.run(
        f"workflow:\n  - step: start\n    type: mcp\n    command: {GOOD}\n    list: tools\n"
    )
    plain.close()

    assert done.error is not None
    assert done.error["code"] == "shell-not-allowed"
