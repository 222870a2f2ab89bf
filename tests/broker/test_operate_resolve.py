"""A doubt is settled by a person, once, and never by sending again what may still arrive."""

import asyncio
from datetime import timedelta

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.show import show, show_step
from noetl_mcp.events.fold import Step, fold
from noetl_mcp.events.log import Log
from noetl_mcp.queue.lease import Status
from noetl_mcp.worker.life import give_up
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.shop import Shop

LOSES = """
workflow:
  - {step: start, next: [w]}
  - {step: w, type: change, confirm: true, data: {lose: true, n: 1}%s, next: [end]}
  - {step: end, result: "{{ w }}"}
"""


def in_doubt(shop: Shop, more: str = "") -> int:
    number = shop.start(LOSES % more)
    work(shop, lambda: shop.state(number, "w") == "in_doubt")
    return number


def answers(shop: Shop) -> None:
    async def answer(call: object) -> object:
        return {"n": 2}

    shop.change.answer = answer  # type: ignore[assignment]


def test_accepting_takes_the_given_result_and_does_nothing_again(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop)

    resolve(desk, number, "w", "accept", value={"n": 9}, by=ANN, reason="I looked")

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == {"n": 9}
    assert len(shop.change.calls) == 1
    (told,) = events(shop, number, "step_resolved")
    assert told == {
        "how": "accept",
        "state": 1,
        "lease": 1,
        "by": "ann",
        "reason": "I looked",
        "answer": {"n": 9},
    }


def test_accepting_is_not_told_as_a_further_write(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop, ", expect: {minCreated: 1}")

    resolve(desk, number, "w", "accept", value={"ok": True}, by=ANN)

    assert work_off(shop, number) == "failed"
    assert shop.kinds(number, "w").count("action_started") == 1
    assert show_step(desk, number, "w")["attempts"] == 1
    (step,) = (s for s in shown_by_log(shop, number) if s.name == "w")
    assert (step.state, step.attempt) == ("failed", 1)
    retry(desk, number, by=ANN)
    assert work_off(shop, number) == "failed"
    assert shop.kinds(number, "w").count("action_started") == 1
    assert show_step(desk, number, "w")["attempts"] == 1


def test_an_abort_that_goes_on_is_not_told_as_a_further_write(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop, ", on_error: end")

    resolve(desk, number, "w", "abort", by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.kinds(number, "w").count("action_started") == 1


def test_a_write_that_is_sent_again_is_told(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop)
    resolve(desk, number, "w", "retry", by=ANN)
    work(shop, lambda: shop.state(number, "w") == "in_doubt")
    resolve(desk, number, "w", "accept", value=1, by=ANN)

    assert work_off(shop, number) == "completed"

    assert shop.kinds(number, "w").count("action_started") == len(shop.change.calls) == 2
    assert show_step(desk, number, "w")["attempts"] == 2


def test_what_was_accepted_counts_as_written(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop, ", on_error: end")
    resolve(desk, number, "w", "accept", value=1, by=ANN)
    work_off(shop, number)
    shop.records.connection.execute(
        "update noetl.execution set status = 2 where id = %s", (number,)
    )

    with pytest.raises(NotAllowed, match="write again what was written by 'w'"):
        retry(desk, number, by=ANN, from_step="w")


def shown_by_log(shop: Shop, number: int) -> list[Step]:
    return list(fold(Log(shop.records.connection).events(number)).steps.values())


def test_an_accepted_result_is_judged_by_the_bounds_of_its_step(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop, ", expect: {minCreated: 1}")

    resolve(desk, number, "w", "accept", value={"ok": True}, by=ANN)

    assert work_off(shop, number) == "failed"
    error = shop.done(number).error
    assert error is not None
    assert error["code"] == "expectation-unverifiable"
    assert len(shop.change.calls) == 1


def test_a_worker_that_said_itself_that_it_does_not_know_is_done_with_it(
    shop: Shop, desk: Desk
) -> None:
    number = in_doubt(shop)
    answers(shop)

    resolve(desk, number, "w", "retry", by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == {"n": 2}
    assert len(shop.change.calls) == 2
    assert shop.change.calls[0].key == shop.change.calls[1].key


def test_aborting_fails_the_execution(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop)

    resolve(desk, number, "w", "abort", by=ANN, reason="too risky")

    done = shop.done(number)
    assert done.status == "failed"
    assert done.error == {
        "code": "aborted",
        "message": "aborted by ann: too risky",
        "step": "w",
        "attempt": 1,
    }


def test_an_abort_takes_the_ways_after_a_failure(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop, ", on_error: end")

    resolve(desk, number, "w", "abort", by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).steps["w"] == "failed"
    assert len(shop.change.calls) == 1


def test_an_aborted_item_counts_as_one_that_failed(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [0, 1], element: x, tolerate: 1,"
        ' task: {type: change, confirm: true, data: {lose: "{{ x == 0 }}"}}, next: [end]}\n'
        '  - {step: end, result: "{{ each.errors }}"}\n'
    )
    work(shop, lambda: "in_doubt" in shop.done(number).steps.values())

    resolve(desk, number, "each[0]", "abort", by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == [
        {"index": 0, "code": "aborted", "message": "aborted by ann"}
    ]


def test_a_resolution_names_the_very_doubt(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop)
    resolve(desk, number, "w", "retry", by=ANN, lease=1)
    work(shop, lambda: shop.state(number, "w") == "in_doubt")

    with pytest.raises(NotAllowed, match="doubt 1 of 'w' is over; there is a new one, number 2"):
        resolve(desk, number, "w", "accept", value=1, by=ANN, lease=1)

    resolve(desk, number, "w", "accept", value=1, by=ANN, lease=2)
    with pytest.raises(NotAllowed, match="'w' is not in doubt; it is ready"):
        resolve(desk, number, "w", "accept", value=1, by=ANN)


def lost(shop: Shop, more: str) -> int:
    """Bring a step in doubt by giving its worker up while it writes."""
    number = shop.start(LOSES.replace("lose: true", "sleep: 30") % more)

    async def do() -> None:
        async with shop.worker() as worker:
            await shop.until(lambda: bool(shop.change.calls))
            connection = shop.records.connection
            assert give_up(connection, worker.engine.line.worker, None) == 1
            for held in list(worker.engine.held.values()):
                assert held.task is not None
                held.task.cancel()

    with pytest.raises(Exception, match="fenced"):
        asyncio.run(do())
    assert shop.state(number, "w") == "in_doubt"
    return number


def test_what_a_lost_worker_sent_may_still_arrive_for_a_while(shop: Shop, desk: Desk) -> None:
    number = lost(shop, ", timeout: 60")

    with pytest.raises(NotAllowed, match=r"may still arrive.*in (75|74) s.*--force"):
        resolve(desk, number, "w", "retry", by=ANN)

    answers(shop)
    resolve(desk, number, "w", "retry", by=ANN, force=True)
    assert work_off(shop, number) == "completed"
    rows = desk.connection.execute("select action, keys, outcome from noetl.audit order by id")
    assert [row[1] for row in rows] == [[], ["force"]]


def test_after_lease_and_request_have_passed_it_is_done_again(shop: Shop, desk: Desk) -> None:
    number = lost(shop, ", timeout: 0.001")
    desk.lease = timedelta(0)
    answers(shop)

    resolve(desk, number, "w", "retry", by=ANN)

    assert work_off(shop, number) == "completed"


def test_a_cancel_waits_for_the_doubt_and_ends_with_it(shop: Shop, desk: Desk) -> None:
    number = in_doubt(shop)
    cancel(desk, number, by=ANN)
    with pytest.raises(NotAllowed, match="accept or abort"):
        resolve(desk, number, "w", "retry", by=ANN)
    assert shop.status(number) == Status.RUNNING

    resolve(desk, number, "w", "accept", value=1, by=ANN)

    assert shop.status(number) == Status.CANCELLED


def test_an_accepted_step_of_a_cancelled_execution_is_shown_as_answered(
    shop: Shop, desk: Desk
) -> None:
    number = in_doubt(shop)
    cancel(desk, number, by=ANN)

    resolve(desk, number, "w", "accept", value={"n": 9}, by=ANN)

    assert work_off(shop, number) == "cancelled"
    step = next(one for one in show(desk, number)["steps"] if one["name"] == "w")
    assert (step["state"], step["answered"]) == ("cancelled", True)
    assert show_step(desk, number, "w")["answer"] == {"n": 9}
    retry(desk, number, by=ANN)
    assert work_off(shop, number) == "completed"
    assert len(shop.change.calls) == 1
