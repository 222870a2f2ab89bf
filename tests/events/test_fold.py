import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.events.event import Event, item_name
from noetl_mcp.events.fold import Folded, Kept, Step, fold
from noetl_mcp.events.log import Log
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.worker.engine import GivenUp
from noetl_mcp.worker.life import give_up
from noetl_mcp.worker.worker import Worker
from tests.events.books import Book, child
from tests.events.rows import session
from tests.worker.shop import Shop

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ANN = By("ann", "tests")
WORDS = {state.value: state.name.lower() for state in State}


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(database, tmp_path / "lives")
    yield made
    made.close()


def read(text: str | None) -> Any:
    """Read a value as a row keeps it."""
    if text is None:
        return None
    return Kept(text[1:]) if text.startswith("@") else orjson.loads(text)


def compare(dsn: str) -> list[Folded]:
    """Compare every execution's events with the tables, as they are at one moment."""
    found = []
    with session(dsn, autocommit=False) as connection:
        connection.execute("set transaction isolation level repeatable read")
        rows = connection.execute(
            "select e.id, e.status, e.round, e.result, e.error, h.kind = 1"
            " from noetl.execution e left join noetl.halt h on h.execution_id = e.id order by e.id"
        ).fetchall()
        for number, status, round_number, result, error, is_paused in rows:
            folded = fold(Log(connection).events(number))
            word = "paused" if is_paused and status == 0 else Status(status).name.lower()
            told = (folded.status, folded.round, folded.result)
            assert told == (word, round_number, read(result)), f"execution {number}"
            if status:
                assert folded.error == read(error), f"execution {number}"
            compare_steps(connection, number, folded)
            found.append(folded)
    return found


def compare_steps(connection: Any, number: int, folded: Folded) -> None:
    rows = connection.execute(
        "select idx, item, state, attempt, result, error, live from noetl.step"
        " where execution_id = %s order by idx, item",
        (number,),
    ).fetchall()
    tables = {
        (idx, item_name(item)): (WORDS[state], attempt, read(result), read(error))
        for idx, item, state, attempt, result, error, _ in rows
    }
    log = {
        key: (step.state, step.attempt, step.result, step.error)
        for key, step in folded.steps.items()
    }
    # Not in the log: what nobody has begun, and that something is leased only to be skipped.
    skips = {(row[0], item_name(row[1])) for row in rows if not row[6] and row[2] in (1, 2)}
    unheard = {key for key, row in tables.items() if row[0] in ("waiting", "ready")} - set(log)
    for key in (set(tables) | set(log)) - skips - unheard:
        assert log.get(key) == tables.get(key), f"execution {number}, step {key}: {rows}"


def work_off(shop: Shop, chance: Random, losses: int = 0) -> None:
    """Let workers do what can be done, look in between, and give some of them up."""

    async def some() -> None:
        left = losses
        while True:
            try:
                async with shop.worker() as worker:
                    while moving(shop):
                        await asyncio.sleep(0.02)
                        if chance.random() < 0.1:
                            await asyncio.to_thread(compare, shop.dsn)
                        if left and chance.random() < 0.3 and given_up(shop, worker):
                            left -= 1
                            break
                    else:
                        return
            except GivenUp:
                continue

    asyncio.run(asyncio.wait_for(some(), 20))


MOVING = """
select (select count(*) from noetl.step s where s.state = 2) + (select count(*) from noetl.ready)
     + (select count(*) from noetl.timer)
     + (select count(*) from noetl.execution e where e.status = 0
           and not exists (select from noetl.halt h where h.execution_id = e.id and h.kind = 1)
           and not exists (select from noetl.step s where s.execution_id = e.id
                              and (s.state = 10 or s.state = 9 and exists (
                                    select from noetl.execution c where c.status = 0
                                       and c.parent_execution = e.id))))
"""


def given_up(shop: Shop, worker: Worker) -> bool:
    """Give a worker up, unless it is just flushing; say whether that was done."""
    connection, number = shop.records.connection, worker.engine.line.worker
    give_up(connection, number, None)
    there = connection.execute("select 1 from noetl.worker where id = %s", (number,))
    return there.fetchone() is None


def moving(shop: Shop) -> bool:
    """Whether something is at work, or should be: nobody has to decide first."""
    return bool(shop.records.connection.execute(MOVING).fetchall()[0][0])


def everything(shop: Shop) -> list[int]:
    rows = shop.records.connection.execute("select id from noetl.execution").fetchall()
    return [row[0] for row in rows]


def started(shop: Shop, seed: int, count: int, **more: Any) -> list[int]:
    """Start playbooks by chance."""
    shop.submit(child())
    chance = Random(seed)
    return [
        shop.start(Book(chance, f"tests/book{number}", **more).text()) for number in range(count)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_the_log_tells_how_every_step_stands(shop: Shop, seed: int) -> None:
    started(shop, seed, 10)

    work_off(shop, Random(seed))

    folded = compare(shop.dsn)
    assert all(one.is_over for one in folded)
    assert {step.state for one in folded for step in one.steps.values()} >= {"done", "skipped"}


@pytest.mark.parametrize("seed", range(2))
def test_the_log_tells_what_workers_left_behind(shop: Shop, seed: int) -> None:
    started(shop, seed + 100, 10)

    work_off(shop, Random(seed), losses=3)

    compare(shop.dsn)


@pytest.mark.parametrize("seed", range(2))
def test_the_log_tells_what_people_decided(shop: Shop, seed: int) -> None:
    chance = Random(seed)
    ids = started(shop, seed + 200, 10, doubts=True)
    with session(shop.dsn) as connection:
        desk = Desk(connection, world=shop.secrets)
        for number in chance.sample(ids, 4):
            with suppress(NotAllowed):
                chance.choice((cancel, pause))(desk, number, by=ANN)
        compare(shop.dsn)
        for _ in range(4):
            work_off(shop, chance)
            compare(shop.dsn)
            decide(shop, desk, chance)
            compare(shop.dsn)


def decide(shop: Shop, desk: Desk, chance: Random) -> None:
    """Resolve every doubt, let what is paused go on, and retry what failed."""
    doubts = shop.records.connection.execute(
        "select s.execution_id, p.name, s.item from noetl.step s"
        " join noetl.execution e on e.id = s.execution_id"
        " join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = s.idx where s.state = 10"
    ).fetchall()
    for number, name, item in doubts:
        step = name if not item else f"{name}[{item_name(item)}]"
        how: Any = chance.choice(("accept", "retry", "abort"))
        with suppress(NotAllowed):
            resolve(desk, number, step, how, by=ANN, value={"v": 1}, force=True)
    for number in everything(shop):
        with suppress(NotAllowed):
            resume(desk, number, by=ANN)
        with suppress(NotAllowed):
            retry(desk, number, by=ANN)


# What is seldom seen in a random run


def told(number: int, kind: str, idx: int | None = 1, **more: Any) -> Event:
    """Return an event of one execution."""
    item, data = more.pop("item", None), more.pop("data", {})
    attempt, worker = more.pop("attempt", 1), more.pop("worker", 7)
    return Event(number, NOW, kind, 5, "a", item, attempt, worker, data, idx)


def one(*events: Event) -> Step:
    return fold(events).steps[1, None]


def test_nothing_is_known_before_the_first_event() -> None:
    assert fold([]) == Folded(steps=MappingProxyType({}))


def test_a_large_result_is_known_by_its_digest() -> None:
    step = one(told(1, "step_completed", data={"result_ref": "abc"}))

    assert (step.state, step.result) == ("done", Kept("abc"))


def test_what_is_told_of_a_body_changes_no_state() -> None:
    kinds = ("action_started", "action_completed", "log", "save_completed", "tool_called")

    step = one(told(1, "step_started"), *(told(n, kind) for n, kind in enumerate(kinds, 2)))

    assert step.state == "leased"


def test_an_item_that_is_over_says_nothing_about_its_iterator() -> None:
    over = told(1, "loop_iteration", item="3", attempt=None)

    assert fold([over]).steps == {}


def test_a_repeat_waits_for_its_delay() -> None:
    soon, later = told(1, "loop_iteration"), told(1, "loop_iteration", data={"delay": 2})

    assert (one(soon).state, one(later).state) == ("ready", "retrying")


def test_a_lost_worker_leaves_what_the_round_before_gave() -> None:
    round_over = told(1, "loop_iteration", data={"result": 3, "note": {"rounds": 1}, "delay": 1})
    lost = (
        told(2, "step_started", attempt=2),
        told(3, "lease_lost", attempt=2, data={"lost": True}),
    )

    step = one(round_over, *lost)

    assert (step.state, step.attempt, step.result, step.note) == ("ready", 2, 3, {"rounds": 1})


def test_a_doubt_leaves_what_was_given_before_and_its_end_too() -> None:
    before = told(1, "loop_iteration", data={"result": 3})
    lost = (told(2, "step_started"), told(3, "lease_lost"), told(4, "step_in_doubt"))
    accepted = told(5, "step_resolved", worker=None, data={"state": 1, "answer": 9})
    aborted = told(5, "step_resolved", worker=None, data={"state": 4, "error": {"code": "x"}})

    assert one(before, *lost).result == 3
    assert (one(*lost, accepted).state, one(*lost, accepted).answer) == ("ready", 9)
    assert one(*lost, aborted).is_settled


def test_a_further_round_takes_back_what_it_says() -> None:
    retried = {"round": 2, "ready": [[1, 0, 0, 1]], "gone": [[2, 1, 1]], "waiting": [[3, 0, 1, 0]]}
    folded = fold(
        [
            told(1, "execution_started", None),
            told(2, "step_failed", attempt=4, data={"error": {"code": "x"}}),
            told(3, "step_completed", 2, item="0"),
            told(4, "step_completed", 2, item="1"),
            told(5, "step_skipped", 3),
            told(6, "execution_failed", None, data={"error": {"code": "x"}}),
            told(7, "execution_retried", None, data=retried),
        ]
    )

    assert (folded.status, folded.round, folded.error) == ("running", 2, None)
    assert {key: (step.state, step.attempt) for key, step in folded.steps.items()} == {
        (1, None): ("ready", 0),
        (2, "1"): ("done", 1),
        (3, None): ("waiting", 0),
    }
