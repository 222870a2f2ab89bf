"""Doing the same for each of many things."""

from typing import Any

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.retry import retry
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed
from tests.broker.desks import work_off
from tests.worker.shop import Shop


def book(settings: str, task: str, end: str = "{{ each }}") -> str:
    return f"""
workload: {{xs: [5, 3, 4, 1, 2]}}
workflow:
  - {{step: start, next: [each]}}
  - step: each
    type: iterator
    element: x
    {settings}
    task: {task}
    next: [end]
  - {{step: end, result: "{end}"}}
"""


ECHO = '{type: echo, data: {x: "{{ x }}", i: "{{ _loop.index }}"}}'


def test_items_are_done_in_order_and_gathered(shop: Shop) -> None:
    done = shop.run(book('collection: "{{ workload.xs }}"', ECHO))

    assert isinstance(done.result, dict)
    xs = [5, 3, 4, 1, 2]
    assert done.result == {
        "items": 5,
        "results": [{"x": x, "i": i} for i, x in enumerate(xs)],
        "count": 5,
        "errors": [],
    }


def test_where_order_limit_and_chunk_are_applied_in_this_order(shop: Shop) -> None:
    settings = (
        'collection: "{{ workload.xs }}"\n    where: "{{ x > 1 }}"\n    order_by: "{{ x }}"\n'
        "    limit: 3\n    chunk: 2"
    )

    done = shop.run(book(settings, '{type: echo, data: {x: "{{ x }}"}}', "{{ each.results }}"))

    assert done.result == [{"x": [2, 3]}, {"x": [4]}]


def test_an_empty_collection_is_done_at_once(shop: Shop) -> None:
    done = shop.run(book("collection: []", ECHO))

    assert done.result == {"items": 0, "results": [], "count": 0, "errors": []}


def test_failures_within_the_tolerance_are_told_in_place(shop: Shop) -> None:
    task = '{type: echo, data: {x: "{{ x }}", fails: "{{ 1 if x == 3 else 0 }}"}}'

    done = shop.run(book('collection: "{{ workload.xs }}"\n    tolerate: "20%"', task))

    assert isinstance(done.result, dict)
    error = {"code": "unlucky", "message": "attempt 1 failed"}
    assert done.result["errors"] == [{"index": 1, **error}]
    assert done.result["results"][1] == {"error": error}  # type: ignore[index]
    assert done.result["count"] == 4


def test_more_failures_fail_the_step_and_hand_nothing_further_out(shop: Shop) -> None:
    task = '{type: echo, data: {fails: "{{ 1 if x == 3 else 0 }}"}}'

    done = shop.run(book('collection: "{{ workload.xs }}"', task))

    assert done.status == "failed"
    assert done.error is not None
    assert (done.error["step"], done.error["code"]) == ("each", "items-failed")
    assert done.error["message"] == (
        "1 of 5 items failed, 1 done, 3 not done; the first one (item 1): attempt 1 failed"
    )
    assert "each.item[2]" not in done.steps


def test_a_failed_iterator_counts_all_its_items(shop: Shop) -> None:
    task = '{type: echo, data: {fails: "{{ 1 if x < 3 else 0 }}"}}'
    some = 'collection: "{{ [1, 5, 2, 4, 1, 6] }}"\n    tolerate: 2'
    all_handed = 'collection: "{{ [1, 5, 2, 4] }}"\n    tolerate: 1\n    mode: async'

    messages = [(shop.run(book(one, task)).error or {})["message"] for one in (some, all_handed)]

    assert messages[0].startswith("3 of 6 items failed, 2 done, 1 not done; the first one (item 0)")
    assert messages[1].startswith("2 of 4 items failed, 2 done; the first one (item 0)")
    ends = shop.records.connection.execute(
        "select data::jsonb from noetl.event v join noetl.event_kind k using (kind)"
        " where k.name = 'loop_completed' order by v.id"
    ).fetchall()
    assert [one for (one,) in ends] == [
        {"items": 6, "count": 2, "failed": 3},
        {"items": 4, "count": 2, "failed": 2},
    ]


def test_sequences_see_the_tasks_before_them(shop: Shop) -> None:
    task = (
        '[{name: one, type: echo, data: {a: "{{ x }}"}},'
        ' {name: two, type: echo, data: {b: "{{ one.a * 10 }}", c: "{{ parent.workload.xs[0] }}"}}]'
    )

    done = shop.run(book('collection: "{{ workload.xs }}"', task, "{{ each.results }}"))

    assert done.result == [{"b": x * 10, "c": 5} for x in (5, 3, 4, 1, 2)]


def test_items_side_by_side_never_exceed_their_number(shop: Shop) -> None:
    import asyncio

    now, most = 0, 0

    async def counted(call: object) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1

    shop.echo.answer = counted
    settings = 'collection: "{{ range(20) }}"\n    mode: async\n    concurrency: 4'

    done = shop.run(book(settings, "{type: echo}", "{{ each.count }}"))

    assert (done.result, most) == (20, 4)


def test_retries_of_an_item_are_its_own(shop: Shop) -> None:
    task = (
        '{type: echo, data: {x: "{{ x }}", fails: "{{ 1 if x == 3 else 0 }}"},'
        " retry: {max_attempts: 2, initial_delay: 0.01}}"
    )

    done = shop.run(book('collection: "{{ workload.xs }}"', task, "{{ each.count }}"))

    assert done.result == 5
    assert [done.rows[f"each.item[{n}]"][1] for n in range(5)] == [1, 2, 1, 1, 1]


def test_ten_thousand_items(shop: Shop) -> None:
    settings = 'collection: "{{ range(2000) }}"\n    mode: async\n    concurrency: 300'

    done = shop.run(
        book(settings, '{type: echo, data: {x: "{{ x }}"}}', "{{ each.results | length }}")
    )

    assert done.result == 2000


def test_a_large_collection_is_stored_once(shop: Shop) -> None:
    settings = 'collection: "{{ workload.many }}"'
    text = book(settings, '{type: echo, data: {n: "{{ x | length }}"}}', "{{ each.results }}")
    text = text.replace("workload: {", "workload: {many: [], ")

    done = shop.run(text, {"many": ["a" * 50_000, "b" * 50_000]})

    assert done.result == [{"n": 50_000}, {"n": 50_000}]


def test_a_failed_iterator_keeps_its_items_for_a_retry(shop: Shop) -> None:
    async def unlucky(call: Call) -> Json:
        if call.input == {"x": 3} and not lucky:
            raise Failed("unlucky", "not now")
        return {}

    lucky: list[bool] = []
    shop.echo.answer = unlucky
    done = shop.run(book('collection: "{{ workload.xs }}"', '{type: echo, data: {x: "{{ x }}"}}'))
    connection = shop.records.connection
    connection.execute("delete from noetl.event")  # as when its day is taken away

    lucky.append(True)
    retry(Desk(connection), done.id, by=By("ann", "tests"))

    assert work_off(shop, done.id) == "completed"
    asked = [call.input for call in shop.echo.calls]
    assert asked == [{"x": x} for x in (5, 3, 3, 4, 1, 2)]


def test_an_item_is_counted_once_although_its_save_after_the_failure_fails_too(shop: Shop) -> None:
    save = "{on: error, storage: python, code: 'def main(): raise ValueError(1)'}"
    task = (
        '{type: echo, data: {x: "{{ x }}", fails: "{{ 1 if x == 3 else 0 }}"}, save: [SAVE, SAVE]}'
    )

    done = shop.run(
        book('collection: "{{ workload.xs }}"\n    tolerate: 1', task.replace("SAVE", save))
    )

    assert done.status == "completed"
    result: Any = done.result
    assert (result["items"], result["count"]) == (5, 4)
    assert [one["index"] for one in result["errors"]] == [1]


def test_the_steps_of_an_item_follow_one_another_so_that_it_ends_once(shop: Shop) -> None:
    saves = '[{on: always, storage: http, url: "http://a.example/{{ x }}", method: POST}]'
    tasks = f"[{{name: a, type: echo, save: {saves}}}, {{name: b, type: echo, save: {saves}}}]"

    program, _ = shop.submit(book('collection: "{{ workload.xs }}"', tasks))

    each = next(node for node in program.nodes if node.name == "each")
    inner = [program.nodes[idx] for idx in each.body if idx not in program.aside]
    ways = [[w.target for w in n.ways if w.target not in program.aside] for n in inner]
    assert ways == [*([node.idx] for node in inner[1:]), []]
