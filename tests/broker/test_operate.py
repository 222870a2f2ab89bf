"""Cancel, pause and resume: what is told at once, what is waited for, what is refused."""

import asyncio

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.shop import Shop

TWO = """
workflow:
  - {step: start, next: [a]}
  - {step: a, type: echo, data: {x: 1}, next: [b]}
  - {step: b, type: echo, data: {y: 2}, next: [end]}
  - {step: end, result: done}
"""
ASKS = """
workflow:
  - {step: start, next: [ask]}
  - {step: ask, type: approve, approve: {message: "Go on?"}, next: [end]}
  - {step: end}
"""
CLEANS = """
workflow:
  - {step: start, next: [ask]}
  - {step: ask, type: approve, approve: {message: "Go on?"}, next: [end]}
  - {step: end}
finally:
  - {step: clean, type: echo, data: {sleep: 0.3}}
"""


def test_a_cancel_ends_an_execution_although_no_worker_is_up(shop: Shop, desk: Desk) -> None:
    number = shop.start(TWO)

    found = cancel(desk, number, by=ANN, reason="a mistake")

    assert (found.is_over, found.executions) == (True, (number,))
    done = shop.done(number)
    assert (done.status, done.steps["a"]) == ("cancelled", "cancelled")
    assert done.error == {"code": "cancelled", "message": "cancelled by ann: a mistake"}
    assert shop.kinds(number)[-3:] == ["log", "step_cancelled", "execution_cancelled"]


def test_a_cancel_is_written_down_before_it_acts(shop: Shop, desk: Desk) -> None:
    number = shop.start(TWO)
    cancel(desk, number, by=ANN, reason="a mistake")
    with pytest.raises(NotAllowed):
        cancel(desk, number, by=ANN)

    rows = desk.connection.execute(
        "select who, whence, action, target, reason, outcome from noetl.audit order by id"
    ).fetchall()

    assert rows[0] == ("ann", "tests", "cancel", str(number), "a mistake", "done")
    assert rows[1][5].startswith("refused: ")


def test_finally_steps_run_after_a_cancel_and_cannot_be_cancelled_by_it(
    shop: Shop, desk: Desk
) -> None:
    number = shop.start(CLEANS)
    work(shop, lambda: shop.state(number, "ask") == "parked")

    found = cancel(desk, number, by=ANN)

    assert not found.is_over
    assert shop.state(number, "clean") == "ready"
    with pytest.raises(NotAllowed, match="only the `finally` steps"):
        cancel(desk, number, by=ANN)
    assert work_off(shop, number) == "cancelled"
    assert shop.done(number).steps["clean"] == "done"


def test_force_ends_the_finally_steps_too(shop: Shop, desk: Desk) -> None:
    number = shop.start(CLEANS)
    work(shop, lambda: shop.state(number, "ask") == "parked")
    cancel(desk, number, by=ANN)

    found = cancel(desk, number, by=ANN, force=True)

    assert found.is_over
    assert shop.done(number).status == "cancelled"
    assert shop.done(number).steps["clean"] == "cancelled"


def test_a_cancel_waits_for_a_doubt_and_says_so(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [w]}\n"
        "  - {step: w, type: change, confirm: true, data: {lose: true}, next: [end]}\n"
        "  - {step: end}\n"
    )
    work(shop, lambda: shop.state(number, "w") == "in_doubt")

    found = cancel(desk, number, by=ANN)

    assert not found.is_over
    assert found.waits_for == ("'w' is in doubt: resolve it",)


@pytest.mark.parametrize(("task", "ends"), [("change", "done"), ("echo", "cancelled")])
def test_a_cancel_stops_what_reads_and_lets_a_write_come_to_its_end(
    shop: Shop, desk: Desk, task: str, ends: str
) -> None:
    release = asyncio.Event()

    async def slow(call: Call) -> Json:
        await release.wait()
        return {"done": 1}

    shop.change.answer = shop.echo.answer = slow
    body = f"{{step: start, type: {task}, confirm: true, data: {{x: 1}}, next: [after]}}"
    number = shop.start(f"workflow:\n  - {body}\n  - {{step: after, type: echo}}\n")

    async def do() -> None:
        async with shop.worker() as worker:
            await shop.until(lambda: len(shop.change.calls) + len(shop.echo.calls) == 1)
            cancel(desk, number, by=ANN)
            await worker.tending._close()
            release.set()
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert shop.status(number) == Status.CANCELLED
    assert shop.state(number, "start") == ends
    assert len(shop.change.calls) + len(shop.echo.calls) == 1


def test_a_cancel_reaches_children_first(shop: Shop, desk: Desk) -> None:
    child = ASKS.replace("workflow:", "workflow:", 1)
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n" + child
    )
    number = shop.start(
        "workflow:\n  - {step: start, next: [kid]}\n"
        "  - {step: kid, type: playbook, path: tests/c, next: [end]}\n  - {step: end}\n"
    )
    work(shop, lambda: shop.state(number, "kid") == "parked")

    found = cancel(desk, number, by=ANN)

    assert len(found.executions) == 2
    assert shop.status(found.executions[1]) == Status.CANCELLED
    assert found.is_over
    assert shop.done(number).status == "cancelled"


def test_what_runs_under_a_pause_comes_to_its_end_and_nothing_follows(
    shop: Shop, desk: Desk
) -> None:
    number = shop.start(TWO.replace("{x: 1}", "{sleep: 0.2}"))

    async def do() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "a") == "leased")
            pause(desk, number, by=ANN, reason="look first")
            await shop.until(lambda: shop.state(number, "a") == "done")
            await asyncio.sleep(0.1)
            assert shop.state(number, "b") == "ready"
            resume(desk, number, by=ANN)
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert shop.done(number).status == "completed"
    assert events(shop, number, "execution_paused") == [{"by": "ann", "reason": "look first"}]
    assert events(shop, number, "execution_resumed") == [{"by": "ann"}]


def test_a_paused_execution_that_had_not_begun_begins_when_it_is_resumed(
    shop: Shop, desk: Desk
) -> None:
    number, other = shop.start(TWO), shop.start(TWO)
    pause(desk, number, by=ANN)
    assert work_off(shop, other) == "completed"
    assert shop.status(number) == Status.RUNNING

    resume(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"


@pytest.mark.parametrize("mode", ["mode: sequential", "mode: async, concurrency: 2"])
def test_an_iterator_goes_on_with_its_items_after_a_pause(
    mode: str, shop: Shop, desk: Desk
) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        f"  - {{step: each, type: iterator, collection: [1, 2, 3, 4, 5], element: x, {mode},"
        ' task: {type: echo, data: {x: "{{ x }}", sleep: 0.05}}, next: [end]}\n'
        '  - {step: end, result: "{{ each.count }}"}\n'
    )

    async def do() -> None:
        async with shop.worker():
            await shop.until(
                lambda: "done" in shop.done(number).steps.values() and shop.echo.calls != []
            )
            pause(desk, number, by=ANN)
            await shop.until(lambda: "leased" not in shop.done(number).steps.values())
            await asyncio.sleep(0.05)
            resume(desk, number, by=ANN)
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert shop.done(number).result == 5
    assert len(shop.echo.calls) == 5


def test_a_wait_that_was_over_during_a_pause_is_noticed_afterwards(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [w]}\n"
        "  - {step: w, type: wait, wait: {for: 0.2s}, next: [end]}\n  - {step: end}\n"
    )
    other = shop.start(TWO.replace("{x: 1}", "{sleep: 0.4}"))
    work(shop, lambda: shop.state(number, "w") == "parked")
    pause(desk, number, by=ANN)
    work_off(shop, other)
    assert shop.state(number, "w") == "parked"

    resume(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"


def test_children_are_paused_and_resumed_with_their_parent(shop: Shop, desk: Desk) -> None:
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n" + ASKS
    )
    number = shop.start(
        "workflow:\n  - {step: start, next: [kid]}\n"
        "  - {step: kid, type: playbook, path: tests/c, next: [end]}\n  - {step: end}\n"
    )
    work(shop, lambda: shop.state(number, "kid") == "parked")

    assert len(pause(desk, number, by=ANN)) == 2
    assert len(resume(desk, number, by=ANN)) == 2


def test_a_child_that_was_paused_before_stays_paused(shop: Shop, desk: Desk) -> None:
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n" + ASKS
    )
    number = shop.start(
        "workflow:\n  - {step: start, next: [kid]}\n"
        "  - {step: kid, type: playbook, path: tests/c, next: [end]}\n  - {step: end}\n"
    )
    work(shop, lambda: shop.state(number, "kid") == "parked")
    pause(desk, number + 1, by=ANN)

    assert pause(desk, number, by=ANN) == (number,)
    assert resume(desk, number, by=ANN) == (number,)


def test_what_the_state_does_not_allow_is_refused_with_what_it_allows(
    shop: Shop, desk: Desk
) -> None:
    over, number = shop.start(TWO), shop.start(TWO)
    work_off(shop, over)
    with pytest.raises(NotAllowed, match="completed and cannot be paused; 'rerun'"):
        pause(desk, over, by=ANN)
    with pytest.raises(NotAllowed, match="is not paused"):
        resume(desk, shop.start(ASKS), by=ANN)
    cancel(desk, shop.start(ASKS), by=ANN)
    with pytest.raises(Unknown, match="there is no execution 99999"):
        cancel(desk, 99999, by=ANN)
    del number


def test_a_cancel_stops_what_only_reads(shop: Shop, desk: Desk) -> None:
    shop.lease = 0.8
    number = shop.start(TWO.replace("{x: 1}", "{sleep: 30}"))

    async def do() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "a") == "leased")
            found = cancel(desk, number, by=ANN)
            assert not found.is_over
            assert found.waits_for[0].startswith("'a' runs on worker ")
            await shop.until(lambda: shop.status(number) != Status.RUNNING)

    asyncio.run(do())

    assert shop.done(number).steps["a"] == "cancelled"
