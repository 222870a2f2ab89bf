"""What happened is listed, followed and asked about from the command line."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noetl_mcp.events.questions import questions
from tests.cli.commands import Ran, noetl
from tests.events.rows import ended, event, execution, session
from tests.postgres import database, postgres  # noqa: F401 - fixtures

PLAN = '{"steps": [{"name": "start"}, {"name": "a"}, {"name": "end"}]}'


class Here:
    """A database and a home of its own, with one execution in it."""

    def __init__(self, dsn: str, home: Path) -> None:
        self.dsn = dsn
        self.environment = {"NOETL_DSN": dsn, "NOETL_HOME": str(home)}
        with session(dsn) as connection:
            self.one = str(execution(connection))
            connection.execute("update noetl.plan set content = %s", (PLAN,))
            event(connection, int(self.one), "execution_started")
            connection.execute(
                "insert into noetl.event (kind, execution_id, idx, item, attempt, worker, ready_at,"
                " leased_at) values (10, %s, 1, 0, 2, 7, now(), now())",
                (self.one,),
            )
            event(connection, int(self.one), idx=1, item=4, data='{"text": "hello\\n"}')

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        return noetl(*arguments, stdin=stdin.encode(), **self.environment)


@pytest.fixture
def here(database: str, tmp_path: Path) -> Here:  # noqa: F811 - a fixture
    return Here(database, tmp_path / "home")


def test_events_are_listed_for_people(here: Here) -> None:
    ran = here("events", here.one)

    assert ran.code == 0, ran.err
    lines = [line[25:] for line in ran.out.splitlines()]
    assert lines == [
        "execution_started     -",
        "step_started          a #2",
        "log                   a[3]          hello",
    ]


def test_events_are_an_array_for_programs(here: Here) -> None:
    told = here("events", here.one, "--json").json()

    assert [one["kind"] for one in told] == ["execution_started", "step_started", "log"]
    begun = told[1]
    assert (begun["step"], begun["item"], begun["worker"], begun["attempt"]) == ("a", None, 7, 2)
    assert begun["data"]["ready_at"] <= begun["data"]["leased_at"] <= begun["ts"]
    assert begun["execution_id"] == here.one


def test_events_are_chosen(here: Here) -> None:
    assert [one["item"] for one in here("events", here.one, "--step", "a[3]", "--json").json()] == [
        "3"
    ]
    assert len(here("events", here.one, "--kind", "step_started", "--json").json()) == 1
    assert here("events", here.one, "--step", "start", "--json").json() == []
    assert here("events", here.one, "--step", "start").err == "there are none\n"


def test_an_execution_is_followed_until_it_has_ended(here: Here) -> None:
    with session(here.dsn) as connection:
        threading.Timer(0.5, lambda: ended(connection, int(here.one))).start()

        ran = here("events", here.one, "--follow")

    assert ran.code == 0, ran.err
    assert [line.split()[2] for line in ran.out.splitlines()] == [
        "execution_started",
        "step_started",
        "log",
        "execution_completed",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["events", "999"], 1, "there is no execution 999"),
        (["events", "x"], 2, "not the number of an execution"),
        (["events", "1", "--step", "strat"], 1, "no step 'strat'; did you mean 'start'?"),
        (["events", "1", "--kind", "step_startd"], 2, "Did you mean 'step_started'?"),
        (["ask", "slowest-step"], 2, "Did you mean 'slowest-steps'?"),
        (["ask", "delete from events"], 1, "only a select can be asked"),
        (["ask", "kinds", "--since", "yesterday"], 2, "is no time"),
    ],
)
def test_what_is_wrong_is_said(here: Here, arguments: list[str], code: int, says: str) -> None:
    ran = here(*arguments)

    assert (ran.code, says in ran.err) == (code, True), ran.err


def test_without_a_question_the_names_are_listed(here: Here) -> None:
    listed, told = here("ask"), here("ask", "--json")

    assert [line.split()[0] for line in listed.out.splitlines()] == list(questions())
    assert {"name", "says", "sql"} == set(told.json()[0])


def test_questions_are_answered_by_name_and_in_sql(here: Here) -> None:
    named = here("ask", "kinds", "--json")
    written = here("ask", "select", "kind from events order by id limit 1", "--json")
    read = here("ask", "-", "--json", stdin="select count(*) as n from events")

    assert [row["kind"] for row in named.json()] == ["execution_started", "log", "step_started"]
    assert written.json() == [{"kind": "execution_started"}]
    assert read.json() == [{"n": 3}]


def test_what_lies_between_two_rounds_is_no_time_of_a_step(here: Here) -> None:
    with session(here.dsn) as connection:
        number = execution(connection)
        for begin in (1000, 400):
            for kind, ago in (("step_started", begin), ("step_failed", begin - 1)):
                connection.execute(
                    "insert into noetl.event"
                    " (kind, execution_id, idx, item, attempt, ts, leased_at)"
                    " select k.kind, %s, 2, 0, 1, date_trunc('day', now()) + make_interval(secs =>"
                    " 2000 - %s), date_trunc('day', now()) + make_interval(secs => 2000 - %s)"
                    " from noetl.event_kind k where k.name = %s",
                    (number, ago, begin, kind),
                )

    rows = here("ask", "slowest-steps", "--json").json()

    assert [row["longest"] for row in rows if row["step"] == "end"] == [1.0]


def test_an_answer_is_a_table_for_people(here: Here) -> None:
    ran = here("ask", "select kind, id as number from events order by id", "--limit", "2")

    head, rule, *rows = ran.out.splitlines()
    assert head.split() == ["kind", "number"]
    assert set(rule) == {"─"}
    assert [row.split()[0] for row in rows] == ["execution_started", "step_started"]
    assert "only the first 2 rows from 3 events; --limit gives more" in ran.err


def test_one_row_is_counted_as_one(here: Here) -> None:
    ran = here("ask", "select count(*) as n from events")

    assert ran.err.startswith("1 row from 3 events")


def test_the_sql_of_a_question_can_be_taken_from_there(here: Here) -> None:
    ran = here("ask", "kinds", "--sql")

    assert ran.out.strip() == questions()["kinds"].sql


def test_listing_the_questions_starts_no_database(tmp_path: Path) -> None:
    ran = noetl("ask", NOETL_DSN="postgresql://nobody@127.0.0.1:1/none", NOETL_HOME=str(tmp_path))

    assert ran.code == 0
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, noetl_mcp.cli.ask; print('duckdb' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == "False\n"


def test_a_database_that_is_not_there_is_three(tmp_path: Path) -> None:
    away, home = "postgresql://nobody@127.0.0.1:1/none", str(tmp_path)

    assert noetl("ask", "kinds", NOETL_DSN=away, NOETL_HOME=home).code == 3
    assert noetl("events", "1", NOETL_DSN=away, NOETL_HOME=home).code == 3
