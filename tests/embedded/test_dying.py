"""Whatever dies, what was stored is there, and nobody else comes to harm."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noetl_mcp.database import Error, connect, is_lost
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.launcher import programs_of
from noetl_mcp.embedded.operate import stop
from tests.embedded.users import Home, User, lives, until


def gone(home: Home) -> bool:
    return home.postmaster() is None and home.keeper() is None


def killed(pid: int | None, number: int = signal.SIGKILL) -> None:
    assert pid is not None
    os.kill(pid, number)


def store(dsn: str) -> None:
    with connect(dsn, application_name="stores") as connection:
        connection.execute("create table kept as select generate_series(1, 1000) as a")


def count(dsn: str) -> int:
    with connect(dsn, application_name="asks") as connection:
        row = connection.execute("select count(*) from kept").fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def bystander(home: Home) -> Iterator[int]:
    """Yield an innocent process of the same user as the server."""
    account = home.places.account
    process = subprocess.Popen(["sleep", "600"], user=account.uid if account else None, cwd="/")
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_server_that_is_killed_is_started_again_for_those_who_use_it(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        first = home.postmaster()
        with connect(use.dsn, application_name="works") as connection:
            killed(first)
            with pytest.raises(Error) as ended:
                connection.execute("select pg_sleep(30)")
        until(lambda: home.postmaster() not in (None, first))

        with home.start() as again:
            assert again.dsn == use.dsn
            assert count(again.dsn) == 1000
        assert is_lost(ended.value)


def test_a_server_that_is_killed_when_nobody_uses_it_is_not_started_again(home: Home) -> None:
    home.start(linger=60).close()

    killed(home.postmaster())

    until(lambda: gone(home))
    with home.start():
        assert home.postmaster() is not None


def test_a_lost_keeper_is_replaced_by_the_next_who_starts(home: Home) -> None:
    with home.start():
        server = home.postmaster()
        killed(home.keeper())
        until(lambda: home.keeper() is None)

        with home.start():
            assert home.postmaster() == server
            assert home.keeper() is not None

    until(lambda: gone(home))


def test_a_server_that_was_taken_over_is_started_again_too(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        killed(home.keeper())
        until(lambda: home.keeper() is None)
        with home.start():
            first = home.postmaster()

            killed(first)

            until(lambda: home.postmaster() not in (None, first))
            with home.start() as again:
                assert count(again.dsn) == 1000
    until(lambda: gone(home))


def test_with_keeper_and_server_killed_the_next_start_has_everything(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        killed(home.keeper())
        killed(home.postmaster())

        with home.start() as again:
            assert count(again.dsn) == 1000

    until(lambda: gone(home))


def test_a_starter_that_is_killed_in_the_middle_leaves_nothing_in_the_way(bare: Home) -> None:
    with User(bare) as user:
        until(lambda: list(bare.places.folder.glob("data.new-*/base")))
        user.kill()

    with bare.start() as use, connect(use.dsn, application_name="asks") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert list(bare.places.folder.glob("data.new-*")) == []


@pytest.mark.parametrize("form", ["{pid}\n{data}\n0\n5432\n", "{pid}", "{pid}\n", "", "12x", "-1"])
def test_a_pid_file_is_never_believed(home: Home, form: str) -> None:
    """Its number may be that of somebody else by now, and half of it may be missing."""
    note = home.places.data / "postmaster.pid"
    with bystander(home) as innocent:
        note.write_text(form.format(pid=innocent, data=home.places.data))
        if home.places.account:
            os.chown(note, home.places.account.uid, home.places.account.gid)

        with home.start() as use, connect(use.dsn, application_name="asks") as connection:
            assert connection.execute("select 1").fetchone() == (1,)
            stop(home.path, system=home.system)

        assert lives(innocent)


def test_a_postgres_that_somebody_else_runs_on_the_data_is_left_alone(home: Home) -> None:
    places, account = home.places, home.places.account
    programs = programs_of(home.settings, places, system=home.system)
    stranger = subprocess.Popen(
        [programs.program("postgres"), "-D", str(places.data), "-k", ".", "-h", ""],
        cwd=places.data,
        user=account.uid if account else None,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: (places.data / ".s.PGSQL.5432").exists())

        with pytest.raises(NotStarted, match=f"process {stranger.pid} is a Postgres of somebody"):
            home.start()

        assert not stop(home.path, system=home.system)
        assert stranger.poll() is None
    finally:
        stranger.send_signal(signal.SIGINT)
        stranger.wait()


def test_a_server_whose_socket_somebody_removed_is_replaced(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        first = home.postmaster()
        sockets = home.places.noted_socket_folder()
        assert sockets is not None
        for path in sockets.iterdir():
            path.unlink()

        with home.start() as again:
            assert count(again.dsn) == 1000
            assert home.postmaster() != first
            assert first is not None
            assert not lives(first)


def test_a_server_that_is_halted_can_be_stopped(home: Home) -> None:
    with home.start() as use:
        store(use.dsn)
        killed(home.postmaster(), signal.SIGSTOP)

        assert stop(home.path, system=home.system)

    with home.start() as again:
        assert count(again.dsn) == 1000


def test_a_server_that_cannot_start_says_why(home: Home) -> None:
    (home.places.folder / "own.conf").write_text("shared_buffers = 'a lot'\n")

    with pytest.raises(NotStarted, match=r"did not start: .*shared_buffers"):
        home.start(patience=600)  # told at once, however long one would wait
    until(lambda: home.keeper() is None)


def test_a_folder_that_holds_something_else_is_not_touched(bare: Home) -> None:
    data = bare.places.data
    data.mkdir(parents=True)
    thesis = data / "thesis.txt"
    thesis.write_text("mine")

    with pytest.raises(NotStarted, match="holds something that is no cluster"):
        bare.start()

    assert thesis.read_text() == "mine"


def test_a_log_is_cut_and_its_last_part_kept(tmp_path: Path) -> None:
    from noetl_mcp.embedded.keeper import MOST_LOG_BYTES, bound_log

    log = tmp_path / "server.log"
    log.write_bytes(b"x" * (MOST_LOG_BYTES + 1))
    with log.open("ab") as server:
        bound_log(log)
        server.write(b"goes on\n")
    bound_log(log)

    assert log.read_bytes() == b"goes on\n"
    assert (tmp_path / "server.log.1").stat().st_size == MOST_LOG_BYTES + 1
