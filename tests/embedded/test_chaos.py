"""Everything is killed at random, for a while: nothing that was answered may be missing."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from noetl_mcp.database import connect
from noetl_mcp.embedded.operate import stop
from tests.embedded.users import Home, User, until

SECONDS = 20
USERS = 5
WORKS = """
import os, sys, time
from pathlib import Path
from noetl_mcp.database import Error, NotReachable, connect
from noetl_mcp.embedded.launcher import start
from noetl_mcp.settings import Settings

settings = Settings.load({"NOETL_HOME": sys.argv[1]})
answered, end = 0, time.monotonic() + SECONDS
while time.monotonic() < end:
    with start(settings, linger=0, system=Path(sys.argv[2])) as use:
        try:
            with connect(use.dsn, application_name="works") as connection:
                for _ in range(20):
                    row = f"{os.getpid()}-{answered}"
                    connection.execute("insert into kept values (%s)", [row])
                    answered += 1
                    print(row, flush=True)
                    time.sleep(0.01)
        except (NotReachable, Error):
            answered += 1  # nobody knows what came of the last one
"""


def kill_something(home: Home, users: list[User]) -> None:
    """Kill a user, the keeper, the server, both of these, or stop it all in good order."""
    what = random.choice(("user", "keeper", "server", "both", "stop"))
    if what == "stop":
        stop(home.path, system=home.system)
    if what == "user":
        users.pop(random.randrange(len(users))).kill()
    with suppress(ProcessLookupError):
        if what in ("keeper", "both") and (keeper := home.keeper()):
            os.kill(keeper, signal.SIGKILL)
        if what in ("server", "both") and (server := home.postmaster()):
            os.kill(server, signal.SIGKILL)


def lines(user: User) -> Iterator[str]:
    while line := user.line():
        yield line


@pytest.mark.slow
def test_nothing_that_was_answered_is_missing_whatever_is_killed(home: Home) -> None:
    with home.start() as use, connect(use.dsn, application_name="makes") as connection:
        connection.execute("create table kept (row text primary key)")
    end = time.monotonic() + SECONDS
    with ExitStack() as stack:
        every: list[User] = []
        alive: list[User] = []
        while (left := end - time.monotonic()) > 1:
            while len(alive) < USERS:
                code = WORKS.replace("SECONDS", str(left))
                alive.append(stack.enter_context(User(home, code=code)))
                every.append(alive[-1])
            time.sleep(random.uniform(0.1, 1.0))
            kill_something(home, alive)

        answered = {line for user in every for line in lines(user)}

        with home.start() as use, connect(use.dsn, application_name="asks") as connection:
            stored = {row for (row,) in connection.execute("select row from kept")}
    assert len(answered) > 100
    assert answered <= stored
    until(lambda: home.keeper() is None)
    assert home.postmaster() is None
