"""Counting stays a small share of the time, however often somebody looks."""

from dataclasses import dataclass

import pytest

from noetl_mcp.broker.gauges import Counts
from noetl_mcp.web.counting import SHARE, Counting


@dataclass
class Slow:
    """A database in which counting takes its time."""

    seconds: float
    now: float = 0.0
    times: int = 0

    def count(self) -> Counts:
        self.now += self.seconds
        self.times += 1
        return Counts({"running": self.times}, {})


def test_what_took_long_to_count_is_told_again_for_a_while_with_its_age() -> None:
    slow = Slow(3.0)
    counting = Counting(lambda: slow.now)

    first = counting.ask(slow.count)
    slow.now += 10
    again = counting.ask(slow.count)
    slow.now += 3.0 * SHARE - 10
    after = counting.ask(slow.count)

    assert first == (Counts({"running": 1}, {}), 0.0)
    assert again == (Counts({"running": 1}, {}), 10.0)
    assert after == (Counts({"running": 2}, {}), 0.0)


def test_what_is_counted_quickly_is_counted_every_time() -> None:
    quick = Slow(0.001)
    counting = Counting(lambda: quick.now)

    found = [counting.ask(quick.count)[0].executions["running"] for _ in range(3)]

    assert found == [1, 2, 3]


def test_a_count_that_fails_is_tried_again() -> None:
    slow, counting = Slow(3.0), Counting()

    def fails() -> Counts:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        counting.ask(fails)

    assert counting.ask(slow.count)[0].executions == {"running": 1}
