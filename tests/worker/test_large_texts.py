"""Large values are kept once, apart from the rows that name them."""

from datetime import timedelta
from typing import Any

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.retention import remove_old
from noetl_mcp.queue.encode import LARGE
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call
from tests.worker.shop import HEAD, Done, Shop


async def large(call: Call) -> str:
    return "x" * 100_000


def one(step: str) -> str:
    return f"workflow:\n  - {{step: start, next: [a]}}\n  - {{step: a, {step}}}\n"


def told(shop: Shop, done: Done, kind: str) -> list[dict[str, Any]]:
    rows = shop.records.connection.execute(
        "select e.data::json from noetl.event e join noetl.event_kind k using (kind)"
        " where e.execution_id = %s and k.name = %s order by e.id",
        (done.id, kind),
    ).fetchall()
    return [row[0] for row in rows]


def test_what_a_step_saves_in_the_log_is_stored_by_digest_when_it_is_large(shop: Shop) -> None:
    shop.echo.answer = large
    save = 'save: [{storage: event_log, data: {x: "{{ result }}"}, name: big}, event_log]'

    done = shop.run(one(f"type: echo, {save}"))

    first, second = told(shop, done, "save_completed")
    assert first["name"] == "big"
    assert len(shop.records.whole("@" + first["data_ref"])) > LARGE
    assert second == {"data_ref": str(done.rows["a"][2])[1:]}


def test_a_step_without_a_task_stores_a_large_result_by_digest_too(shop: Shop) -> None:
    done = shop.run(one("type: set, values: {x: \"{{ 'x' * 70000 }}\"}, save: event_log"))

    assert done.steps["a"] == "done"
    assert str(done.rows["a"][2]).startswith("@")
    assert told(shop, done, "save_completed") == [{"data_ref": str(done.rows["a"][2])[1:]}]


def test_what_a_repeat_gathers_is_stored_by_digest_when_it_is_large(shop: Shop) -> None:
    async def part(call: Call) -> str:
        return "x" * 40_000

    shop.echo.answer = part

    done = shop.run(
        one('type: echo, repeat: {while: "{{ true }}", max: 2, collect: true, on_max: continue}')
    )

    assert str(done.rows["a"][2]).startswith("@")


def test_what_was_saved_in_the_log_outlives_its_execution(shop: Shop) -> None:
    shop.echo.answer = large
    done = shop.run(one('type: echo, save: {data: {x: "{{ result }}"}}'))

    removed = remove_old(Desk(shop.records.connection), timedelta())

    assert (removed.executions, removed.payloads) == (1, 1)  # the result itself is gone
    kept = told(shop, done, "save_completed")[0]["data_ref"]
    assert len(shop.records.whole("@" + kept)) > 100_000


def test_a_step_without_a_task_whose_assertion_does_not_hold_fails(shop: Shop) -> None:
    done = shop.run(one("type: set, values: {x: 1}, assert: {expects: [y]}"))

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "assert"


def test_a_surprise_in_a_step_without_a_task_fails_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(said: object, step: str) -> None:
        raise ZeroDivisionError("nobody thought of that")

    monkeypatch.setattr("noetl_mcp.worker.rounds.fitted_repeat", broken)

    done = shop.run(one('type: set, values: {x: 1}, repeat: {until: "{{ false }}", max: 3}'))

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "crash"


def stored(shop: Shop, text: Any) -> int:
    """Return how long the text is that a row names instead of holding it."""
    assert str(text).startswith("@")
    return len(shop.records.whole(str(text)))


def test_a_large_result_of_an_execution_is_stored_by_digest(shop: Shop) -> None:
    shop.echo.answer = large
    end = '  - {step: end, result: {x: "{{ a }}"}}\n'

    done = shop.run(one("type: echo, next: [end]") + end)

    row = shop.records.connection.execute(
        "select result from noetl.execution where id = %s", (done.id,)
    ).fetchone()
    assert row is not None
    assert stored(shop, row[0]) > LARGE
    assert stored(shop, "@" + told(shop, done, "execution_completed")[0]["result_ref"]) > LARGE


def test_a_large_result_of_a_sequence_is_stored_by_digest_and_read_behind_it(shop: Shop) -> None:
    shop.echo.answer = large
    code = 'code: "def main(x): return len(x)", data: {x: "{{ a }}"}'

    done = shop.run(
        "workflow:\n  - {step: start, next: [a]}\n"
        "  - {step: a, task: [{name: one, type: echo}, {name: two, type: echo}], next: [z]}\n"
        f"  - {{step: z, type: python, {code}}}\n"
    )

    assert stored(shop, done.rows["a"][2]) > LARGE
    assert done.result == 100_000


def test_a_large_result_is_stored_by_digest_where_nothing_has_to_be_done(shop: Shop) -> None:
    text = (
        "workflow:\n  - {step: start, next: [end]}\n  - {step: end, result: '{{ workload.x }}'}\n"
    )

    number = shop.start("workload: {x: a}\n" + text, {"x": "x" * 100_000})

    row = shop.records.connection.execute(
        "select status, result from noetl.execution where id = %s", (number,)
    ).fetchone()
    assert row is not None
    assert row[0] == Status.COMPLETED
    assert stored(shop, row[1]) > LARGE


def test_a_parent_reads_the_large_result_of_its_child(shop: Shop) -> None:
    shop.echo.answer = large
    child = one("type: echo, next: [end]") + "  - {step: end, result: '{{ a }}'}\n"
    shop.submit(HEAD.replace("tests/t", "tests/child") + child)

    done = shop.run(one("type: playbook, path: tests/child"))

    assert done.result == "x" * 100_000


def test_a_large_result_that_the_database_refuses_fails_the_execution(shop: Shop) -> None:
    shop.echo.answer = large
    shop.records.connection.execute(
        "alter table noetl.payload add check (content not like '{\"twice\"%')"
    )
    end = '  - {step: end, result: {twice: "{{ a }}{{ a }}"}}\n'

    done = shop.run(one("type: echo, next: [end]") + end)

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "refused"
    assert len(shop.echo.calls) == 1
