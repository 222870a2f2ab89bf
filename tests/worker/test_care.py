"""The care a step takes: retries, repeats, times, doubts, checks, secrets, limits."""

import asyncio
from itertools import count

import pytest

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Call, Failed, HandedBack
from tests.wire.servers import hangs_up, serving
from tests.worker.shop import Shop


def one(step: str, head: str = "") -> str:
    steps = f"  - {{step: start, next: [a]}}\n  - {{step: a, {step}, next: [b]}}\n"
    return f"{head}\nworkflow:\n{steps}  - {{step: b, type: echo}}\n"


def test_retries_wait_longer_each_time(shop: Shop) -> None:
    retry = "retry: {max_attempts: 4, initial_delay: 0.02, backoff_multiplier: 2}"

    done = shop.run(one(f"type: echo, data: {{fails: 3}}, {retry}"))

    assert (done.steps["a"], done.rows["a"][1]) == ("done", 4)
    assert shop.kinds(done.id, "a").count("action_retry") == 3
    delays = shop.records.connection.execute(
        "select (data::jsonb ->> 'delay')::float from noetl.event where kind = 14 order by id"
    ).fetchall()
    assert delays == [(0.02,), (0.04,), (0.08,)]


def test_retries_come_to_an_end(shop: Shop) -> None:
    done = shop.run(one("type: echo, data: {fails: 9}, retry: {max_attempts: 2, initial_delay: 0}"))

    assert (done.status, done.rows["a"][1]) == ("failed", 2)


def test_a_failure_that_no_attempt_cures_is_not_tried_again(shop: Shop) -> None:
    async def hopeless(call: Call) -> None:
        raise Failed("hopeless", "no", retriable=False)

    shop.echo.answer = hopeless

    done = shop.run(one("type: echo, retry: 5"))

    assert done.rows["a"][1] == 1


def test_stop_when_wins_over_retry_when(shop: Shop) -> None:
    retry = (
        'retry: {max_attempts: 5, initial_delay: 0, retry_when: "{{ attempt < 4 }}",'
        ' stop_when: "{{ attempt >= 2 }}"}'
    )

    done = shop.run(one(f"type: echo, data: {{fails: 9}}, {retry}"))

    assert done.rows["a"][1] == 2


@pytest.mark.parametrize("type_", ["change", "playbook"])
def test_gates_go_along_with_an_execution_and_its_children(shop: Shop, type_: str) -> None:
    """They hold on every worker, whatever its own settings say."""
    shop.submit(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: kid, path: tests/kid}\n"
        "workflow:\n  - {step: start, type: change, confirm: true, data: {x: 1}}\n"
    )
    how = "playbook, path: tests/kid" if type_ == "playbook" else "change, data: {x: 1}"

    done = shop.run(one(f"type: {how}"), labels='{"noetl.gates":"read-only"}')

    assert done.status == "failed"
    assert "only reading is allowed" in str(done.error)
    assert shop.change.calls == []


def test_a_confirmation_that_was_asked_for_at_the_start_is_asked_of_every_worker(
    shop: Shop,
) -> None:
    done = shop.run(one("type: change"), labels='{"noetl.gates":"require-confirm"}')

    assert done.error is not None
    assert done.error["code"] == "unconfirmed"


def test_a_playbook_that_asks_for_confirmations_asks_them_of_its_children(shop: Shop) -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: k, path: tests/"
    shop.submit(head + "low}\nworkflow:\n  - {step: start, type: change, data: {x: 1}}\n")
    shop.submit(head + "kid}\nworkflow:\n  - {step: start, type: playbook, path: tests/low}\n")

    done = shop.run("require_confirm: true\n" + one("type: playbook, path: tests/kid"))

    assert done.status == "failed"
    assert "does not say 'confirm: true'" in str(done.error)
    assert shop.change.calls == []


def test_a_repeat_goes_on_until_its_condition_holds(shop: Shop) -> None:
    numbers = count(1)

    async def counting(call: Call) -> dict[str, int]:
        return {"n": next(numbers)}

    shop.echo.answer = counting  # type: ignore[assignment]  # a map of numbers is JSON
    repeat = 'repeat: {until: "{{ result.n >= 3 }}", max: 9, collect: "{{ [result.n] }}"}'

    done = shop.run(
        f"workflow:\n  - {{step: start, type: echo, {repeat}, next: [end]}}\n"
        '  - {step: end, result: "{{ start }}"}\n'
    )

    assert done.result == [1, 2, 3]


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ('until: "{{ false }}"', 'after 3 rounds "until" was still false'),
        ('while: "{{ true }}"', 'after 3 rounds "while" was still true'),
        ('until: "{{ false }}", collect: true', 'after 3 rounds "until" was still false'),
    ],
)
def test_a_repeat_that_reaches_its_maximum_before_its_end_is_a_failure(
    shop: Shop, condition: str, says: str
) -> None:
    done = shop.run(one(f"type: echo, data: {{x: 1}}, repeat: {{{condition}, max: 3}}, retry: 3"))

    assert done.status == "failed"
    assert done.error is not None
    assert (done.error["code"], done.error["message"]) == ("not-reached", says)
    assert done.error["details"] == {"rounds": 3, "result": {"x": 1}}
    assert len(shop.echo.calls) == 3
    assert shop.kinds(done.id, "a").count("loop_iteration") == 2


def test_a_repeat_may_say_that_its_maximum_is_an_end(shop: Shop) -> None:
    repeat = 'repeat: {while: "{{ true }}", max: 3, collect: true, on_max: continue}'

    done = shop.run(one(f"type: echo, data: {{x: 1}}, {repeat}"))

    assert done.status == "completed"
    assert str(done.rows["a"][2]) == '[{"x":1},{"x":1},{"x":1}]'
    assert shop.kinds(done.id, "a").count("loop_iteration") == 2


def test_a_way_may_catch_that_a_repeat_did_not_come_to_its_end(shop: Shop) -> None:
    repeat = 'repeat: {until: "{{ false }}", max: 2}, on_error: late'

    done = shop.run(
        f"workflow:\n  - {{step: start, type: echo, {repeat}, next: [end]}}\n"
        '  - {step: late, type: set, values: {code: "{{ start.error.code }}"}, next: [end]}\n'
        '  - {step: end, result: "{{ late.code }}"}\n'
    )

    assert (done.status, done.result) == ("completed", "not-reached")


def test_rounds_that_only_read_begin_anew_when_they_are_retried(shop: Shop) -> None:
    answers = count(1)

    async def counting(call: Call) -> int:
        return next(answers)

    shop.echo.answer = counting
    repeat = 'repeat: {until: "{{ result >= 4 }}", max: 2, collect: true}'
    failed = shop.run(one(f"type: echo, {repeat}"))
    assert failed.status == "failed"

    retry(Desk(shop.records.connection), failed.id, by=By("ann", "cli"))
    asyncio.run(_worked(shop, failed.id))

    done = shop.done(failed.id)
    assert (done.status, done.error) == ("completed", None)
    assert str(done.rows["a"][2]) == "[3,4]"


async def _worked(shop: Shop, number: int) -> None:
    async with shop.worker():
        await shop.until(lambda: shop.status(number) != Status.RUNNING)


def test_a_long_answer_is_cut_where_it_explains_a_failure(shop: Shop) -> None:
    async def long(call: Call) -> str:
        return "x" * 40_000

    shop.echo.answer = long

    done = shop.run(one('type: echo, repeat: {until: "{{ false }}", max: 1}'))

    assert done.error is not None
    assert done.error["message"] == 'after 1 round "until" was still false'
    assert len(done.error["details"]["result"]) < 300


def test_a_read_that_takes_too_long_fails(shop: Shop) -> None:
    async def slow(call: Call) -> None:
        await asyncio.sleep(30)

    shop.echo.answer = slow

    done = shop.run(one("type: echo, timeout: 0.05"))

    assert done.error is not None
    assert done.error["code"] == "timeout"


def test_a_write_of_unknown_outcome_is_in_doubt_and_not_repeated(shop: Shop) -> None:
    number = shop.start(one("type: change, data: {lose: true}, confirm: true, retry: 3"))

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "a") == "in_doubt")

    asyncio.run(work())
    assert shop.done(number).status == "running"
    assert len(shop.change.calls) == 1


def test_an_idempotent_write_is_repeated_with_the_same_key(shop: Shop) -> None:
    care = "confirm: true, idempotent: true, retry: {max_attempts: 2, initial_delay: 0}"

    done = shop.run(one(f"type: change, data: {{lose: true}}, {care}"))

    assert done.status == "failed"
    keys = {call.key for call in shop.change.calls}
    assert (len(shop.change.calls), len(keys)) == (2, 1)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_check_settles_a_doubt(shop: Shop, is_done: bool) -> None:
    async def saying(call: Call) -> dict[str, object]:
        return {"done": is_done, "result": {"id": 7}}

    shop.echo.answer = saying  # type: ignore[assignment]  # a map is JSON
    care = "confirm: true, check: {type: noop}"

    text = one(f"type: change, data: {{lose: true}}, {care}").replace("noop", "echo")
    done = shop.run(text) if is_done else None

    if done is not None:
        assert (done.status, done.rows["a"][2]) == ("completed", '{"id":7}')


def test_what_was_handed_back_is_done_again(shop: Shop) -> None:
    handed = 0

    async def shy(call: Call) -> None:
        nonlocal handed
        handed += 1
        if handed == 1:
            raise HandedBack("the lease may be gone")

    shop.change.answer = shy

    done = shop.run(one("type: change, confirm: true"))

    assert (done.status, done.rows["a"][1], handed) == ("completed", 1, 2)


def test_secrets_reach_the_task_and_nothing_that_is_kept(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    done = shop.run(one('type: echo, data: {t: "Bearer {{ secrets.token }}"}'))

    assert shop.echo.calls[0].input == {"t": "Bearer s3cr3t-V4lue"}
    assert done.rows["a"][2] == '{"t":"Bearer ••••••"}'
    told = shop.records.connection.execute("select data from noetl.event").fetchall()
    assert "s3cr3t" not in str(told)


def test_a_secret_is_not_kept_by_set(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    done = shop.run(one('type: set, values: {t: "{{ secrets.token }}"}'))

    assert done.error is not None
    assert done.error["code"] == "secret"


def test_a_name_that_is_not_there_fails_the_step_and_says_where(shop: Shop) -> None:
    done = shop.run(one('type: echo, data: {x: "{{ workload.a.b }}"}', "workload: {a: {}}"))

    assert done.error is not None
    assert done.error["code"] == "template"
    assert "input.x" in done.error["message"]


def test_asserted_names_must_be_there(shop: Shop) -> None:
    before = shop.run(one("type: echo, data: {x: 1}, assert: {expects: [y]}"))
    after = shop.run(one("type: echo, data: {x: 1}, assert: {returns: [y]}"))

    for done in (before, after):
        assert done.error is not None
        assert done.error["code"] == "assert"
        assert "'y'" in done.error["message"]
    assert len(shop.echo.calls) == 1


def test_saves_to_the_log_are_events(shop: Shop) -> None:
    done = shop.run(
        one('type: echo, data: {x: 1}, save: {storage: event_log, data: "{{ result.x }}"}')
    )

    assert "save_completed" in shop.kinds(done.id, "a")


def test_an_execution_that_takes_too_long_fails(shop: Shop) -> None:
    done = shop.run(one("type: echo, data: {sleep: 30}", "timeout: 0.2"))

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "timeout"


def test_a_result_that_is_no_json_fails_the_step(shop: Shop) -> None:
    async def strange(call: Call) -> float:
        return float("nan")

    shop.echo.answer = strange

    done = shop.run(one("type: echo"))

    assert done.error is not None
    assert done.error["code"] == "not-json"


def test_a_large_result_is_stored_by_digest(shop: Shop) -> None:
    async def large(call: Call) -> str:
        return "x" * 100_000

    shop.echo.answer = large

    done = shop.run(
        "workflow:\n  - {step: start, type: echo, next: [end]}\n"
        '  - {step: end, result: "{{ start.data | length }}"}\n'
    )

    assert done.result == 100_000
    assert str(done.rows["start"][2]).startswith("@")


def test_limits_hold_across_executions(shop: Shop) -> None:
    now, most = 0, 0

    async def counted(call: Call) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.03)
        now -= 1

    shop.echo.answer = counted
    text = "limits: {revit: 2}\nworkflow:\n  - {step: start, type: echo, limits: revit}\n"
    numbers = [shop.start(text) for _ in range(6)]

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: all(shop.status(n) for n in numbers))

    asyncio.run(work())
    assert most == 2


def test_more_urgent_executions_come_first(shop: Shop) -> None:
    text = "workflow:\n  - {step: start, type: echo}\n"
    slow, urgent = shop.start(text), shop.start(text, priority=10)

    async def work() -> None:
        async with shop.worker(waiting=1):
            await shop.until(lambda: bool(shop.status(slow) and shop.status(urgent)))

    asyncio.run(work())
    assert [call.execution_id for call in shop.echo.calls] == [urgent, slow]


def test_every_round_of_a_repeated_write_is_a_write_of_its_own(shop: Shop) -> None:
    repeat = 'repeat: {while: "{{ true }}", max: 3, on_max: continue}'

    done = shop.run(one(f"type: change, confirm: true, {repeat}"))

    assert done.status == "completed"
    assert len({call.key for call in shop.change.calls}) == 3


def test_a_failing_save_that_only_warns_does_not_fail_the_execution(shop: Shop) -> None:
    save = "save: {storage: duckdb, database: /nowhere/x.duckdb, table: t, on_failure: warn}"

    done = shop.run(one(f"type: echo, data: {{x: 1}}, {save}"))

    assert (done.status, done.steps["a.save.1"], done.steps["b"]) == ("completed", "failed", "done")


def test_a_save_that_only_warns_keeps_nobody_waiting_when_its_outcome_is_unknown(
    shop: Shop,
) -> None:
    async def work() -> tuple[int, int]:
        async with serving(hangs_up) as server:
            save = f"save: {{storage: http, url: '{server.url}/a', on_failure: warn}}"
            number = shop.start(one(f"type: echo, data: {{x: 1}}, {save}"))
            async with shop.worker():
                await shop.until(lambda: shop.status(number) != Status.RUNNING)
            return number, len(server.seen)

    number, sent = asyncio.run(work())

    done = shop.done(number)
    assert (done.status, done.steps["a.save.1"], done.steps["b"]) == ("completed", "failed", "done")
    assert sent == 1


def test_secret_variables_are_masked_in_what_is_kept(shop: Shop) -> None:
    head = "workload: {pin: {type: string, required: true, secret: true}, room: hall}"

    number = shop.start(
        one('type: echo, data: {p: "{{ workload.pin }}", r: "{{ workload.room }}"}', head),
        {"pin": "s3cr3t-V4lue"},
    )

    async def work() -> None:
        async with shop.worker():
            await shop.until(lambda: bool(shop.status(number)))

    asyncio.run(work())
    assert shop.echo.calls[0].input == {"p": "s3cr3t-V4lue", "r": "hall"}
    assert shop.done(number).rows["a"][2] == '{"p":"••••••","r":"hall"}'
    told = shop.records.connection.execute("select data from noetl.event").fetchall()
    assert "s3cr3t" not in str(told)
