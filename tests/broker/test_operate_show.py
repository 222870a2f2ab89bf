"""What is shown of executions: how they stand, step by step, and what they wait for."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.listing import Filter, executions, wanted_now
from noetl_mcp.broker.operate import cancel, in_the_way, pause
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.show import MOST_SHOWN, show, show_step, shown
from noetl_mcp.broker.why import why
from noetl_mcp.queue.encode import encode
from tests.broker.desks import ANN, work, work_off
from tests.worker.shop import Shop

FLOW = """
workload: {go: false}
workflow:
  - {step: start, next: [a, {when: "{{ workload.go }}", step: never}]}
  - {step: a, type: echo, data: {x: 1}, next: [each]}
  - {step: never, type: echo, next: [each]}
  - {step: each, type: iterator, collection: [1, 2], element: x,
     task: {type: echo, data: {x: "{{ x }}"}}, next: [end]}
  - {step: end, result: {count: "{{ each.count }}"}}
"""
ASKS = """
workflow:
  - {step: start, next: [ask, slow]}
  - {step: ask, type: approve, approve: {who: lead, message: "Go on?"}, next: [join]}
  - {step: slow, type: wait, wait: 1h, next: [join]}
  - {step: join, type: echo, next: [last]}
  - {step: last, type: echo, next: [end]}
  - {step: end}
"""


def named(told: dict[str, Any]) -> dict[str, Any]:
    return {step["name"]: step for step in told["steps"]}


def test_an_execution_is_shown_with_every_step_that_was_decided(shop: Shop, desk: Desk) -> None:
    number = shop.start(FLOW)
    assert work_off(shop, number) == "completed"

    told = show(desk, number)

    assert list(told)[:7] == [
        *("execution_id", "playbook", "version", "status", "attention", "result", "error"),
    ]
    assert (told["execution_id"], told["playbook"], told["version"]) == (str(number), "tests/t", 1)
    assert (told["status"], told["error"], told["attention"]) == ("completed", None, [])
    assert told["result"] == {"count": 2}
    steps = named(told)
    assert {name: step["state"] for name, step in steps.items()} == {
        "start": "done",
        "a": "done",
        "never": "skipped",
        "each": "done",
        "end": "done",
    }
    one = steps["a"]
    assert set(one) == {
        *("name", "type", "state", "attempts", "worker", "ready_at", "started", "ended"),
    }
    assert (one["attempts"], one["type"]) == (1, "echo")
    assert one["worker"] >= 1
    assert one["ready_at"] <= one["started"] <= one["ended"]
    assert told["started"] <= told["ended"]


def test_items_are_listed_only_when_they_are_asked_for(shop: Shop, desk: Desk) -> None:
    number = shop.start(FLOW)
    work_off(shop, number)

    with_items = named(shown(shop.records.connection, number, items=True))

    assert "each[0]" not in named(show(desk, number))
    assert (with_items["each[0]"]["state"], with_items["each[1]"]["attempts"]) == ("done", 1)
    assert with_items["each[0]"]["hidden"] is True


def test_a_failure_is_told_with_step_code_message_and_attempt(shop: Shop, desk: Desk) -> None:
    number = shop.start(FLOW.replace("{x: 1}", "{fails: 9}"))
    work_off(shop, number)

    told = show(desk, number)

    assert told["status"] == "failed"
    assert told["error"] == {
        "step": "a",
        "code": "unlucky",
        "message": "attempt 1 failed",
        "attempt": 1,
    }
    assert named(told)["a"]["state"] == "failed"


def test_doubts_and_approvals_want_attention(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        ASKS.replace(
            "slow, type: wait, wait: 1h", "slow, type: change, confirm: true, data: {lose: true}"
        )
    )
    work(shop, lambda: {"parked", "in_doubt"} <= set(shop.done(number).steps.values()))

    told = show(desk, number)

    assert told["status"] == "running"
    assert told["attention"] == [
        {"step": "ask", "what": "approval", "who": ["lead"], "message": "Go on?"},
        {"step": "slow", "what": "in_doubt", "message": "nobody knows", "lease": 1},
    ]


def test_one_step_is_shown_with_result_error_and_items(shop: Shop, desk: Desk) -> None:
    number = shop.start(FLOW)
    work_off(shop, number)

    step, each = show_step(desk, number, "a"), show_step(desk, number, "each", items=True)
    item = show_step(desk, number, "each[1]")

    assert (step["result"], step["error"], step["lease"]) == ({"x": 1}, None, 1)
    assert each["items"]["total"] == 2
    assert each["items"]["states"] == {"each": {"done": 2}}
    assert [one["name"] for one in each["items"]["steps"]] == ["each[0]", "each[1]"]
    assert (item["name"], item["result"]) == ("each[1]", {"x": 2})
    with pytest.raises(Unknown, match=r"there is no 'each\[7\]'"):
        show_step(desk, number, "each[7]")
    with pytest.raises(Unknown, match="did you mean 'each'"):
        show_step(desk, number, "eech")


def test_a_step_that_did_not_begin_is_waiting(shop: Shop, desk: Desk) -> None:
    number = shop.start(ASKS)

    assert show_step(desk, number, "last")["state"] == "waiting"


def test_large_results_are_whole_and_very_large_ones_are_named(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workload: {x: ''}\nworkflow:\n"
        '  - {step: start, type: echo, data: {x: "{{ workload.x }}"}, next: [end]}\n'
        '  - {step: end, result: "{{ start.x }}"}\n',
        {"x": "y" * 100_000},
    )
    work_off(shop, number)
    assert show(desk, number)["result"] == "y" * 100_000
    text = desk.records.keep(encode("z" * (MOST_SHOWN + 1)))
    desk.connection.execute("update noetl.execution set result = %s", (text,))

    result = show(desk, number)["result"]

    assert result["not_shown"] == "4,000,003 characters are too many"
    assert result["begins"] == '"' + "z" * 999


# Lists


def test_executions_are_listed_the_newest_first_and_by_page(shop: Shop, desk: Desk) -> None:
    numbers = [shop.start(ASKS, labels='{"site": "north"}' if n == 1 else None) for n in range(4)]
    pause(desk, numbers[0], by=ANN)
    cancel(desk, numbers[3], by=ANN)

    def ids(**wanted: Any) -> list[int]:
        return [int(one["execution_id"]) for one in executions(desk, Filter(**wanted))]

    page = executions(desk, most=2)
    assert [int(one["execution_id"]) for one in page] == [numbers[3], numbers[2]]
    rest = executions(desk, before=numbers[2])
    assert [int(one["execution_id"]) for one in rest] == [numbers[1], numbers[0]]
    assert ids(status="paused") == [numbers[0]]
    assert ids(status="running") == [numbers[2], numbers[1]]
    assert ids(status="cancelled") == [numbers[3]]
    assert ids(labels={"site": "north"}) == [numbers[1]]
    assert (len(ids(path="tests/t")), ids(path="tests"), len(ids(path="tests/"))) == (4, [], 4)
    assert ids(path="te%/") == []
    assert (ids(parent=numbers[0]), len(ids(roots=True))) == ([], 4)
    assert page[0]["status"] == "cancelled"
    assert page[0]["error"]["message"] == "cancelled by ann"


# Why


def test_why_names_the_person_the_time_and_the_steps(shop: Shop, desk: Desk) -> None:
    number = shop.start(ASKS)
    work(shop, lambda: list(shop.done(number).steps.values()).count("parked") == 2)

    found = {one.step: one for one in why(desk, number)}
    chain = why(desk, number, "last")

    assert set(found) == {"ask", "slow"}
    assert found["ask"].kind == "person"
    assert found["ask"].says == (
        "'ask' waits for lead to say yes or no (Go on?); answer with:"
        f" noetl-mcp approve {number} ask, or with --reject"
    )
    assert found["slow"].kind == "timer"
    assert [(one.step, one.kind) for one in chain] == [
        ("last", "steps"),
        ("join", "steps"),
        ("ask", "person"),
        ("slow", "timer"),
    ]
    assert chain[0].says == "'last' waits for 'join'"
    assert chain[1].as_json()["steps"] == ["ask", "slow"]


def test_why_tells_that_no_worker_is_up_or_serves_the_pool(shop: Shop, desk: Desk) -> None:
    number = shop.start("workflow:\n  - {step: a, type: echo}\n")
    special = shop.start("workflow:\n  - {step: a, type: echo, pool: gpu}\n")

    assert why(desk, number)[0].says.endswith(
        "none is up; start one with: noetl-mcp worker, or do it here with:"
        f" noetl-mcp watch {number}"
    )
    (reason,) = why(desk, special)

    assert (reason.kind, reason.more["pool"]) == ("worker", "gpu")
    assert reason.says.endswith(
        "none takes steps of pool 'gpu'; start one with: noetl-mcp worker --pool gpu"
    )


def test_why_tells_that_only_a_newer_worker_could_do_it(
    shop: Shop, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "workflow:\n  - {step: a, type: echo}\n"
    shop.submit(text)
    shop.records.connection.execute(
        "update noetl.plan set content = replace(content, '\"format\":1', '\"format\":2')"
    )
    monkeypatch.setattr("noetl_mcp.broker.program.FORMAT", 2)
    number = shop.start(text)

    async def look() -> str:
        async with shop.worker():
            return why(desk, number)[0].says

    says = asyncio.run(look())

    assert says == "'a' waits for a newer worker: none that is up knows plans of form 2"


def test_why_tells_who_works_on_it_and_who_holds_a_permit(shop: Shop, desk: Desk) -> None:
    text = (
        "limits: {door: 1}\nworkflow:\n"
        "  - {step: a, type: echo, data: {sleep: 0.5}, limits: door}\n"
    )
    first, second = shop.start(text), shop.start(text)

    async def do() -> list[Any]:
        async with shop.worker() as worker:
            await shop.until(lambda: shop.state(first, "a") == "leased")
            await asyncio.sleep(0.05)
            return [worker.engine.line.worker, *why(desk, first), *why(desk, second)]

    number, runs, waits = asyncio.run(do())

    assert (runs.kind, runs.more["worker"]) == ("nothing", number)
    assert runs.says.startswith(f"'a' runs on worker {number} since ")
    assert waits.kind == "permit"
    assert waits.says == f"'a' waits for limit 'door', held by 'a' of execution {first}"


def test_why_tells_of_items_children_events_callbacks_and_doubts(shop: Shop, desk: Desk) -> None:
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n" + ASKS
    )
    number = shop.start(
        "workflow:\n  - {step: start, next: [kid, each, bell, hear, w]}\n"
        "  - {step: kid, type: playbook, path: tests/c}\n"
        "  - {step: each, type: iterator, collection: [1, 2, 3], element: x,"
        " task: {type: wait, wait: 1h}}\n"
        "  - {step: bell, type: wait, wait: {event: ring}}\n"
        "  - {step: hear, type: callback, message: Well?}\n"
        "  - {step: w, type: change, confirm: true, data: {lose: true}}\n"
    )
    work(shop, lambda: list(shop.done(number).steps.values()).count("parked") == 5)

    found = {one.step: one for one in why(desk, number)}

    assert found["kid"].says.startswith(f"'kid' waits for its child, execution {number + 1}, which")
    assert found["each"].says == "'each' waits for its items: 0 of 3 are over, 1 are at work"
    assert found["each[0]"].kind == "timer"
    assert found["bell"].says == (
        f"'bell' waits for the event 'ring'; tell of it with: noetl-mcp signal {number} ring"
    )
    assert found["hear"].says == (
        "'hear' waits for an answer from outside (Well?); give it with:"
        f" noetl-mcp answer {number} hear --value JSON"
    )
    assert f"noetl-mcp resolve {number} w --accept JSON" in found["w"].says


def test_the_address_of_an_answer_is_told_only_to_those_who_may_answer(
    shop: Shop, desk: Desk
) -> None:
    number = shop.start("workflow:\n  - {step: hear, type: callback}\n")
    work(shop, lambda: shop.state(number, "hear") == "parked")

    (hidden,), (told,) = why(desk, number), why(desk, number, tokens=True)

    token = told.more["token"]
    assert len(token) == 40
    assert told.more["path"] == f"/api/callbacks/{token}"
    assert told.says.endswith(f"or POST it to /api/callbacks/{token}")
    assert token not in str(hidden.as_json())


def test_an_item_is_quoted_in_the_command_that_is_to_be_typed(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: each, type: iterator, collection: [1], element: x,"
        " task: {type: approve, approve: {message: Well?}}}\n"
    )
    work(shop, lambda: list(shop.done(number).steps.values()).count("parked") == 2)

    found = {one.step: one for one in why(desk, number)}

    assert f"noetl-mcp approve {number} 'each[0]', or" in found["each[0]"].says


def test_why_tells_of_a_pause_and_of_an_end(shop: Shop, desk: Desk) -> None:
    number = shop.start(ASKS)
    pause(desk, number, by=ANN)

    first, second = why(desk, number)[:2]

    assert first.kind == "paused"
    assert "was paused by ann" in first.says
    assert (second.kind, second.says) == (
        "halt",
        "'ask' could begin, but the execution is paused",
    )
    cancel(desk, number, by=ANN)
    (over,) = why(desk, number)
    assert over.says == f"execution {number} is cancelled; it waits for nothing"
    assert why(desk, number, "ask")[0].says == "'ask' is cancelled; it waits for nothing"


PUTS = """
workflow:
  - {step: start, next: [each]}
  - step: each
    type: iterator
    collection: [0, 1, 2]
    element: x
    mode: sequential
    task:
      - {name: get, type: echo, data: {x: 1}}
      - {name: put, type: change, confirm: true, data: {lose: LOSE}}
"""


def test_an_item_that_cannot_be_is_refused(shop: Shop, desk: Desk) -> None:
    number = shop.start(PUTS.replace("LOSE", "true"))
    assert why(desk, number, "each.put[7]")  # nobody knows so far how many there are
    work(shop, lambda: "in_doubt" in shop.done(number).steps.values())

    with pytest.raises(Unknown, match=r"there is no 'each\.put\[3\]' .*; 'each' has 3 items"):
        why(desk, number, "each.put[3]")
    with pytest.raises(Unknown, match=r"there is no 'each\.put\[3\]'"):
        resolve(desk, number, "each.put[3]", "abort", by=ANN)

    assert why(desk, number, "each.put[2]")
    with pytest.raises(NotAllowed, match="is not in doubt; it is waiting"):
        resolve(desk, number, "each.put[2]", "accept", value=1, by=ANN)


def test_an_item_that_never_was_is_refused_after_the_end(shop: Shop, desk: Desk) -> None:
    number = shop.start(PUTS.replace("LOSE", "false"))
    assert work_off(shop, number) == "completed"

    assert why(desk, number, "each.put[2]")[0].says.endswith("is done; it waits for nothing")
    with pytest.raises(Unknown, match=r"there is no 'each\.put\[3\]'"):
        why(desk, number, "each.put[3]")


def forsake(shop: Shop, number: int) -> int:
    """Let the worker of a step fall silent with all others; return its number."""
    connection = shop.records.connection
    connection.execute(
        "update noetl.worker set seen_at = clock_timestamp() - interval '1 minute', gone_at = null"
    )
    (row,) = connection.execute(
        "select owner from noetl.step where execution_id = %s and state = 2", (number,)
    ).fetchall()
    return int(row[0])


def test_a_step_whose_worker_is_gone_asks_for_another_one(shop: Shop, desk: Desk) -> None:
    number = shop.start("workflow:\n  - {step: a, type: echo, data: {sleep: 30}}\n")

    async def do() -> None:
        async with shop.worker() as worker:
            await shop.until(lambda: bool(shop.echo.calls))
            running = why(desk, number)[0]
            assert running.kind == "nothing"
            assert executions(desk, Filter(attention=True)) == []
            worker.engine.line.abandon()
            gone = forsake(shop, number)
            (reason,) = why(desk, number)
            assert (reason.kind, reason.more["worker"]) == ("worker_gone", gone)
            assert reason.says.startswith(f"'a' was begun by worker {gone}, which is gone, last")
            assert reason.says.endswith("take the step over; start one with: noetl-mcp worker")
            (listed,) = executions(desk, Filter(attention=True))
            told = {
                "step": "a",
                "what": "worker_gone",
                "message": f"worker {gone} is gone; start one with: noetl-mcp worker",
                "worker": gone,
            }
            assert listed["attention"] == show(desk, number)["attention"] == [told]
            assert listed["attention_total"] == 1
            assert wanted_now(desk) == {"worker_gone": 1}
            assert in_the_way(desk, number) == [f"'a' has no worker: {told['message']}"]

    asyncio.run(do())


def test_a_worker_that_was_not_heard_of_is_not_up(shop: Shop, desk: Desk) -> None:
    number = shop.start("workflow:\n  - {step: a, type: echo}\n")
    desk.connection.execute(
        "insert into noetl.worker (epoch, plan_format, pools, host, boot, pid, seen_at)"
        " values (1, 1, '{\"\"}', 'h', 'b', 1, clock_timestamp() - interval '1 minute')"
    )

    assert why(desk, number)[0].kind == "worker"
    desk.lease = timedelta(minutes=2)
    assert why(desk, number)[0].kind == "turn"
