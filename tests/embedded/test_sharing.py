"""One server for all who use it, for as long as anybody does."""

import os
import signal
import subprocess
from itertools import cycle
from pathlib import Path

import pytest

from noetl_mcp.database import connect
from noetl_mcp.embedded.launcher import is_alive
from noetl_mcp.embedded.operate import stay, stop
from tests.embedded.users import USE, WAIT, Home, User, lives, several, until

FORKS = USE + "import os; child = os.fork();\nif child == 0: sys.stdin.read()\nelse: print(child)"
SPAWNS = USE + (
    "import subprocess; child = subprocess.Popen(['sleep', '60'], start_new_session=True,"
    " stdout=subprocess.DEVNULL, close_fds=False); print(child.pid); import os; os._exit(0)"
)


def gone(home: Home) -> bool:
    return home.postmaster() is None and home.keeper() is None


def test_a_second_user_gets_the_same_server(home: Home) -> None:
    with home.start() as one, home.start() as two, User(home) as other:
        assert one.dsn == two.dsn == other.line()
        with connect(one.dsn, application_name="asks") as connection:
            assert connection.execute("select current_database()").fetchone() == ("noetl",)


def test_it_stops_after_the_last_user(home: Home) -> None:
    one, two = home.start(), home.start()
    server = home.postmaster()
    assert server is not None

    one.close()
    one.close()
    assert home.postmaster() == server

    two.close()
    until(lambda: gone(home))
    assert not lives(server)


def test_eight_that_start_at_once_share_one_server(bare: Home) -> None:
    """Not even the data is there yet."""
    with several(bare, 8) as users:
        dsns = {user.line() for user in users}

        assert len(dsns) == 1
        assert dsns != {""}
        assert len(list(bare.places.folder.glob("data*"))) == 1
    until(lambda: gone(bare))


@pytest.mark.parametrize(
    "ways",
    [(None,), (signal.SIGKILL,), (signal.SIGKILL, signal.SIGTERM, None)],
    ids=["exit", "kill -9", "mixed"],
)
def test_however_its_users_leave_it_stays_for_the_rest_and_then_goes(
    home: Home, ways: tuple[signal.Signals | None, ...]
) -> None:
    with several(home, 4) as users:
        for user in users:
            user.line()
        server = home.postmaster()

        for user, way in zip(users[:-1], cycle(ways), strict=False):
            _end(user, way)
        assert home.postmaster() == server
        _end(users[-1], ways[0])

        until(lambda: gone(home))


def _end(user: User, way: signal.Signals | None) -> None:
    if way is None:
        user.leave()
        return
    user.kill(way)


def test_it_can_be_opened_and_left_many_times_in_a_row(home: Home) -> None:
    for _ in range(4):
        with home.start() as use, connect(use.dsn, application_name="asks") as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_forked_child_is_a_user_for_as_long_as_it_lives(home: Home) -> None:
    with User(home, code=FORKS) as parent:
        parent.line()
        child = int(parent.line())
        until(lambda: not lives(parent.pid))
        assert home.postmaster() is not None

        os.kill(child, signal.SIGKILL)

        until(lambda: gone(home))


def test_a_program_that_a_user_starts_is_no_user(home: Home) -> None:
    with User(home, code=SPAWNS) as parent:
        parent.line()
        child = int(parent.line())
        try:
            parent.leave()

            until(lambda: gone(home))
            assert lives(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_newcomer_within_the_linger_finds_it_running(home: Home) -> None:
    home.start(linger=30).close()
    server = home.postmaster()

    with home.start() as use:
        assert home.postmaster() == server
        assert is_alive(use.places.noted_socket_folder())


def test_it_waits_for_whoever_is_connected(home: Home) -> None:
    use = home.start(linger=0.05)
    with connect(use.dsn, application_name="somebody's psql") as connection:
        use.close()
        keeper = home.keeper()
        assert keeper is not None

        for _ in range(20):
            connection.execute("select pg_sleep(0.02)")

        assert lives(keeper)
    until(lambda: gone(home))


def test_it_can_be_told_to_stay_until_it_is_stopped(home: Home) -> None:
    with home.start() as use:
        stay(use.places)
    server = home.postmaster()
    with User(home) as user:
        user.line()

    assert home.postmaster() == server
    assert stop(home.path, system=home.system)
    assert gone(home)


def test_ctrl_c_in_the_terminal_of_a_user_does_not_reach_it(home: Home) -> None:
    process = subprocess.Popen(
        home.command(WAIT, 30),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()

    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)

    with home.start() as use, connect(use.dsn, application_name="asks") as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_the_caller_is_not_kept_waiting_by_a_stream_that_the_keeper_holds(home: Home) -> None:
    said = subprocess.run(
        home.command(USE, 30), capture_output=True, text=True, timeout=20, check=True
    )

    assert said.stdout.startswith("postgresql://")
    assert home.postmaster() is not None


def test_the_keeper_and_the_server_have_nothing_of_their_starter(home: Home) -> None:
    with home.start():
        keeper, server = home.keeper(), home.postmaster()
        for pid in (keeper, server):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"HOME=" not in environment
            assert os.getsid(pid or 0) != os.getsid(0)
        open_files = {os.readlink(f"/proc/{keeper}/fd/{n}") for n in range(3)}

    assert open_files == {"/dev/null", str(home.places.keeper_log)}
