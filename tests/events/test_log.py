import json
import random
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from noetl_mcp.broker.run import item_name as written_by_the_broker
from noetl_mcp.events.event import WIDTH, Event, item_name, item_number, moment
from noetl_mcp.events.log import MOST_AT_ONCE, Following, Log, follow
from noetl_mcp.events.tail import Gap, Tail, without
from tests.events.rows import ended, event, execution, session


def comes(claim: Callable[[], bool]) -> bool:
    """Say whether a claim becomes true; transactions of other tests are in the way for a while."""
    deadline = time.monotonic() + 30
    while not claim() and time.monotonic() < deadline:
        pass
    return claim()


def ids(events: list[Event]) -> list[int]:
    return [one.id for one in events]


@pytest.mark.parametrize("name", [None, "0", "3", "3.7", "0.0.12"])
def test_items_are_written_as_the_broker_writes_them_and_read_back(name: str | None) -> None:
    number = item_number(name)

    assert item_name(number) == written_by_the_broker(number) == name
    assert item_number("3.7") == 4 * WIDTH + 8


def test_times_are_texts_that_sort_as_times_do() -> None:
    whole = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert moment(whole) == "2026-01-02T03:04:05.000000+00:00"
    assert moment(whole) < moment(whole.replace(microsecond=1))


def test_events_come_in_the_order_of_their_numbers_with_names(database: str) -> None:
    with session(database) as connection:
        one, other = execution(connection), execution(connection)
        event(connection, one, "execution_started", data='{"path": "tests/one"}')
        event(connection, other, "execution_started")
        event(connection, one, "step_started", idx=1, item=4 * WIDTH + 8)

        found = list(Log(connection).events(one))

    assert [(e.kind, e.step, e.item, e.where) for e in found] == [
        ("execution_started", None, None, ""),
        ("step_started", "a", "3.7", "a[3.7]"),
    ]
    assert found[0].data == {"path": "tests/one"}
    assert json.loads(json.dumps(found[1].as_json()))["execution_id"] == str(one)


def test_every_kind_of_event_has_a_heading_in_the_docs(database: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
    headings = re.findall(r"^### (\w+)$", page.read_text(), re.MULTILINE)

    with session(database) as connection:
        kinds = Log(connection).kinds()

    assert sorted(headings) == sorted(kinds)


def test_an_event_that_cannot_be_read_hides_no_other(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        event(connection, one, data='{"broken": @x}')
        event(connection, one, data="[1]")

        found = [told.data for told in Log(connection).events(one)]

    assert found == [{"text": '{"broken": @x}'}, {"value": [1]}]


def test_queueing_and_leasing_are_told_by_the_start_of_a_step(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        connection.execute(
            "insert into noetl.event (kind, execution_id, idx, item, worker, ready_at, leased_at)"
            " values (10, %s, 1, 0, 7, date_trunc('second', now()), now())",
            (one,),
        )

        (found,) = (told.as_json() for told in Log(connection).events(one))

    assert found["worker"] == 7
    assert found["data"]["ready_at"] <= found["data"]["leased_at"] <= found["ts"]
    assert len({len(text) for text in (*found["data"].values(), found["ts"])}) == 1


def test_events_are_chosen_by_step_item_and_kind(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        first = event(connection, one, "step_started", idx=1, item=1)
        second = event(connection, one, "step_completed", idx=1, item=2)
        third = event(connection, one, "step_completed", idx=2, item=0)
        log = Log(connection)

        assert ids([*log.events(one, step="a")]) == [first, second]
        assert ids([*log.events(one, step="a[1]")]) == [second]
        assert ids([*log.events(one, kinds=["step_completed"])]) == [second, third]
        assert ids([*log.events(one, step="a[nonsense]")]) == []
        assert ids([*log.events(one, after=second)]) == [third]


def test_more_events_than_are_read_at_once_come_all(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        connection.execute(
            "insert into noetl.event (kind, execution_id)"
            " select 35, %s from generate_series(1, %s)",
            (one, MOST_AT_ONCE + 5),
        )
        ended(connection, one)

        read = ids(list(Log(connection).events(one)))
        followed = [n for some in follow(Following(Log(connection), one)) for n in ids(some)]

    assert len(read) == MOST_AT_ONCE + 6
    assert read == followed == sorted(read)


@pytest.mark.parametrize("begins_first", ["the early one", "the late one"])
def test_an_event_that_is_committed_late_is_not_missed(database: str, begins_first: str) -> None:
    with (
        session(database) as connection,
        session(database, autocommit=False) as early,
        session(database, autocommit=False) as late,
    ):
        one = execution(connection)
        following, tail = Following(Log(connection), one), Tail(connection)
        for writer in (late, early) if begins_first == "the late one" else (early, late):
            writer.execute("select pg_current_xact_id()")
        low = event(late, one)
        high = event(early, one)
        early.commit()

        assert ids(following.more()) == ids(tail.more()) == [high]
        for _ in range(3):
            assert ids(following.more()) == ids(tail.more()) == []
        late.commit()

        assert ids(following.more()) == ids(tail.more()) == [low]
        assert ids(following.more()) == ids(tail.more()) == []


def test_whoever_begins_at_the_end_sees_what_was_under_way(database: str) -> None:
    with session(database) as connection, session(database, autocommit=False) as late:
        one = execution(connection)
        event(connection, one)
        early = event(late, one)
        event(connection, one)
        tail = Tail.from_now(connection)

        assert tail.more() == []
        late.commit()

        assert ids(tail.more()) == [early]


def test_a_number_that_never_comes_is_forgotten_when_its_owner_has_ended(database: str) -> None:
    with session(database) as connection, session(database, autocommit=False) as late:
        one = execution(connection)
        tail = Tail.from_now(connection)
        lost = event(late, one)
        event(connection, one)
        tail.more()

        tail.more()
        open_gaps = list(tail.gaps)
        late.rollback()

        assert [(gap.first, gap.last) for gap in open_gaps] == [(lost, lost)]
        assert comes(lambda: tail.more() == [] and tail.gaps == [])


def test_the_part_of_a_gap_that_has_come_is_no_gap_any_more() -> None:
    assert without(Gap(5, 9, 1), [5, 7, 12]) == [Gap(6, 6, 1), Gap(8, 9, 1)]


def test_following_ends_with_the_execution_and_not_before_its_last_event(database: str) -> None:
    with session(database) as connection, session(database) as writer:
        one = execution(connection)
        event(writer, one)
        looks = 0

        def wait(seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 2:
                ended(writer, one)

        found = [
            e.kind for some in follow(Following(Log(connection), one), wait=wait) for e in some
        ]

    assert found == ["log", "execution_completed"]


def test_readers_see_every_event_once_whoever_writes_beside_them(database: str) -> None:
    writers, each = 6, 40
    with session(database) as connection:
        one = execution(connection)
        following, tail = Following(Log(connection), one), Tail(connection)
        written: list[int] = []
        lock = threading.Lock()

        def write(seed: int) -> None:
            chance = random.Random(seed)
            with session(database, autocommit=False) as mine:
                for _ in range(each):
                    made = [event(mine, one) for _ in range(chance.randint(1, 3))]
                    mine.execute("select pg_sleep(%s)", (chance.random() * 0.004,))
                    if chance.random() < 0.15:
                        mine.rollback()
                        continue
                    mine.commit()
                    with lock:
                        written.extend(made)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
        for thread in threads:
            thread.start()
        followed: list[int] = []
        tailed: list[int] = []
        while any(thread.is_alive() for thread in threads):
            followed += ids(following.more())
            tailed += ids(tail.more(most=7))
        while more := tail.more(most=7):
            tailed += ids(more)
        followed += ids(following.more())

        assert sorted(followed) == sorted(tailed) == sorted(written)
        assert comes(lambda: tail.more() == [] and tail.gaps == [])
        assert comes(lambda: following.more() == [] and not following._seen)
