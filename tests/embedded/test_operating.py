"""Looking at a server, stopping it, and doing away with it."""

import os
import signal

import pytest

from noetl_mcp.database import connect
from noetl_mcp.embedded.failure import InUse
from noetl_mcp.embedded.operate import reset, status, stay, stop
from tests.embedded.users import Home, User, until


def tables(dsn: str) -> int:
    with connect(dsn, application_name="asks") as connection:
        row = connection.execute("select count(*) from pg_tables where tablename = 'kept'")
        return int((row.fetchone() or (0,))[0])


def store(dsn: str) -> None:
    with connect(dsn, application_name="stores") as connection:
        connection.execute("create table kept (a int)")


def test_a_home_that_was_never_used_has_no_server(bare: Home) -> None:
    found = status(bare.path, system=bare.system)

    assert (found.state, found.dsn, found.pid) == ("absent", None, None)
    assert not stop(bare.path, system=bare.system)
    assert not reset(bare.path, system=bare.system)
    assert not bare.path.exists()


def test_it_is_told_who_runs_it_who_uses_it_and_where(home: Home) -> None:
    with home.start() as use, connect(use.dsn, application_name="asks"):
        found = status(home.path, system=home.system)

        assert (found.state, found.dsn) == ("running", use.dsn)
        assert (found.pid, found.connections) == (home.postmaster(), 1)
        assert found.database_bytes > 0
        assert (found.is_used, found.is_kept, found.stays) == (True, True, False)

    until(lambda: home.keeper() is None)
    found = status(home.path, system=home.system)
    assert (found.state, found.dsn, found.is_used, found.is_kept) == ("stopped", None, False, False)


def test_a_server_that_lives_and_does_not_answer_is_silent(home: Home) -> None:
    with home.start():
        os.kill(home.postmaster() or 0, signal.SIGSTOP)

        assert status(home.path, system=home.system).state == "silent"
        assert stop(home.path, system=home.system)


def test_stopping_is_for_everybody_and_keeps_what_was_stored(home: Home) -> None:
    with User(home) as user, home.start() as use:
        assert user.line() == use.dsn
        store(use.dsn)

        assert stop(home.path, system=home.system)

        assert home.postmaster() is None
        with home.start() as again:
            assert tables(again.dsn) == 1


def test_a_database_in_use_is_not_deleted(home: Home) -> None:
    with home.start(linger=30) as use:
        with pytest.raises(InUse, match="somebody uses the database"):
            reset(home.path, system=home.system)
        store(use.dsn)

    with home.start(linger=30) as use:
        client = connect(use.dsn, application_name="somebody's psql")
    with client, pytest.raises(InUse, match="somebody is connected"):
        reset(home.path, system=home.system)

    with home.start() as use:
        assert tables(use.dsn) == 1


def test_a_reset_that_is_forced_deletes_it_from_under_its_users(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        stay(use.places)

        assert reset(home.path, force=True, system=home.system)

        assert not home.places.data.exists()
        assert not status(home.path, system=home.system).stays
        with home.start() as again:
            assert tables(again.dsn) == 0


def test_a_server_that_was_stopped_leaves_nothing_in_the_temp_folder(home: Home) -> None:
    with home.start():
        sockets = home.places.noted_socket_folder()
    until(lambda: home.keeper() is None)
    assert sockets is not None
    assert not sockets.exists()

    with home.start():
        stop(home.path, system=home.system)
        assert not sockets.exists()
