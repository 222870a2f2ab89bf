"""Waiting without holding a worker: times, people, answers, children."""

import asyncio

from noetl_mcp.queue.lease import Status
from tests.worker.shop import Shop

ASK = """
workflow:
  - {step: start, next: [ask]}
  - step: ask
    type: approve
    approve: {message: "Go?", timeout: TIME, on_timeout: reject}
    next: [end]
  - {step: end, result: "{{ ask.approved }}"}
"""


def answer(shop: Shop, number: int, told: str) -> None:
    shop.records.connection.execute(
        "select noetl.meet_1(array[%s::bigint], array[1], array[0::bigint], array[%s], 'anna',"
        " '{}', '{}', '{}', '{}', '{}')",
        (number, told),
    )


def test_a_wait_holds_no_worker(shop: Shop) -> None:
    number = shop.start("workflow:\n  - {step: start, type: wait, wait: {for: 0.2}}\n")

    async def work() -> None:
        async with shop.worker() as worker:
            await shop.until(lambda: shop.state(number, "start") == "parked")
            assert not worker.engine.held
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())
    assert shop.done(number).status == "completed"
    assert shop.done(number).rows["start"][1] == 1


def test_an_approval_lets_the_execution_go_on(shop: Shop) -> None:
    number = shop.start(ASK.replace("TIME", "1h"))

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "ask") == "parked")
            answer(shop, number, '{"approved":true}')
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())
    assert shop.done(number).result is True
    kinds = shop.kinds(number, "ask")
    assert kinds.index("approval_requested") < kinds.index("approval_given")


def test_a_rejection_fails_the_step(shop: Shop) -> None:
    number = shop.start(ASK.replace("TIME", "1h"))

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "ask") == "parked")
            answer(shop, number, '{"approved":false,"comment":"too many"}')
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())
    done = shop.done(number)
    assert done.error is not None
    assert (done.error["code"], done.error["message"]) == (
        "rejected",
        "it was rejected by anna: too many",
    )


def test_silence_rejects_when_the_time_is_over(shop: Shop) -> None:
    done = shop.run(ASK.replace("TIME", "100ms"))

    assert done.error is not None
    assert done.error["message"] == "nobody answered in time"


def test_an_answer_that_came_early_is_kept(shop: Shop) -> None:
    number = shop.start(ASK.replace("TIME", "1h"))
    answer(shop, number, '{"approved":true}')

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())
    assert shop.done(number).status == "completed"


CHILD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: kid, path: tests/kid}
workload: {n: 1}
workflow:
  - {step: start, type: echo, data: {m: "{{ workload.n * 2 }}", fails: FAILS}, next: [end]}
  - {step: end, result: {m: "{{ start.m }}"}}
"""
PARENT = """
workflow:
  - {step: start, next: [kid]}
  - {step: kid, type: playbook, path: tests/kid, data: {n: 21}, next: [end]}
  - {step: end, result: "{{ kid.m }}"}
"""


def test_a_child_gives_its_result(shop: Shop) -> None:
    shop.submit(CHILD.replace("FAILS", "0"))

    done = shop.run(PARENT)

    assert done.result == 42


def test_a_failing_child_fails_its_step_and_says_where(shop: Shop) -> None:
    shop.submit(CHILD.replace("FAILS", "9"))

    done = shop.run(PARENT)

    assert done.error is not None
    assert done.error["step"] == "kid"
    assert "at step 'start'" in done.error["message"]


def test_a_child_is_not_started_with_what_it_does_not_take(shop: Shop) -> None:
    declared = "workload: {n: {type: integer, required: true}}"
    shop.submit(CHILD.replace("FAILS", "0").replace("workload: {n: 1}", declared))

    done = shop.run(PARENT.replace("n: 21", "n: lots"))

    assert done.error is not None
    assert done.error["code"] == "wrong-payload"


def test_the_version_of_a_child_is_that_of_the_start(shop: Shop) -> None:
    shop.submit(CHILD.replace("FAILS", "0"))
    number = shop.start(PARENT, pins='{"tests/kid":1}')
    shop.submit(CHILD.replace("FAILS", "0").replace("* 2", "* 3"))

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(work())
    assert shop.done(number).result == 42
    assert shop.run(PARENT).result == 63


def test_children_of_children(shop: Shop) -> None:
    shop.submit(CHILD.replace("FAILS", "0"))
    middle = PARENT.replace('"{{ kid.m }}"', '{m: "{{ kid.m }}"}')
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: mid, path: tests/mid}\n" + middle
    )

    done = shop.run(PARENT.replace("tests/kid, data: {n: 21}", "tests/mid"))

    assert done.result == 42
