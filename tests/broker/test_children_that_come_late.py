"""A child that starts while its parent is being halted is halted with it."""

from concurrent.futures import ThreadPoolExecutor

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.starts import Starts
from noetl_mcp.events.fold import fold
from noetl_mcp.events.log import Log
from noetl_mcp.queue.lease import Status
from tests.broker.desks import ANN, events, work_off
from tests.worker.shop import HEAD, Shop

CHILD = HEAD.replace("tests/t", "tests/kid") + (
    "workflow:\n  - {step: start, next: [a]}\n  - {step: a, type: echo, data: {x: 1}}\n"
)
PARENT = """
workflow:
  - {step: start, next: [kid]}
  - {step: kid, type: playbook, path: tests/kid, next: [end]}
  - {step: end}
"""


def parent(shop: Shop) -> int:
    shop.submit(CHILD)
    return shop.start(PARENT)


def child(shop: Shop, number: int, records: Records | None = None) -> int:
    """Start a child as the parent's step does that was leased before."""
    store = records or shop.records
    return Starts(store, shop.secrets).child(
        lambda records, plan: shop.submit(CHILD)[0],
        "tests/kid",
        1,
        {},
        parent=(number, 1, 0),
        key=f"child:{number}:1:0:1:1",
        priority=0,
    )


def test_a_child_of_a_paused_parent_waits_and_goes_on_with_it(shop: Shop, desk: Desk) -> None:
    number = parent(shop)
    pause(desk, number, by=ANN)

    kid = child(shop, number)

    assert fold(Log(desk.connection).events(kid)).status == "paused"
    assert events(shop, kid, "execution_paused") == [{"by": "ann", "with": number}]
    assert resume(desk, number, by=ANN) == (number, kid)
    assert work_off(shop, kid) == "completed"


def test_a_child_of_a_cancelled_parent_ends_with_it(shop: Shop, desk: Desk) -> None:
    number = parent(shop)
    with desk.connection.transaction():
        # Its step is at work, so the parent is not over yet.
        desk.connection.execute("update noetl.step set state = 2 where idx = 1 and item = 0")
    cancel(desk, number, by=ANN)

    kid = child(shop, number)

    assert work_off(shop, kid) == "cancelled"


def test_a_child_that_starts_while_its_parent_is_being_paused_is_paused_too(
    shop: Shop, desk: Desk
) -> None:
    number = parent(shop)
    other, watching = shop.connect("other"), shop.connect("watching")
    with ThreadPoolExecutor(1) as threads, other, watching:
        with desk.connection.transaction():
            pause(desk, number, by=ANN)
            starting = threads.submit(child, shop, number, Records(other))
            while not watching.execute(
                "select 1 from pg_stat_activity where application_name like '%other%'"
                " and wait_event_type = 'Lock'"
            ).fetchone():
                assert not starting.done()
        kid = starting.result(10)

    assert fold(Log(desk.connection).events(kid)).status == "paused"
    assert shop.status(kid) == Status.RUNNING


def test_a_child_of_a_running_parent_is_not_halted(shop: Shop, desk: Desk) -> None:
    number = parent(shop)

    kid = child(shop, number)

    assert fold(Log(desk.connection).events(kid)).status == "running"


def test_a_child_that_its_step_could_not_note_is_retried_and_not_started_anew(
    shop: Shop, desk: Desk
) -> None:
    number = parent(shop)
    kid = child(shop, number)
    cancel(desk, number, by=ANN)
    assert (work_off(shop, number), work_off(shop, kid)) == ("cancelled", "cancelled")

    found = retry(desk, number, by=ANN)

    assert found.children == (kid,)
    assert work_off(shop, number) == "completed"
    rows = shop.records.connection.execute(
        "select id from noetl.execution where parent_execution = %s", (number,)
    ).fetchall()
    assert rows == [(kid,)]
