import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.events.ask import Bounds, Copy, NotAnswered, copied, names_results, plain
from noetl_mcp.events.copied import quickest
from noetl_mcp.events.event import item_number
from noetl_mcp.events.fold import Folded
from noetl_mcp.events.log import Log
from noetl_mcp.events.questions import questions
from tests.broker.desks import ANN, work
from tests.broker.desks import work_off as work_to_end
from tests.events.rows import event, execution, session
from tests.events.test_fold import compare, started, work_off
from tests.worker.shop import Shop

How = Literal["arrow", "csv"]
WAYS: tuple[How, ...] = ("arrow", "csv")


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(database, tmp_path / "lives")
    yield made
    made.close()


@pytest.fixture
def copy(database: str) -> Iterator[Copy]:
    with session(database) as connection:
        one = execution(connection)
        for number in range(5):
            event(connection, one, idx=1, item=number, data=json.dumps({"n": number}))
    with copied(database, bounds=Bounds(rows=3, seconds=5)) as made:
        yield made


def every(copy: Copy, question: str) -> list[dict[str, Any]]:
    return copy.ask(question).as_json()


@pytest.mark.parametrize("how", WAYS)
def test_a_copy_holds_the_log_as_it_is(database: str, how: How) -> None:
    texts = ['{"a": "q\\"uote, comma"}', '{"é": "ä\\n"}', json.dumps({"t": "x" * 300_000}), None]
    with session(database) as connection:
        one = execution(connection)
        for number, text in enumerate(texts):
            event(connection, one, idx=number % 2, item=number, data=text)
        event(connection, one, "execution_completed")
        told = [found.as_json() for found in Log(connection).events(one)]

    with copied(database, how=how) as copy:
        rows = every(copy, "from events order by id")

    assert [row["data"] for row in rows] == [*texts, None]
    for row, event_ in zip(rows, told, strict=True):
        for key in ("id", "ts", "kind", "step", "item", "attempt", "worker"):
            assert row[key] == event_[key]
        assert (row["playbook"], row["type"]) == ("tests/one", row["step"] and "python")


@pytest.mark.parametrize("how", WAYS)
def test_steps_stand_as_the_fold_says(shop: Shop, how: How) -> None:
    started(shop, 7, 8)
    work_off(shop, Random(7))
    folded = compare(shop.dsn)

    with copied(shop.dsn, how=how, bounds=Bounds(rows=10_000)) as copy:
        steps = every(copy, "from steps order by execution_id, idx, item")
        executions = every(copy, "from executions order by id")
        answers = {one.name: copy.ask(one.sql) for one in questions().values()}

    assert states_of(folded) == sorted(
        (row["execution_id"], row["idx"], item_number(row["item"]), row["state"], row["attempts"])
        for row in steps
    )
    assert [row["status"] for row in executions] == [one.status for one in folded]
    assert [row["error_code"] for row in executions] == [
        one.error["code"] if one.error else None for one in folded
    ]
    assert len(answers["playbooks"].rows) == 9
    assert answers["failures-by-playbook"].rows
    assert answers["retries"].rows


def test_rounds_are_told_apart(shop: Shop) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [w]}\n"
        "  - {step: w, type: change, confirm: true, data: {lose: true}}\n"
    )
    desk = Desk(shop.records.connection)
    work(shop, lambda: shop.state(number, "w") == "in_doubt")
    resolve(desk, number, "w", "abort", by=ANN)
    retry(desk, number, by=ANN)
    work(shop, lambda: shop.state(number, "w") == "in_doubt")
    resolve(desk, number, "w", "accept", value=1, by=ANN)
    assert work_to_end(shop, number) == "completed"

    with copied(shop.dsn) as copy:
        attempts = every(
            copy,
            "select round, attempt, outcome, seconds < epoch(now() - ready_at) as own"
            " from attempts where step = 'w' order by round, attempt",
        )
        retried = every(copy, "select distinct round from events order by round")
        (writes,) = every(copy, questions()["writes"].sql)

    assert attempts == [
        {"round": 1, "attempt": 1, "outcome": "step_in_doubt", "own": None},
        {"round": 2, "attempt": 1, "outcome": "step_completed", "own": True},
    ]
    assert [row["round"] for row in retried] == [1, 2]
    assert (writes["writes"], writes["done"], writes["in_doubt"]) == (2, 1, 2)


def test_rounds_are_known_when_only_the_last_days_are_copied(database: str) -> None:
    now = datetime.now(UTC)
    with session(database) as connection:
        one, other = execution(connection), execution(connection)
        connection.execute("update noetl.execution set round = 3 where id = %s", (one,))
        long_ago = now - timedelta(hours=3)
        event(connection, one, "execution_retried", data='{"round": 2}', ts=long_ago)
        event(connection, one, idx=1)
        event(connection, one, "execution_retried", data='{"round": 3}')
        event(connection, one, idx=1)
        event(connection, other, idx=1)

    with copied(database, since=now - timedelta(hours=1)) as copy:
        rows = every(copy, "select round from events order by id")

    assert [row["round"] for row in rows] == [2, 3, 3, 1]


def states_of(folded: list[Folded]) -> list[tuple[int, int, int, str, int]]:
    return sorted(
        (number, idx, item_number(item), step.state, step.attempt)
        for number, one in enumerate(folded, 1)
        for (idx, item), step in one.steps.items()
    )


def test_named_questions_need_no_results(database: str) -> None:
    with session(database) as connection:
        one = execution(connection)
        event(connection, one, "step_completed", idx=1, item=0, data='{"result": "big"}')
        event(connection, one, "step_parked", idx=2, item=0, data='{"note": {"event": "go"}}')

    with copied(database, results=False) as copy:
        (waits,) = every(copy, questions()["waits-for-others"].sql)
        data = [row["data"] for row in every(copy, "select data from events order by id")]
        for question in questions().values():
            copy.ask(question.sql)

    assert waits["waits_for"] == "event go"
    assert data == [None, '{"note": {"event": "go"}}']


def test_what_waits_for_a_person_is_told_with_what_was_asked(database: str) -> None:
    note = {"approve": {"who": ["ann"], "message": "Go on?"}, "until": None}
    with session(database) as connection:
        one = execution(connection)
        event(connection, one, "step_parked", idx=1, item=0, data=json.dumps({"note": note}))

    with copied(database) as copy:
        (row,) = every(copy, questions()["waits-for-people"].sql)

    assert (row["execution_id"], row["step"], row["says"]) == (one, "a", "Go on?")
    assert json.loads(row["who"]) == ["ann"]


def test_only_what_is_new_enough_is_copied(database: str) -> None:
    now = datetime.now(UTC)
    with session(database) as connection:
        one = execution(connection)
        event(connection, one, ts=now - timedelta(hours=3))
        new = event(connection, one)

    with copied(database, since=now - timedelta(hours=1)) as copy:
        rows = every(copy, "select id, playbook from events")

    assert rows == [{"id": new, "playbook": "tests/one"}]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("select * from read_text('/etc/hostname')", "disabled by configuration"),
        ("select * from glob('/etc/*')", "disabled by configuration"),
        ("select * from '/etc/hostname'", "does not exist"),
        ("select * from copy", "does not exist"),
        ("copy events to '/tmp/stolen.csv'", "only a select"),
        ("attach '/tmp/other.db'", "only a select"),
        ("install postgres", "only a select"),
        ("update extensions", "only a select"),
        ("set memory_limit = '1TB'", "only a select"),
        ("drop table events", "only a select"),
        (
            "with x as (insert into events select * from events returning *) from x",
            "changes something",
        ),
        ("with x as (update events set data = null returning 1) select 1", "changes something"),
        ("with x as (delete from events returning 1) from x", "changes something"),
        ("with x as (copy (select 1) to '/tmp/stolen.csv') from x", "disabled by configuration"),
        ("from json_execute_serialized_sql(json_serialize_sql('select 1'))", "changes something"),
        ("from query('from json_exec' || 'ute_serialized_sql(''{}'')')", "changes something"),
        ("select 1; select 2", "one select"),
        ("", "one select"),
        ("select nothing_like_it from events", "not found"),
        ("selec 1", "syntax error"),
    ],
)
def test_a_question_can_only_read_the_log(copy: Copy, question: str, why: str) -> None:
    with pytest.raises(NotAnswered, match=why):
        copy.ask(question)

    assert copy.ask("select count(*) from events").rows == [(5,)]


def test_an_answer_is_cut_visibly(copy: Copy) -> None:
    few, many = copy.ask("from range(3)"), copy.ask("from range(4)")

    assert (len(few.rows), few.is_cut) == (3, False)
    assert (len(many.rows), many.is_cut) == (3, True)


def test_a_question_that_takes_too_long_is_given_up(database: str) -> None:
    with (
        copied(database, bounds=Bounds(seconds=0.2)) as copy,
        pytest.raises(NotAnswered, match=r"longer than 0\.2 s"),
    ):
        copy.ask("select sum(a.range % 7 + b.range % 11) from range(10000) a, range(100000000) b")


def test_a_question_that_takes_too_much_memory_is_given_up(database: str) -> None:
    with (
        copied(database, bounds=Bounds(memory="60MB", disk="1MB", seconds=60)) as copy,
        pytest.raises(NotAnswered, match=r"(?i)memory|temp_directory"),
    ):
        copy.ask("select array_agg(a) from range(100000000) t(a)")


def test_answers_of_any_type_become_json(copy: Copy) -> None:
    (row,) = every(
        copy,
        "select timestamptz '2026-01-02 03:04:05+00' as n, 1 as n, timestamp '2026-01-02' as t,"
        " date '2026-01-02' as d, 1.5::decimal(9, 2) as c, {'x': [1, null]} as s,"
        " interval 2 hours as i, 'a'::blob as b, true as y, 1::hugeint * 2^70 as h order by 2",
    )

    assert row == {
        "n": "2026-01-02 03:04:05+00",
        "n_2": 1,
        "t": "2026-01-02T00:00:00.000000+00:00",
        "d": "2026-01-02",
        "c": 1.5,
        "s": {"x": [1, None]},
        "i": 7200.0,
        "b": "61",
        "y": True,
        "h": 2.0**70,
    }
    assert plain(2**70) == 2.0**70


def test_two_questions_do_not_end_each_other(copy: Copy) -> None:
    first = copy.connection.cursor()
    first.execute("from range(5)")

    copy.ask("select 1")

    assert len(first.fetchall()) == 5
    first.close()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("select data from events", True),
        ("select * from events", True),
        ("select e.* from events e", True),
        ("select count(*) from events", False),
        ("select step, metadata from steps", False),
    ],
)
def test_results_are_brought_when_they_are_asked_for(question: str, expected: bool) -> None:
    assert names_results(question) is expected


def test_every_named_question_says_what_it_asks() -> None:
    for question in questions().values():
        assert question.says.endswith("?")
        assert question.sql.startswith(("select", "with"))
    assert len(questions()) >= 12


def test_arrow_is_used_where_it_is_installed() -> None:
    pytest.importorskip("adbc_driver_postgresql")
    pytest.importorskip("pyarrow")

    assert quickest() == "arrow"
