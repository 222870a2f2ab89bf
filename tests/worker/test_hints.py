import threading
import time
from collections.abc import Callable

from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.worker.hints import HALT, WAKE, Ear, Hint, Hints
from tests.worker.shop import Shop


def connecting(dsn: str) -> Callable[[], Connection[TupleRow]]:
    return lambda: connect(dsn, application_name="ear")


def say(shop: Shop, channel: str, text: str) -> None:
    shop.records.connection.execute("select pg_notify(%s, %s)", [channel, text])


def within(claim: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.005)


def test_an_ear_begins_with_a_hint_and_then_hears_both_channels(shop: Shop) -> None:
    ear = Ear(connecting(shop.dsn))
    first = ear.next(5)

    say(shop, WAKE, "1,2")
    say(shop, HALT, "7")

    assert [first, ear.next(5), ear.next(5)] == [Hint(WAKE, ""), Hint(WAKE, "1,2"), Hint(HALT, "7")]
    assert ear.next(0.01) is None
    ear.close()


def test_an_ear_that_was_cut_off_hears_again(shop: Shop) -> None:
    ear = Ear(connecting(shop.dsn))
    ear.next(5)
    shop.records.connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'ear' and datname = current_database()"
    )

    within(lambda: ear.next(1) == Hint(WAKE, ""))

    say(shop, WAKE, "3")
    assert ear.next(5) == Hint(WAKE, "3")
    ear.close()


def test_an_ear_without_a_server_says_nothing_and_waits_between_its_tries() -> None:
    tries: list[float] = []

    def refused() -> Connection[TupleRow]:
        tries.append(time.monotonic())
        raise OSError("nobody there")

    ear = Ear(refused)
    found = [ear.next(0.01) for _ in range(12)]

    assert found == [None] * 12
    assert len(tries) < 4
    ear.close()


def test_hints_stop_at_once_while_nothing_is_said(shop: Shop) -> None:
    heard: list[tuple[str, str]] = []
    hints = Hints(connecting(shop.dsn), lambda channel, text: heard.append((channel, text)))
    hints.start()
    within(lambda: bool(heard))
    say(shop, WAKE, "9")
    within(lambda: (WAKE, "9") in heard)

    hints.stop()

    assert all(thread.name != "hints" for thread in threading.enumerate())
