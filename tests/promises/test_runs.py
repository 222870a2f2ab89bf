"""What holds for whole executions, whoever does them."""

import asyncio
import time

import pytest

from noetl_mcp.broker.answers import answer, approve
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.tokens import token
from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.lease import Status
from noetl_mcp.queue.pools import queues_behind
from noetl_mcp.tasks.calls import Call, Failed
from tests.broker.desks import ANN, work, work_off
from tests.faults.judge import Judge
from tests.worker.shop import Answer, Shop

CALLED = """
workflow:
  - {step: start, next: [hear]}
  - {step: hear, type: callback, next: [bad]}
  - {step: bad, type: echo, data: {x: 1}, next: [end]}
  - {step: end}
"""


def unlucky(*steps: str) -> Answer:
    """Return an answer that fails for some steps."""

    async def answered(call: Call) -> Json:
        if call.step in steps:
            raise Failed("unlucky", "no", retriable=False)
        return {"x": 1}

    return answered


def test_an_execution_is_over_when_the_slower_ways_into_an_any_join_are(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, next: [near, far]}
  - {step: near, type: echo, next: [use]}
  - {step: far, type: echo, data: {sleep: 0.3}, next: [use]}
  - {step: use, join: any, type: echo}
"""
    )

    rows = shop.records.connection.execute(
        "select k.name, p.name from noetl.event v join noetl.event_kind k using (kind)"
        " left join noetl.plan_step p on p.plan_id = 1 and p.idx = v.idx"
        " where v.execution_id = %s order by v.id",
        (done.id,),
    ).fetchall()
    ends = [row for row in rows if row[0] in ("step_completed", "execution_completed")]
    far, over = ends.index(("step_completed", "far")), ends.index(("execution_completed", None))
    assert ends.index(("step_completed", "use")) < far < over


def test_a_limit_holds_for_steps_that_their_worker_could_keep(shop: Shop) -> None:
    """A successor with a limit goes through its queue, where permits are counted."""
    now, most = 0, 0

    async def counted(call: Call) -> Json:
        nonlocal now, most
        if call.step == "a":
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.05)
            now -= 1
        return {}

    shop.echo.answer = counted
    text = (
        "limits: {revit: 1}\nworkflow:\n  - {step: start, type: echo, next: [a]}\n"
        "  - {step: a, type: echo, limits: revit}\n"
    )
    numbers = [shop.start(text) for _ in range(4)]
    work(shop, lambda: all(shop.status(one) for one in numbers))

    assert most == 1


def test_a_write_has_one_key_for_all_attempts_and_another_in_the_next_round(
    shop: Shop, desk: Desk
) -> None:
    text = (
        "workflow:\n  - {step: start, type: change, confirm: true,"
        " retry: {max_attempts: 3, initial_delay: 0.01}}\n"
    )
    number = shop.start(text)

    async def refuses(call: Call) -> Json:
        raise Failed("refused", "nothing was done")

    shop.change.answer = refuses
    assert work_off(shop, number) == "failed"
    retry(desk, number, by=ANN)
    assert work_off(shop, number) == "failed"

    keys = [call.key for call in shop.change.calls]
    assert (keys[0], keys[3]) == (keys[2], keys[5])
    assert len(keys) == 6
    assert len(set(keys)) == 2


def test_a_way_that_was_taken_is_not_asked_for_again(shop: Shop, desk: Desk) -> None:
    """What a condition saw may be gone; the retry goes where the first round went."""
    number = shop.start(
        """
workflow:
  - step: start
    type: echo
    data: {x: 1}
    next:
      - {step: one, when: "{{ start.x == 1 }}"}
      - {step: other, when: "{{ start.x == 2 }}"}
      - {step: bad, when: "{{ start.x == 1 }}"}
  - {step: one, type: echo, next: [end]}
  - {step: other, type: echo, next: [end]}
  - {step: bad, type: echo, next: [end]}
  - {step: end}
"""
    )
    shop.echo.answer = unlucky("bad")
    assert work_off(shop, number) == "failed"
    shop.echo.answer = unlucky()
    shop.records.connection.execute(
        "update noetl.step set result = '{\"x\":2}' where execution_id = %s and idx = 0", (number,)
    )

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    steps = shop.done(number).steps
    assert (steps["one"], steps["other"], steps["bad"]) == ("done", "skipped", "done")


def test_finally_steps_outlast_the_time_of_their_execution(shop: Shop) -> None:
    done = shop.run(
        "timeout: 0.3\nworkflow:\n  - {step: start, type: echo, data: {sleep: 5}}\n"
        "finally:\n  - {step: clean, type: echo, data: {sleep: 0.8}}\n"
    )

    assert (done.status, done.steps["clean"]) == ("failed", "done")
    assert done.error is not None
    assert done.error["code"] == "timeout"


def test_finally_steps_after_a_body_that_ended_in_time_are_not_cut_short(shop: Shop) -> None:
    done = shop.run(
        "timeout: 0.5\nworkflow:\n  - {step: start, type: echo}\n"
        "finally:\n  - {step: clean, type: echo, data: {sleep: 1.2}}\n"
    )

    assert (done.status, done.steps["clean"]) == ("completed", "done")


def test_a_token_of_an_earlier_round_opens_nothing(shop: Shop, desk: Desk) -> None:
    number = shop.start(CALLED)
    shop.echo.answer = unlucky("bad")
    work(shop, lambda: shop.state(number, "hear") == "parked")
    row = desk.connection.execute("select token, idx from noetl.signal").fetchone()
    assert row is not None
    answer(desk, row[0], {"n": 1}, by=ANN)
    assert work_off(shop, number) == "failed"

    retry(desk, number, by=ANN, from_step="hear")
    work(shop, lambda: shop.state(number, "hear") == "parked")

    with pytest.raises(Unknown):
        answer(desk, row[0], {"n": 2}, by=ANN)
    answer(desk, token("", number, row[1], 0, 2), {"n": 2}, by=ANN)


def test_a_token_can_be_told_before_its_step_and_by_nobody_without_the_secret() -> None:
    assert token("secret", 7, 1, 0, 1) == token("secret", 7, 1, 0, 1)
    others = {
        token("guess", 7, 1, 0, 1),
        token("secret", 8, 1, 0, 1),
        token("secret", 7, 2, 0, 1),
        token("secret", 7, 1, 1, 1),
        token("secret", 7, 1, 0, 2),
    }

    assert len(others - {token("secret", 7, 1, 0, 1)}) == 5


def test_a_plan_of_a_newer_form_is_not_done_by_older_code(shop: Shop) -> None:
    """It is handed back untouched, for a newer worker."""
    number = shop.start("workflow:\n  - {step: start, type: echo}\n")
    shop.records.connection.execute(
        "update noetl.plan"
        " set format = 2, content = replace(content, '\"format\":1', '\"format\":2')"
    )

    work(shop, lambda: shop.state(number, "start") == "retrying")

    assert shop.echo.calls == []
    assert shop.status(number) == Status.RUNNING
    assert shop.done(number).rows["start"][1] == 0


def test_a_plan_of_a_newer_form_is_given_to_no_older_worker(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps wait in queues that only newer workers take from."""
    text = (
        "workflow:\n  - {step: start, type: echo, next: [count]}\n  - {step: count, type: python,"
    )
    text += " code: 'result = 1'}\n"
    shop.submit(text)
    shop.records.connection.execute(
        "update noetl.plan"
        " set format = 2, content = replace(content, '\"format\":1', '\"format\":2')"
    )
    with monkeypatch.context() as upgrade:
        upgrade.setattr("noetl_mcp.broker.program.FORMAT", 2)
        number = shop.start(text)
    other = shop.start("workflow:\n  - {step: start, type: echo, data: {o: 1}}\n")

    assert work_off(shop, other) == "completed"

    assert shop.kinds(number, "start") == []
    with pytest.raises(NotAllowed, match=r"form 2, and this version knows forms up to 1"):
        shop.start(text)
    monkeypatch.setattr("noetl_mcp.broker.program.FORMAT", 2)
    work(shop, lambda: shop.status(number) != Status.RUNNING, pools=queues_behind([""], 2))
    assert shop.done(number).status == "completed"


def test_items_that_run_are_stopped_when_too_many_have_failed(shop: Shop) -> None:
    began = time.monotonic()
    done = shop.run(
        "workflow:\n  - {step: start, type: iterator, collection: [0, 5, 5], element: x,"
        " mode: async, concurrency: 3,"
        " task: {type: echo, data: {sleep: '{{ x }}', fails: '{{ 1 if x == 0 else 0 }}'}}}\n"
    )

    assert done.status == "failed"
    assert time.monotonic() - began < 4


def test_nothing_further_is_handed_out_and_the_step_waits_for_the_last_that_was(
    shop: Shop,
) -> None:
    """What writes is not stopped by the failure of another item."""
    done = shop.run(
        "workflow:\n  - {step: start, type: iterator, collection: [0, 0.3, 0.3, 9], element: x,"
        " mode: async, concurrency: 3,"
        " task: {type: change, confirm: true,"
        " data: {sleep: '{{ x }}', fails: '{{ 1 if x == 0 else 0 }}'}}}\n"
    )

    assert done.status == "failed"
    items = {name: state for name, state in done.steps.items() if name.startswith("start.item")}
    assert items == {
        "start.item[0]": "failed",
        "start.item[1]": "done",
        "start.item[2]": "done",
    }


def test_the_same_key_starts_one_execution_for_ever(shop: Shop) -> None:
    text = "workflow:\n  - {step: start, type: echo}\n"
    first = shop.start(text, key="daily")
    assert work_off(shop, first) == "completed"

    assert shop.start(text, key="daily") == first
    assert len(shop.echo.calls) == 1


def test_the_address_that_was_given_is_called_at_the_end(shop: Shop) -> None:
    with Judge() as judge:
        number = shop.start(
            "workflow:\n  - {step: start, type: echo}\n", on_end=f"{judge.url}/w/1/end"
        )
        assert work_off(shop, number) == "completed"
        end = time.monotonic() + 2
        while time.monotonic() < end and not judge.arrived:
            time.sleep(0.02)

        assert sum(judge.arrived.values()) == 1


def test_a_run_keeps_the_plan_that_it_began_with(shop: Shop, desk: Desk) -> None:
    text = (
        "workflow:\n  - {step: start, type: approve, approve: Well?, next: [end]}\n"
        "  - {step: end, result: %s}\n"
    )
    number = shop.start(text % "old")
    work(shop, lambda: shop.state(number, "start") == "parked")
    shop.submit(text % "new")

    approve(desk, number, "start", by=ANN, approved=True)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == "old"
