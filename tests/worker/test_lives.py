import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from noetl_mcp.queue.lease import Status
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.hints import HALT, WAKE
from noetl_mcp.worker.life import given_up
from noetl_mcp.worker.lives import Grace, Lives
from noetl_mcp.worker.worker import Equipment
from tests.worker.shop import Shop

SLOW = """
workflow:
  - {step: start, next: [slow]}
  - {step: slow, type: echo, data: {sleep: 30}, next: [end]}
  - {step: end}
"""
SLOW_WRITE = SLOW.replace("type: echo, data: {sleep: 30}", "type: change, data: {sleep: 0.5}")
QUICK = SLOW.replace("30", "0.01")
FULL = """
create function public.full() returns trigger language plpgsql as $$ begin
    raise exception 'could not extend file: No space left on device' using errcode = '53100';
end $$;
create trigger full_disk before insert on noetl.event
    for each statement execute function public.full();
"""
SOON = Grace(timedelta(seconds=0.1), timedelta(seconds=20))


@asynccontextmanager
async def living(
    shop: Shop, grace: Grace = SOON, told: Callable[[str], None] = lambda text: None
) -> AsyncIterator[Lives]:
    bench = shop.bench()
    equipment = Equipment(
        shop.connect,
        shop.specs,
        bench.task,
        shop.lives,
        rules=Rules(),
        terms=Terms(lease=timedelta(seconds=15)),
    )
    lives = Lives(equipment, grace=grace, told=told)
    task = asyncio.create_task(lives.live())
    await shop.until(lambda: lives.number is not None)
    try:
        yield lives
    finally:
        lives.leave()
        await task
        await bench.close()


def test_a_worker_that_was_given_up_begins_a_new_life_and_works_on(shop: Shop) -> None:
    async def work() -> tuple[int | None, int | None]:
        async with living(shop) as lives:
            first = lives.number
            await shop.until(lambda: given_up(shop.records.connection, first or 0, None)[0])
            number = shop.start(QUICK)
            lives.hear(WAKE, "")
            await shop.until(lambda: shop.status(number) == Status.COMPLETED)
            return first, lives.number

    first, second = asyncio.run(work())

    assert first != second


def test_a_worker_that_leaves_hands_back_what_reads(shop: Shop) -> None:
    number = shop.start(SLOW)

    async def work() -> None:
        async with living(shop) as lives:
            await shop.until(lambda: shop.state(number, "slow") == "leased")
            lives.leave()

    asyncio.run(work())

    assert shop.state(number, "slow") == "ready"
    assert "lease_lost" in shop.kinds(number, "slow")


def test_a_worker_that_leaves_lets_a_write_come_to_its_end(shop: Shop) -> None:
    number = shop.start(SLOW_WRITE)

    async def work() -> None:
        async with living(shop) as lives:
            await shop.until(lambda: shop.state(number, "slow") == "leased")
            lives.leave()

    asyncio.run(work())

    assert shop.state(number, "slow") == "done"


def test_a_write_that_is_stopped_in_a_hurry_is_in_doubt(shop: Shop) -> None:
    number = shop.start(SLOW_WRITE.replace("0.5", "30"))

    async def work() -> None:
        async with living(shop) as lives:
            await shop.until(lambda: len(shop.change.calls) == 1)
            lives.hurry()

    asyncio.run(work())

    assert shop.state(number, "slow") == "in_doubt"


def test_a_hundred_hints_for_one_step_do_it_once(shop: Shop) -> None:
    async def work() -> int:
        async with living(shop) as lives:
            number = shop.start(QUICK)
            for _ in range(100):
                lives.hear(WAKE, "")
                lives.hear(WAKE, f"{lives.number},77")
                lives.hear(WAKE, "77")
                lives.hear(HALT, "5")
            await shop.until(lambda: shop.status(number) == Status.COMPLETED)
            return number

    number = asyncio.run(work())

    assert len(shop.echo.calls) == 1
    assert shop.kinds(number, "slow").count("step_completed") == 1


def test_work_is_found_although_every_hint_is_lost(shop: Shop) -> None:
    async def work() -> None:
        async with living(shop):
            number = shop.start(QUICK)
            await shop.until(lambda: shop.status(number) == Status.COMPLETED)

    asyncio.run(work())


def test_who_sleeps_is_named_to_those_that_carry_hints(shop: Shop) -> None:
    named: set[int] = set()
    fan = """
workflow:
  - {step: start, next: [a]}
  - {step: a, type: echo, data: {sleep: 0.2}, next: [b, c, d]}
  - {step: b, type: echo, pool: other, next: [end]}
  - {step: c, type: echo, pool: other, next: [end]}
  - {step: d, type: echo, pool: other, next: [end]}
  - {step: end}
"""

    async def work() -> int:
        async with living(shop) as lives:
            lives.awaken = named.update
            shop.records.connection.execute(
                "insert into noetl.worker (epoch, asleep, plan_format, pools, host, boot, pid)"
                " values (1, true, 1, '{other}', 'elsewhere', '', 1)"
            )
            number = shop.start(fan)
            lives.hear(WAKE, "")
            await shop.until(lambda: bool(named))
            return number

    asyncio.run(work())

    assert len(named) == 1


def test_a_database_that_takes_nothing_is_told_of_once_and_waited_for(shop: Shop) -> None:
    said: list[str] = []

    async def work() -> int:
        async with living(shop, told=said.append) as lives:
            number = shop.start(QUICK)
            shop.records.connection.execute(FULL)
            lives.hear(WAKE, "")
            await shop.until(lambda: bool(said))
            await asyncio.sleep(2.5)
            shop.records.connection.execute("drop trigger full_disk on noetl.event")
            await shop.until(lambda: len(said) == 2)
            await shop.until(lambda: shop.status(number) == Status.COMPLETED)
            return number

    number = asyncio.run(work())

    assert shop.done(number).status == "completed"
    assert said[0].startswith("the database does not take what was done; trying again: 53100")
    assert "No space left on device" in said[0]
    assert said[1:] == ["the database takes what was done again"]


def test_who_leaves_waits_only_so_long_for_a_database_that_takes_nothing(shop: Shop) -> None:
    number = shop.start(SLOW)

    async def work() -> float:
        async with living(shop) as lives:
            await shop.until(lambda: shop.state(number, "slow") == "leased")
            shop.records.connection.execute(FULL)
            began = time.monotonic()
        assert lives.held == 0
        return time.monotonic() - began

    took = asyncio.run(work())
    shop.records.connection.execute("drop trigger full_disk on noetl.event")

    assert took < 15
    assert shop.state(number, "slow") in ("leased", "ready")
