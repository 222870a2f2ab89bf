"""Start again, let dead letters go, and remove what is old."""

from datetime import timedelta

import pytest

from noetl_mcp.broker.dead_letters import dead_letters, drop, requeue
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.rerun import rerun
from noetl_mcp.broker.retention import remove_old
from noetl_mcp.broker.starts import WrongPayload
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.shop import Shop

ECHO = """
workload:
  x: {type: integer, required: true}
  deep: {a: 1, b: 2}
workflow:
  - step: start
    type: echo
    data: {x: "{{ workload.x }}", b: "{{ workload.deep.b }}"}
    next: [end]
  - {step: end, result: "{{ start }}"}
"""


def test_a_rerun_starts_the_same_plan_with_what_is_changed(shop: Shop, desk: Desk) -> None:
    number = shop.start(ECHO, {"x": 1}, labels='{"site":"north"}', priority=3, key="once")
    work_off(shop, number)
    shop.submit(ECHO.replace("type: echo", "type: noop"))

    again = rerun(desk, number, by=ANN, sets=["x=7", "deep.b=9"])

    assert work_off(shop, again) == "completed"
    assert shop.done(again).result == {"x": 7, "b": 9}
    one, other = (desk.context(n) for n in (number, again))
    assert (one.plan, one.labels, one.priority) == (other.plan, other.labels, other.priority)
    assert other.key is None
    row = desk.connection.execute(
        "select rerun_of from noetl.execution where id = %s", (again,)
    ).fetchone()
    assert row == (number,)


def test_a_rerun_with_a_wrong_value_starts_nothing(shop: Shop, desk: Desk) -> None:
    number = shop.start(ECHO, {"x": 1})

    with pytest.raises(WrongPayload):
        rerun(desk, number, by=ANN, payload={"x": "many"})

    assert desk.connection.execute("select count(*) from noetl.execution").fetchone() == (1,)


# Dead letters


def buried(shop: Shop) -> int:
    """Bring an execution to its end by a step that is said to have ended its workers."""
    number = shop.start(ECHO, {"x": 1})
    connection = shop.records.connection
    connection.execute("update noetl.step set state = 7, crashes = 3 where idx = 0")
    connection.execute(
        "insert into noetl.halt (execution_id, kind, reason) values (%s, 2, %s)",
        (number, '{"idx":0,"item":0,"code":"poison","message":"it ended every worker"}'),
    )
    assert shop.records.close(number, []) == "over"
    return number


def test_dead_letters_are_listed_and_requeued(shop: Shop, desk: Desk) -> None:
    number = buried(shop)

    (letter,) = dead_letters(desk)

    assert (letter["execution_id"], letter["step"], letter["crashes"]) == (str(number), "start", 3)
    assert requeue(desk, number, by=ANN).steps == ("start",)
    assert dead_letters(desk) == []
    assert work_off(shop, number) == "completed"


def test_a_dropped_letter_is_listed_no_more(shop: Shop, desk: Desk) -> None:
    number = buried(shop)

    assert drop(desk, number, by=ANN, reason="known") == ["start"]

    assert dead_letters(desk) == []
    assert shop.done(number).status == "failed"
    assert events(shop, number, "step_resolved")[0]["how"] == "drop"
    with pytest.raises(NotAllowed, match="has no dead letters"):
        drop(desk, number, by=ANN)


# Retention


def counts(desk: Desk) -> dict[str, int]:
    tables = ("execution", "step", "signal", "fan", "timer", "ready", "payload")
    found = {}
    for table in tables:
        row = desk.connection.execute(f"select count(*) from noetl.{table}".encode()).fetchone()
        assert row is not None
        found[table] = int(row[0])
    return found


def test_what_is_old_is_removed_with_all_that_belongs_to_it(shop: Shop, desk: Desk) -> None:
    text = (
        "workload: {x: ''}\ntimeout: 1h\nworkflow:\n"
        "  - {step: start, next: [each]}\n"
        '  - {step: each, type: iterator, collection: ["{{ workload.x }}"], element: x,'
        ' task: {type: echo, data: {x: "{{ x }}"}}, next: [end]}\n  - {step: end}\n'
    )
    numbers = []
    for n in range(3):
        numbers.append(shop.start(text, {"x": f"{n}" * 70_000}))
        work_off(shop, numbers[-1])
    before = counts(desk)
    old = "update noetl.execution set ended_at = ended_at - interval '9 days' where id = any(%s)"
    desk.connection.execute(old, (numbers[:2],))
    desk.connection.execute("update noetl.payload set created_at = now() - interval '9 days'")

    removed = remove_old(desk, timedelta(days=8), batch=1)

    after = counts(desk)
    assert (removed.executions, after["execution"]) == (2, 1)
    assert removed.payloads == before.pop("payload") - after.pop("payload") > 0
    assert {name: count * 3 for name, count in after.items()} == before
    assert shop.done(numbers[2]).status == "completed"
    payload = desk.context(numbers[2]).payload
    assert payload is not None
    assert desk.records.whole(payload) == f'{{"x":"{"2" * 70_000}"}}'


def test_children_stay_as_long_as_those_who_may_ask_for_them(shop: Shop, desk: Desk) -> None:
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n"
        "workflow:\n  - {step: start}\n"
    )
    number = shop.start(
        "workflow:\n  - {step: start, type: playbook, path: tests/c, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: Well?}\n"
    )
    work(shop, lambda: shop.state(number, "ask") == "parked")
    old = "update noetl.execution set ended_at = ended_at - interval '9 days'"
    desk.connection.execute(old)

    assert remove_old(desk, timedelta(days=8)).executions == 0

    desk.connection.execute(
        "update noetl.execution set status = 1, ended_at = created_at"
        " - interval '9 days' where id = %s",
        (number,),
    )
    assert remove_old(desk, timedelta(days=8)).executions == 2
