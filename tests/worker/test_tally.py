"""What workers count is added up, and every part of it once."""

from noetl_mcp.broker.gauges import gauges
from noetl_mcp.worker.tally import EVERY, Tally
from tests.worker.shop import Shop


def test_a_worker_tells_what_it_has_done_before_it_leaves(shop: Shop) -> None:
    shop.run("workflow:\n  - {step: start, type: echo, next: [a]}\n  - {step: a, type: echo}\n")

    tally = gauges(shop.records.connection).tally

    assert tally["steps"] == 2
    assert tally["flushes"] > 2
    assert "losses" not in tally


def test_only_what_is_more_is_added(shop: Shop) -> None:
    connection = shop.records.connection
    one, other = Tally(), Tally()

    for count in (3, 3, 5):
        one.add(connection, {"flushes": count, "losses": 0})
    other.add(connection, {"flushes": 2, "losses": 1})

    assert gauges(connection).tally == {"flushes": 7, "losses": 1}


def test_it_is_told_now_and_then() -> None:
    now = 100.0
    tally = Tally(clock=lambda: now)

    first, second = tally.is_due(), tally.is_due()
    now += EVERY

    assert (first, second, tally.is_due()) == (True, False, True)
