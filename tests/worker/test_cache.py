"""A step with `cache` is not done again for what was asked before, by whatever execution."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from noetl_mcp.broker.answers import approve
from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.rerun import rerun
from noetl_mcp.broker.retention import remove_old
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.worker.housekeeping import Housekeeping
from tests.broker.desks import events, work, work_off
from tests.worker.shop import HEAD, Done, Shop
from tests.worker.test_rehearsal import Stage

ANN = By("ann", "tests")


def book(care: str, data: str = '{x: "{{ workload.x }}"}', path: str = "tests/t") -> str:
    return (
        HEAD.replace("tests/t", path) + "workload: {x: 1, y: 0}\n"
        f"workflow:\n  - {{step: start, next: [a]}}\n"
        f"  - {{step: a, type: echo, data: {data}, {care}, next: [end]}}\n"
        '  - {step: end, result: {a: "{{ a }}", cached: "{{ a.meta.cached | default(false) }}"}}\n'
    )


CACHED = book("cache: true")


@pytest.fixture
def calls(shop: Shop) -> list[Call]:
    """Every call gives another result, so a former one can be told from it."""

    async def counted(call: Call) -> Any:
        return {"call": len(shop.echo.calls)}

    shop.echo.answer = counted
    return shop.echo.calls


def given(done: Done) -> tuple[int, bool]:
    assert isinstance(done.result, dict)
    a, cached = done.result["a"], done.result["cached"]
    assert isinstance(a, dict)
    assert isinstance(cached, bool)
    return int(str(a["call"])), cached


def test_the_same_question_is_answered_from_the_cache(shop: Shop, calls: list[Call]) -> None:
    first, second = shop.run(CACHED), shop.run(CACHED)
    other = shop.run(CACHED, {"x": 2})

    assert [given(one) for one in (first, second, other)] == [(1, False), (1, True), (2, False)]
    assert len(calls) == 2


def test_the_event_tells_whose_result_it_was(shop: Shop, calls: list[Call]) -> None:
    first, second = shop.run(CACHED), shop.run(CACHED)

    told = [one for one in events(shop, second.id, "step_completed") if "note" in one]

    note = {"cached": True, "execution_id": str(first.id)}
    assert told == [{"result": {"call": 1}, "note": note}]


def test_what_is_too_old_is_asked_again(shop: Shop, calls: list[Call]) -> None:
    text = book("cache: {ttl: 10m}")
    first = shop.run(text)
    shop.records.connection.execute(
        "update noetl.cached set made_at = made_at - interval '11 minutes'"
    )

    second, third = shop.run(text), shop.run(text)

    assert [given(one) for one in (first, second, third)] == [(1, False), (2, False), (2, True)]


def test_the_author_says_what_makes_two_inputs_the_same(shop: Shop, calls: list[Call]) -> None:
    text = book(
        'cache: {key: "{{ workload.x }}"}', '{x: "{{ workload.x }}", y: "{{ workload.y }}"}'
    )

    found = [given(shop.run(text, {"x": x, "y": y})) for x, y in ((1, 1), (1, 2), (2, 2))]
    changed = given(shop.run(text.replace('y: "{{ workload.y }}"', "z: 1"), {"x": 1}))

    assert found == [(1, False), (1, True), (2, False)]
    assert changed == (3, False), "another program is another question"


def test_another_step_and_another_playbook_ask_for_themselves(
    shop: Shop, calls: list[Call]
) -> None:
    shop.run(CACHED)

    moved = shop.run(book("cache: true", path="tests/other"))
    b = CACHED.replace("[a]", "[b]").replace("step: a", "step: b")
    renamed = shop.run(b.replace("{{ a", "{{ b"))

    assert [given(one) for one in (moved, renamed)] == [(2, False), (3, False)]


def test_a_failure_is_not_kept(shop: Shop) -> None:
    async def unlucky(call: Call) -> Any:
        if len(shop.echo.calls) == 1:
            raise Failed("unlucky", "no")
        return {"call": len(shop.echo.calls)}

    shop.echo.answer = unlucky

    assert shop.run(CACHED).status == "failed"
    assert given(shop.run(CACHED)) == (2, False)


def test_what_the_step_itself_refuses_is_not_kept(shop: Shop, calls: list[Call]) -> None:
    text = book('cache: true, assert: {that: ["{{ result.call > 1 }}"]}')

    first, second, third = shop.run(text), shop.run(text), shop.run(text)

    assert first.status == "failed"
    assert (given(second), given(third)) == ((2, False), (2, True))


def test_what_writes_is_never_given_from_the_cache(shop: Shop) -> None:
    text = book("cache: true, confirm: true").replace("type: echo", "type: change")

    shop.run(text)
    shop.run(text)

    assert len(shop.change.calls) == 2
    assert kept(shop) == []


def test_a_retry_does_it_anew_and_keeps_what_it_gives(shop: Shop, calls: list[Call]) -> None:
    first = shop.run(CACHED)
    text = CACHED.replace(
        "next: [end]}",
        "next: [b]}\n  - {step: b, type: change, confirm: true, data: {fails: 1}, next: [end]}",
    )
    again = shop.run(text)
    assert (given(first), again.status) == ((1, False), "failed")
    shop.change.answer = shop.echo.answer

    retry(Desk(shop.records.connection), again.id, by=ANN, from_step="a")

    assert work_off(shop, again.id) == "completed"
    assert given(shop.done(again.id)) == (2, False)
    assert given(shop.run(CACHED)) == (2, True)


def test_a_rerun_asks_the_cache_as_any_start_does(shop: Shop, calls: list[Call]) -> None:
    first = shop.run(CACHED)

    number = rerun(Desk(shop.records.connection), first.id, by=ANN)

    assert work_off(shop, number) == "completed"
    assert given(shop.done(number)) == (1, True)


def test_another_worker_knows_what_came_from_the_cache(shop: Shop, calls: list[Call]) -> None:
    shop.run(CACHED)
    ask = "next: [ask]}\n  - {step: ask, type: approve, approve: {message: m}, next: [end]}"
    number = shop.start(CACHED.replace("next: [end]}", ask))
    work(shop, lambda: shop.state(number, "ask") == "parked")

    approve(Desk(shop.records.connection), number, "ask", by=ANN)

    assert work_off(shop, number) == "completed"
    assert given(shop.done(number)) == (1, True)


def test_each_item_of_an_iterator_asks_for_itself(shop: Shop, calls: list[Call]) -> None:
    text = (
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2, 1], element: x,"
        ' task: {type: echo, data: {x: "{{ x }}"}, cache: true}, next: [end]}\n'
        '  - {step: end, result: "{{ each.results }}"}\n'
    )

    done = shop.run(text)

    assert done.result == [{"call": 1}, {"call": 2}, {"call": 1}]


def test_no_secret_can_be_read_from_the_cache(shop: Shop) -> None:
    async def leaky(call: Call) -> Any:
        return {"call": 1, "said": call.input}

    shop.echo.answer = leaky
    shop.secrets = World(secrets={"pin": Secret("s3cr3t-V4lue")})
    text = book("cache: true", '{x: "{{ secrets.pin }}"}')
    keyed = book('cache: {key: "{{ secrets.pin }}"}', "{x: 1}")

    shop.run(text)
    shop.run(keyed)
    shop.secrets = World(secrets={"pin": Secret("an0ther-V4lue")})
    other = shop.run(text)

    assert given(other)[1] is False
    assert len(kept(shop)) == 3
    assert "V4lue" not in str(kept(shop))


def test_a_large_result_is_kept_by_its_digest_as_long_as_the_cache_names_it(shop: Shop) -> None:
    async def large(call: Call) -> Any:
        return {"call": len(shop.echo.calls), "x": "x" * 100_000}

    shop.echo.answer = large
    connection = shop.records.connection
    text = CACHED.replace('a: "{{ a }}"', 'a: {call: "{{ a.call }}"}')
    shop.run(text)

    swept = remove_old(Desk(connection), timedelta())
    assert given(shop.run(text)) == (1, True)
    connection.execute("delete from noetl.cached")
    gone = remove_old(Desk(connection), timedelta())

    assert (swept.payloads, gone.payloads) == (0, 1)


def test_a_large_result_that_is_gone_is_asked_for_again(shop: Shop, calls: list[Call]) -> None:
    shop.run(CACHED)
    shop.records.connection.execute("update noetl.cached set result = '@gone'")

    assert given(shop.run(CACHED)) == (2, False)


def test_the_house_is_kept_free_of_what_is_good_no_more(shop: Shop, calls: list[Call]) -> None:
    connection = shop.records.connection
    shop.run(CACHED)
    shop.run(book("cache: {ttl: 1h}", path="tests/hour"))
    shop.run(book("cache: {ttl: 9d}", path="tests/days"))
    connection.execute(
        "update noetl.cached set made_at = made_at - interval '2 days',"
        " expires_at = expires_at - interval '2 days'"
    )

    Housekeeping().do(connection)
    after = len(kept(shop))
    Housekeeping(timedelta(days=1)).do(connection)

    assert (after, kept(shop)) == (2, [])


def test_a_dry_run_neither_asks_nor_keeps_anything() -> None:
    stage = Stage()
    text = "workflow:\n  - {step: start, type: echo, data: {x: 1}, cache: true}\n"

    first, second = stage.run(text), stage.run(text)

    assert (first.status, second.status) == (Status.COMPLETED, Status.COMPLETED)
    assert len(stage.echo.calls) == 2


def test_two_workers_that_are_asked_at_once_do_no_harm(shop: Shop, calls: list[Call]) -> None:
    numbers = [shop.start(CACHED) for _ in range(12)]

    async def both() -> None:
        async with shop.worker(waiting=2), shop.worker(waiting=2):
            await shop.until(lambda: all(shop.status(n) != Status.RUNNING for n in numbers))

    asyncio.run(both())
    assert {shop.done(number).status for number in numbers} == {"completed"}
    assert len(kept(shop)) == 1
    assert given(shop.run(CACHED))[1]


def test_a_time_that_is_none_fails_the_step(shop: Shop, calls: list[Call]) -> None:
    done = shop.run(book('cache: {ttl: "{{ workload.x }} moons"}'))

    assert done.error is not None
    assert done.error["code"] == "bad-settings"
    assert "'cache.ttl' should be a duration" in done.error["message"]


def kept(shop: Shop) -> list[tuple[Any, ...]]:
    return shop.records.connection.execute("select * from noetl.cached").fetchall()
