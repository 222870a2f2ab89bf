from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.events.partitions import Tended, astray, tend
from noetl_mcp.events.snapshot import snapshot
from tests.events.rows import ended, event, execution, session

DAY = timedelta(days=1)
NOW = datetime.now(UTC)


def today(connection: Connection[TupleRow]) -> date:
    row = connection.execute("select (clock_timestamp() at time zone 'UTC')::date").fetchone()
    assert row is not None
    return date.fromisoformat(str(row[0]))


def days(connection: Connection[TupleRow]) -> list[date]:
    rows = connection.execute("select day from noetl.log_day order by day").fetchall()
    return [row[0] for row in rows]


def everything(connection: Connection[TupleRow]) -> list[int]:
    return [row[0] for row in connection.execute("select id from noetl.event order by id")]


def forget_days(connection: Connection[TupleRow]) -> None:
    """Take every day away, as where nobody has looked after the log for long."""
    for day in days(connection):
        connection.execute("select noetl.log_remove_1(%s)", (day,))
    assert days(connection) == []


def test_a_week_is_made_ahead_and_then_there_is_nothing_to_do(database: str) -> None:
    with session(database) as connection:
        forget_days(connection)

        first, second = tend(connection), tend(connection)

        assert days(connection) == [today(connection) + n * DAY for n in range(8)]
        assert sorted(first.made) == days(connection)
        assert second == Tended()


def test_a_new_database_has_its_days(database: str) -> None:
    with session(database) as connection:
        event(connection, execution(connection))

        assert len(days(connection)) >= 8
        assert astray(connection) == 0


def test_what_went_astray_is_counted_and_brought_home(database: str) -> None:
    with session(database) as connection:
        forget_days(connection)
        one = execution(connection)
        made = [event(connection, one, ts=NOW - n * DAY) for n in range(3)]
        before = astray(connection)

        tended = tend(connection)

        assert before == 3
        assert (tended.moved, tended.astray) == (3, 0)
        assert everything(connection) == made
        assert today(connection) - 2 * DAY in days(connection)


def test_too_many_rows_stay_where_they_are_and_are_told(database: str) -> None:
    with session(database) as connection:
        forget_days(connection)
        one = execution(connection)
        made = [event(connection, one) for _ in range(5)]

        tended = tend(connection, most=4)

        assert (tended.moved, tended.astray) == (0, 5)
        assert today(connection) not in days(connection)
        assert today(connection) + DAY in days(connection)
        assert everything(connection) == made


def test_old_days_go_unless_something_that_runs_has_events_there(database: str) -> None:
    with session(database) as connection:
        runs, over = execution(connection), execution(connection)
        connection.execute("update noetl.execution set created_at = now() - interval '50 days'")
        kept = event(connection, runs, ts=NOW - 40 * DAY)
        event(connection, over, ts=NOW - 41 * DAY)
        young = event(connection, over, ts=NOW - 3 * DAY)
        ended(connection, over)
        last = everything(connection)[-1]
        tend(connection)

        tended = tend(connection, keep=30 * DAY)

        assert tended.removed == (today(connection) - 41 * DAY,)
        assert tended.needed == (today(connection) - 40 * DAY,)
        assert everything(connection) == [kept, young, last]
        ended(connection, runs)
        assert tend(connection, keep=30 * DAY).removed == (today(connection) - 40 * DAY,)


def test_nothing_is_removed_unless_somebody_says_how_long_to_keep_it(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        event(connection, one, ts=NOW - 900 * DAY)
        ended(connection, one)

        tend(connection)

        assert tend(connection).removed == ()
        assert len(everything(connection)) == 2


def test_a_day_is_archived_before_it_goes_and_stays_when_it_cannot_be(
    database: str, tmp_path: Path
) -> None:
    old = NOW - 40 * DAY
    with session(database) as connection:
        one = execution(connection)
        made = event(connection, one, idx=1, item=0, data='{"n": 1}', ts=old)
        ended(connection, one)
        tend(connection)

        def refuses(day: date) -> None:
            raise OSError("the disk is full")

        with pytest.raises(OSError, match="full"):
            tend(connection, keep=30 * DAY, archive=refuses)
        assert made in everything(connection)
        tended = tend(connection, keep=30 * DAY, archive=lambda d: snapshot(database, d, tmp_path))

    (file,) = tmp_path.iterdir()
    assert file.name == f"events-{old.date()}.parquet"
    assert tended.removed == (old.date(),)
    rows = duckdb.execute("select id, step, playbook, data from read_parquet($1)", [str(file)])
    assert rows.fetchall() == [(made, "a", "tests/one", '{"n": 1}')]


def test_a_snapshot_holds_its_day_alone(database: str, tmp_path: Path) -> None:
    midnight = datetime(2026, 3, 4, tzinfo=UTC)
    with session(database) as connection:
        one = execution(connection)
        for moment in (midnight - timedelta(microseconds=1), midnight, midnight + DAY):
            event(connection, one, ts=moment)
        file = snapshot(database, midnight.date(), tmp_path, how="csv")
        again = snapshot(database, midnight.date(), tmp_path, how="arrow")

    assert again == file
    assert duckdb.execute("select ts from read_parquet($1)", [str(file)]).fetchall() == [
        (midnight.replace(tzinfo=None),)
    ]
    assert list(tmp_path.iterdir()) == [file]


def test_twenty_callers_at_once_make_each_day_once(database: str) -> None:
    with session(database) as connection:
        forget_days(connection)
        made = event(connection, execution(connection))

    def call(_: int) -> Tended:
        with session(database) as mine:
            return tend(mine)

    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(call, range(20)))

    with session(database) as connection:
        last = tend(connection)
        every = sorted(day for one in [*told, last] for day in one.made)
        assert every == days(connection) == [today(connection) + n * DAY for n in range(8)]
        assert everything(connection) == [made]
        assert astray(connection) == 0


def test_a_log_in_use_is_left_for_the_next_time(database: str) -> None:
    with session(database) as connection, session(database, autocommit=False) as reader:
        one = execution(connection)
        event(connection, one, ts=NOW - 40 * DAY)
        ended(connection, one)
        tend(connection)
        reader.execute("select count(*) from noetl.event")

        held = tend(connection, keep=30 * DAY)
        reader.rollback()
        free = tend(connection, keep=30 * DAY)

    assert (held.busy, held.removed) == (True, ())
    assert (free.busy, len(free.removed)) == (False, 1)


def test_writers_meet_no_error_while_their_day_is_made(database: str) -> None:
    with session(database) as connection:
        forget_days(connection)
        one = execution(connection)

    def write(_: int) -> int:
        with session(database) as mine:
            for _ in range(50):
                event(mine, one)
        return 50

    with ThreadPoolExecutor(4) as pool:
        written = pool.map(write, range(4))
        with session(database) as connection:
            while tend(connection).busy or astray(connection):
                pass
        total = sum(written)

    with session(database) as connection:
        assert len(everything(connection)) == total
        assert astray(connection) == 0
