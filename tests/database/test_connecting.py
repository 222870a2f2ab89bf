import socket
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from noetl_mcp.database import (
    Error,
    NotReachable,
    connect,
    is_lost,
    may_be_sent_again,
    refuses_its_values,
    scalar_row,
)


def setting(dsn: str, name: str) -> str:
    with connect(dsn, application_name="asks", lock_timeout=timedelta(seconds=7)) as connection:
        row = connection.execute("select current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def failure(dsn: str, *statements: str) -> Error:
    """Return how the last of some statements failed."""
    with connect(dsn, application_name="fails") as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        with pytest.raises(Error) as failed:
            connection.execute(statements[-1])
    return failed.value


def test_a_connection_says_who_it_is_and_waits_only_so_long(postgres: str) -> None:
    assert setting(postgres, "application_name") == "asks"
    assert setting(postgres, "statement_timeout") == "1min"
    assert setting(postgres, "lock_timeout") == "7s"
    assert setting(postgres, "idle_in_transaction_session_timeout") == "1min"
    assert setting(postgres, "timezone") == "UTC"


def test_a_connection_without_bounds_has_none(postgres: str) -> None:
    with connect(
        postgres,
        application_name="patient",
        statement_timeout=None,
        lock_timeout=None,
        idle_in_transaction=None,
    ) as connection:
        ask = connection.cursor(row_factory=scalar_row)
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")

        found = [ask.execute(f"show {name}").fetchone() for name in names]

    assert found == ["0", "0", "0"]


def test_a_connection_commits_each_statement_unless_told_otherwise(postgres: str) -> None:
    with connect(postgres, application_name="one") as each:
        assert each.autocommit
    with connect(postgres, application_name="two", autocommit=False) as together:
        assert not together.autocommit


def test_a_server_that_is_not_there_is_not_reachable(tmp_path: Path) -> None:
    with pytest.raises(NotReachable, match=r"'noetl' on .* cannot be reached: .*No such file"):
        connect(f"postgresql://me@/noetl?host={tmp_path}", application_name="tries")


def test_a_port_where_nobody_listens_is_not_reachable_and_the_password_stays_hidden() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        with pytest.raises(NotReachable, match=r"127\.0\.0\.1") as refused:
            connect(f"postgresql://me:s3cret@127.0.0.1:{port}/x", application_name="tries")

    assert "s3cret" not in str(refused.value)


def test_a_database_that_is_not_there_is_not_reachable(postgres: str) -> None:
    with pytest.raises(NotReachable, match='database "nowhere" does not exist'):
        connect(make_conninfo(postgres, dbname="nowhere"), application_name="tries")


def test_text_that_is_no_connection_string_is_refused_without_repeating_it() -> None:
    with pytest.raises(NotReachable, match="not a connection string") as refused:
        connect("s3cret is no dsn=", application_name="tries")

    assert "s3cret" not in str(refused.value)


def test_a_connection_that_was_ended_is_lost(postgres: str) -> None:
    ended = failure(postgres, "select pg_terminate_backend(pg_backend_pid())")

    assert is_lost(ended)
    assert not may_be_sent_again(ended)


def test_a_closed_connection_is_lost(postgres: str) -> None:
    connection = connect(postgres, application_name="closed")
    connection.close()

    with pytest.raises(Error) as failed:
        connection.execute("select 1")

    assert is_lost(failed.value)


def test_a_lock_that_was_not_to_be_had_may_be_asked_for_again(database: str) -> None:
    with connect(database, application_name="holds", autocommit=False) as holder:
        holder.execute("create table t (a int)")
        holder.commit()
        holder.execute("lock table t")

        late = failure(database, "set lock_timeout = '10ms'", "select * from t")

    assert may_be_sent_again(late)
    assert not is_lost(late)


@pytest.mark.parametrize(
    "statement",
    [
        "select 'a'::jsonb",  # 22: data
        "insert into t values (1), (1)",  # 23: a constraint
        "select repeat('[', 1000000)::jsonb",  # 54: a limit of the server
    ],
)
def test_a_value_that_cannot_be_stored_is_at_fault_itself(database: str, statement: str) -> None:
    refused = failure(database, "create table t (a int primary key)", statement)

    assert refuses_its_values(refused)
    assert not is_lost(refused)


def test_a_statement_that_took_too_long_is_none_of_these(postgres: str) -> None:
    late = failure(postgres, "set statement_timeout = '10ms'", "select pg_sleep(5)")

    assert not any((is_lost(late), may_be_sent_again(late), refuses_its_values(late)))
