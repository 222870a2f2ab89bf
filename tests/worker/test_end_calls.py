"""The address that was given with an execution is called when it has ended."""

import asyncio
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.end_calls import SIGNATURE, TRIES, EndCall, claim, wrong_address
from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.retention import remove_old
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.tokens import signing_key
from noetl_mcp.broker.why import why
from noetl_mcp.queue.lease import Status
from noetl_mcp.worker.hints import END, HALT
from tests.broker.conftest import desk  # noqa: F401  # a fixture
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.ears import Ear, listening
from tests.worker.shop import Shop

ECHO = "workflow:\n  - {step: start, type: echo, data: {n: 1}, next: [end]}\n"
ECHO += "  - {step: end, result: '{{ start }}'}\n"
FAILS = "workflow:\n  - {step: start, type: echo, data: {fails: 9}}\n"


@pytest.fixture
def ear() -> Iterator[Ear]:
    with listening() as made:
        yield made


def left(shop: Shop) -> list[tuple[Any, ...]]:
    """Return the calls that are not made yet."""
    return shop.records.connection.execute(
        "select round, tries, due is not null from noetl.end_call order by execution_id, round"
    ).fetchall()


def hasten(shop: Shop) -> None:
    """Let every call that waits be due now."""
    shop.records.connection.execute(
        "update noetl.end_call set due = clock_timestamp() where due is not null"
    )


def has_tried(desk: Desk, number: int, tries: int) -> bool:  # noqa: F811  # a fixture's name
    return any(one.more.get("tries") == tries for one in why(desk, number))


def test_it_is_told_what_came_of_the_execution_and_signed(shop: Shop, ear: Ear) -> None:
    number = shop.start(ECHO, on_end=ear.url)

    work(shop, lambda: not left(shop))

    told = ear.told()
    assert told.pop("ended_at").endswith("Z")
    assert told == {
        "execution_id": str(number),
        "round": 1,
        "path": "tests/t",
        "version": 1,
        "status": "completed",
        "result": {"n": 1},
        "error": None,
    }
    headers, body = ear.heard[0]
    expected = hmac.new(signing_key("").encode(), body, "sha256").hexdigest()
    assert headers[SIGNATURE.lower()] == f"sha256={expected}"
    (said,) = events(shop, number, "log")
    assert said["text"].endswith("was called at the end (try 1)")
    assert "secret" not in said["text"]


def test_a_large_result_is_sent_whole(shop: Shop, ear: Ear) -> None:
    text = (
        "workflow:\n  - {step: start, next: [end]}\n  - {step: end, result: '{{ workload.x }}'}\n"
    )
    shop.start("workload: {x: a}\n" + text, {"x": "x" * 100_000}, on_end=ear.url)

    work(shop, lambda: not left(shop))

    assert ear.told()["result"] == "x" * 100_000


def test_a_large_result_that_is_kept_no_longer_is_named() -> None:
    call = EndCall(7, 1, "http://a", 1, Status.COMPLETED, "@abc", None, datetime.now(UTC), "p", 1)

    told = orjson.loads(call.body())

    assert told["result_ref"] == "abc"
    assert "result" not in told


def test_executions_without_an_address_leave_nothing(shop: Shop) -> None:
    number = shop.start(ECHO)

    assert left(shop) == []
    assert work_off(shop, number) == "completed"
    assert left(shop) == []


def test_a_failure_is_told_and_the_next_round_once_more(
    shop: Shop,
    ear: Ear,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    number = shop.start(FAILS, on_end=ear.url)
    work(shop, lambda: not left(shop))

    retry(desk, number, by=ANN)
    assert left(shop) == [(2, 0, False)]
    work(shop, lambda: not left(shop))

    assert [ear.told(n)["status"] for n in (0, 1)] == ["failed", "failed"]
    assert [ear.told(n)["round"] for n in (0, 1)] == [1, 2]
    assert ear.told()["error"]["code"] == "unlucky"
    assert len(set(ear.keys())) == 2


def test_a_cancel_without_a_worker_is_told_by_the_next_one(
    shop: Shop,
    ear: Ear,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    number = shop.start(ECHO, on_end=ear.url)
    with shop.connect("ear") as other:
        other.execute(f"listen {HALT}".encode())
        cancel(desk, number, by=ANN)
        assert any(one.payload == END for one in other.notifies(timeout=10))
    assert shop.status(number) == Status.CANCELLED
    assert left(shop) == [(1, 0, True)]

    work(shop, lambda: not left(shop))

    assert ear.told()["status"] == "cancelled"


def test_an_execution_that_was_over_with_its_start_is_told(shop: Shop, ear: Ear) -> None:
    number = shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)
    assert shop.status(number) == Status.COMPLETED

    work(shop, lambda: not left(shop))

    assert ear.told()["execution_id"] == str(number)


def test_a_key_that_was_used_before_asks_for_no_second_call(shop: Shop, ear: Ear) -> None:
    first = shop.start(ECHO, key="daily", on_end=ear.url)
    assert shop.start(ECHO, key="daily", on_end=ear.url) == first

    work(shop, lambda: not left(shop))

    assert len(ear.heard) == 1


def test_a_call_that_is_refused_is_made_again_under_the_same_key(
    shop: Shop,
    ear: Ear,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    ear.statuses = [503, 302]
    number = shop.start(ECHO, on_end=ear.url)

    for tries in (1, 2):
        work(shop, partial(has_tried, desk, number, tries))
        hasten(shop)
    (reason,) = why(desk, number)
    assert reason.kind == "call"
    assert "it answered 302" in reason.says
    assert "secret" not in reason.says
    work(shop, lambda: not left(shop))

    assert len(ear.heard) == 3
    assert len(set(ear.keys())) == 1


def test_a_call_whose_worker_died_is_made_by_another(shop: Shop, ear: Ear) -> None:
    """Whoever had claimed it is gone; its claim runs out."""
    number = shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)
    (claimed,) = claim(shop.records.connection, None, 10)
    assert claimed.execution_id == number
    assert claim(shop.records.connection, None, 10) == []

    hasten(shop)
    work(shop, lambda: not left(shop))

    assert len(ear.heard) == 1


@pytest.mark.parametrize("status", [503, 410])
def test_what_is_no_use_is_given_up_and_told_in_the_log(shop: Shop, ear: Ear, status: int) -> None:
    ear.statuses = [status]
    number = shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)
    if status == 503:
        shop.records.connection.execute("update noetl.end_call set tries = %s", (TRIES - 1,))

    work(shop, lambda: not left(shop))

    (said,) = events(shop, number, "log")
    assert (
        f"given up after try {TRIES if status == 503 else 1}: it answered {status}" in said["text"]
    )


def test_one_that_does_not_answer_delays_no_other(shop: Shop, ear: Ear) -> None:
    ear.may_answer.clear()
    shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)

    async def do() -> None:
        async with shop.worker():
            await shop.until(lambda: len(ear.heard) == 1)
            other = shop.start(ECHO)
            await shop.until(lambda: shop.status(other) == Status.COMPLETED, 5)
            assert len(left(shop)) == 1
            ear.may_answer.set()
            await shop.until(lambda: not left(shop))

    asyncio.run(do())


def test_who_works_for_one_execution_calls_nobody_for_another(shop: Shop, ear: Ear) -> None:
    shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)
    own = shop.start(ECHO, on_end=ear.url)

    async def do() -> None:
        async with shop.worker(only=(own,)):
            await shop.until(lambda: len(left(shop)) == 1)

    asyncio.run(do())

    assert [ear.told(n)["execution_id"] for n in range(len(ear.heard))] == [str(own)]


def test_a_removed_execution_takes_its_call_along(
    shop: Shop,
    ear: Ear,
    desk: Desk,  # noqa: F811  # a fixture
) -> None:
    shop.start("workflow:\n  - {step: start}\n", on_end=ear.url)

    remove_old(desk, timedelta(0))

    assert left(shop) == []


def test_an_address_is_one_of_a_server() -> None:
    for good in ("http://a/b", "https://[::1]:8/x?y=1"):
        assert wrong_address(good) is None
    for bad in ("", "a/b", "file:///etc/passwd", "http://", "http://a b", "http://a:x/", "ftp://a"):
        assert wrong_address(bad), bad
