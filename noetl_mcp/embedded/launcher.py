"""Start the embedded Postgres, and share it: the last user's leaving stops it.

"Alive" means that a connection succeeds, never that a process has some number. One process starts
the server, under a lock; the others wait. Whoever uses it holds a lock that the kernel takes back
when he dies, however he dies.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import noetl_mcp
from noetl_mcp.embedded.binaries import Binaries, environment, find_binaries, reachable
from noetl_mcp.embedded.cluster import make_cluster, server_command
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.greeting import NOT_YET, SOCKET_NAME, USER, Greeting, NoAnswer, greet
from noetl_mcp.embedded.keeper import Orders
from noetl_mcp.embedded.locks import hold, is_held, opened, taken
from noetl_mcp.embedded.places import Places, make_places
from noetl_mcp.embedded.processes import adopt_by_note
from noetl_mcp.settings import SYSTEM_STATE, Settings

DATABASE = "noetl"
LINGER_SECONDS = 10.0
START_SECONDS = 60.0
RECOVERY_SECONDS = 3600.0
LOOK_EVERY = 0.01
HOPE_SECONDS = 2.0

_KEEPER = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from noetl_mcp.embedded.keeper import main; main(sys.argv[2])"
)


class Server:
    """This process's use of the server; it ends with `close`, or with the process.

    A program that is started holds no use of it; a process that is forked holds its parent's, too.
    """

    def __init__(self, dsn: str, places: Places, use: int) -> None:
        self.dsn = dsn
        self.places = places
        self._use: int | None = use

    def close(self) -> None:
        """Drop the use. When it was the last one, the server stops after a while."""
        use, self._use = self._use, None
        if use is not None:
            os.close(use)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Start:
    """One attempt to have a server: for which home, and how long it may take."""

    settings: Settings
    places: Places
    system: Path
    linger: float
    deadline: float

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.deadline


def start(
    settings: Settings,
    *,
    linger: float = LINGER_SECONDS,
    patience: float = START_SECONDS,
    system: Path = SYSTEM_STATE,
) -> Server:
    """Return a use of the home's server, which is started when it does not run.

    `linger` is how long the server stays after its last user, if this call starts it; `patience`
    how long anything may take but the recovery after a crash. Call it before there are threads.
    """
    places = make_places(settings.home, system=system)
    attempt = _Start(settings, places, system, linger, time.monotonic() + patience)
    try:
        use = hold(places.users_lock, deadline=attempt.deadline, shared=True)
        if use is None:
            raise NotStarted(f"the server is being stopped for too long; its log is {places.log}")
        try:
            sockets = places.noted_socket_folder()
            if sockets is None or not _is_well(places, sockets):
                sockets = _start_alone(attempt)
        except BaseException:
            os.close(use)
            raise
    except OSError as error:
        raise NotStarted(f"the server cannot be started: {error}") from error
    return Server(dsn_of(sockets), places, use)


def dsn_of(sockets: Path) -> str:
    """Return the connection string of the database behind a socket."""
    return f"postgresql://{USER}@/{DATABASE}?host={urllib.parse.quote(str(sockets), safe='')}"


def is_alive(sockets: Path | None, database: str = "postgres") -> bool:
    """Whether the server behind a socket takes connections."""
    greeting = _greeting(sockets, database)
    return greeting is not None and greeting.alive


def programs_of(settings: Settings, places: Places, *, system: Path = SYSTEM_STATE) -> Binaries:
    """Return the programs that fit the data, where the server's account can run them."""
    found = find_binaries(settings, places.major())
    return reachable(found, places.account, system=system)


def _greeting(sockets: Path | None, database: str = "postgres") -> Greeting | None:
    if sockets is None:
        return None
    try:
        return greet(sockets, database=database)
    except NoAnswer:
        return None


def _is_well(places: Places, sockets: Path) -> bool:
    return is_alive(sockets, DATABASE) and is_held(places.keeper_lock)


def _start_alone(attempt: _Start) -> Path:
    places = attempt.places
    lock = hold(places.start_lock, deadline=attempt.deadline)
    if lock is None:
        raise NotStarted(f"another process has been starting the server; its log is {places.log}")
    try:
        sockets = places.socket_folder()
        if not _is_well(places, sockets):
            while not _is_kept(attempt, sockets, lock):
                pass  # somebody killed the keeper before it was done
            _have_database(sockets)
        return sockets
    finally:
        os.close(lock)


def _is_kept(attempt: _Start, sockets: Path, start_lock: int) -> bool:
    """See to it that a server lives and that a keeper stands behind it; say whether it worked."""
    places, account = attempt.places, attempt.places.account
    lock = _keeper_lock(attempt, sockets)
    if lock is None:
        return True
    try:
        programs = programs_of(attempt.settings, places, system=attempt.system)
        if places.major() is None:
            make_cluster(places, programs, start_lock)
        _spawn(
            Orders(
                folder=str(places.folder),
                socket_folder=str(sockets),
                command=server_command(places, programs, sockets),
                environment=environment(),
                account=[account.uid, account.gid] if account else [],
                linger=attempt.linger,
                lock=lock,
            )
        )
    finally:
        os.close(lock)
    return _comes_to_life(attempt, sockets)


def _keeper_lock(attempt: _Start, sockets: Path) -> int | None:
    """Return the lock of a keeper when there is none; wait for life when there is one."""
    places = attempt.places
    hopeless_from = time.monotonic() + HOPE_SECONDS
    while True:
        lock = opened(places.keeper_lock)
        if taken(lock):
            return lock
        os.close(lock)
        if is_alive(sockets) and is_held(places.keeper_lock):
            return None
        if time.monotonic() > hopeless_from and not (sockets / SOCKET_NAME).exists():
            _stop_unreachable(places)
        if attempt.is_late:
            raise NotStarted(f"the server does not answer; its log is {places.log}")
        time.sleep(LOOK_EVERY)


def _stop_unreachable(places: Places) -> None:
    """Tell a server to end whose socket somebody removed: nobody else will ever reach it."""
    server = adopt_by_note(places.data)
    if server is not None:
        server.tell(signal.SIGINT)
        server.close()


def _spawn(orders: Orders) -> None:
    root = str(Path(noetl_mcp.__file__).parent.parent)
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _KEEPER, root, json.dumps(orders._asdict())],
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[orders.lock],
            start_new_session=True,
            timeout=START_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotStarted(f"the keeper of the server cannot be started: {error}") from None


def _comes_to_life(attempt: _Start, sockets: Path) -> bool:
    """Wait for the server; a keeper that is gone without a word was killed, and that is no."""
    places, recovered_by = attempt.places, attempt.deadline + RECOVERY_SECONDS
    while True:
        greeting = _greeting(sockets)
        if greeting is not None and greeting.alive:
            return True
        if not is_held(places.keeper_lock):
            if _said(places.keeper_log) or attempt.is_late:
                raise NotStarted(f"the server did not start: {_last_words(places)}")
            return False
        recovers = greeting is not None and greeting.code == NOT_YET
        if time.monotonic() > (recovered_by if recovers else attempt.deadline):
            if _said(places.keeper_log):
                raise NotStarted(f"the server did not start: {_last_words(places)}")
            raise NotStarted(f"the server does not answer; its log is {places.log}")
        time.sleep(LOOK_EVERY)


def _have_database(sockets: Path) -> None:
    there = f"select 1 from pg_database where datname = '{DATABASE}'"
    try:
        if not greet(sockets, there).rows:
            made = greet(sockets, f"create database {DATABASE}", timeout=60)
            if made.code:
                raise NotStarted(f"the database '{DATABASE}' cannot be made: {made.code}")
    except NoAnswer as error:
        raise NotStarted(f"the server went away while it was set up: {error}") from None


def _said(log: Path) -> list[str]:
    """Return the last lines of a log."""
    try:
        text = log.read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines()[-4:] if line.strip()]


def _last_words(places: Places) -> str:
    words = [*_said(places.keeper_log), *_said(places.log)]
    return f"{' / '.join(words) or 'it said nothing'} (log: {places.log})"
