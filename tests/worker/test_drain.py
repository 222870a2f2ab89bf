from noetl_mcp.worker.drain import is_drained
from tests.worker.shop import Shop

HERE = ("", "~")
ONE = """
workflow:
  - {step: start, next: [a]}
  - {step: a, type: echo%s, next: [end]}
  - {step: end}
"""


def drained(shop: Shop) -> bool:
    return is_drained(shop.records.connection, HERE)


def test_an_empty_database_is_drained_and_one_with_a_ready_step_is_not(shop: Shop) -> None:
    empty = drained(shop)

    shop.start(ONE % "")

    assert (empty, drained(shop)) == (True, False)


def test_steps_of_another_pool_are_somebody_elses(shop: Shop) -> None:
    shop.start(ONE % ", pool: revit")

    assert drained(shop)
    assert not is_drained(shop.records.connection, ("revit",))


def test_steps_that_wait_for_a_permit_count(shop: Shop) -> None:
    shop.start(ONE % ", limits: {name: crane, max: 1}")

    assert not drained(shop)


def test_what_is_over_or_waits_for_a_person_is_drained(shop: Shop) -> None:
    shop.run(ONE % "")
    number = shop.start(
        "workflow:\n  - {step: start, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: {message: may I}, next: [end]}\n  - {step: end}\n"
    )
    before = drained(shop)

    import asyncio

    async def park() -> None:
        async with shop.worker():
            await shop.until(lambda: shop.state(number, "ask") == "parked")

    asyncio.run(park())

    assert (before, drained(shop)) == (False, True)


def test_a_step_in_doubt_does_not_keep_workers_but_one_that_runs_does(shop: Shop) -> None:
    shop.run(ONE % "")
    number = shop.start(ONE % "")
    shop.records.connection.execute("delete from noetl.ready")
    shop.records.connection.execute(
        "with leased as (update noetl.step set state = 2, owner = 77"
        "   where execution_id = %s and state = 1 returning *),"
        " at_work as (insert into noetl.worker (id, epoch, plan_format, pools, host, boot, pid)"
        "   values (77, 1, 1, '{}', 'other', 'other', 1))"
        " insert into noetl.held (worker, execs, idxs, items)"
        " select 77, array[execution_id], array[idx], array[item] from leased",
        [number],
    )
    running = drained(shop)

    shop.records.connection.execute("update noetl.step set state = 10 where state = 2")

    assert (running, drained(shop)) == (False, True)


def test_a_retry_to_come_is_waited_for(shop: Shop) -> None:
    number = shop.start(ONE % "")
    shop.records.connection.execute("delete from noetl.ready")
    idx = "(select idx from noetl.step where execution_id = %s and state = 1)"
    shop.records.connection.execute(
        "insert into noetl.timer (due, execution_id, idx, item)"
        f" values (clock_timestamp() + interval '1 hour', %s, {idx}, 0)",
        [number, number],
    )
    waits = drained(shop)

    shop.records.connection.execute("update noetl.step set state = 8 where state = 1")

    assert (waits, drained(shop)) == (True, False)
