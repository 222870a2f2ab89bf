"""Stand behind a server until nobody uses it: be its parent, restart it, stop it.

Runs as a process of its own with nothing of its starter: no stream, no descriptor but its lock, no
environment. Imports only what comes with Python and its neighbours in this package that do the
same. Never trusts a number from a file: a process is one it started, or the one that the kernel
names as listening on the socket.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple, NoReturn

from noetl_mcp.embedded.greeting import SOCKET_NAME, NoAnswer, greet
from noetl_mcp.embedded.locks import hold, opened, release, taken, wait_until_free
from noetl_mcp.embedded.processes import NOTE, Child, Process, adopt, named_in_note

UNUSED = "unused"
ENDED = "ended"
LOOK_SECONDS = 60.0
STAY_SECONDS = 1.0
LEFTOVER_SECONDS = 120.0
SHORT_LIFE = 10.0
MOST_SHORT_LIVES = 3
STOP_SECONDS = 120.0
MOST_LOG_BYTES = 8 * 2**20
CONNECTED = (
    "select 1 from pg_stat_activity"
    " where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1"
)


class Orders(NamedTuple):
    """What a keeper is told: where, what to run, as whom, and how long to linger."""

    folder: str
    socket_folder: str
    command: list[str]
    environment: dict[str, str]
    account: list[int]
    linger: float
    lock: int

    @property
    def data(self) -> Path:
        """The data folder of the server."""
        return Path(self.folder) / "data"

    @property
    def sockets(self) -> Path:
        """The folder of its socket."""
        return Path(self.socket_folder)

    def file(self, name: str) -> Path:
        """Return the path of something beside the data."""
        return Path(self.folder) / name


class Keeper:
    """The life of one keeper."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._users = opened(orders.file("users.lock"))
        # Those who clean the temp folder leave alone what is locked.
        taken(os.open(orders.sockets, os.O_RDONLY | os.O_CLOEXEC), shared=True)
        self._short_lives = 0
        self._started = time.monotonic()
        self._server: Process = adopt(orders.sockets) or self._launched()
        self._watch_server()

    def keep(self) -> None:
        """Come back when the server is stopped, or cannot be kept running."""
        self._watch_users()
        while True:
            try:
                event = self._events.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                bound_log(self._orders.file("server.log"))
                continue
            if event == ENDED and not self._runs_again():
                return
            if event == UNUSED and self._is_over():
                return

    def _watch_users(self) -> None:
        def wait() -> None:
            wait_until_free(self._orders.file("users.lock"))
            self._events.put(UNUSED)

        threading.Thread(target=wait, daemon=True).start()

    def _watch_server(self) -> None:
        def wait(server: Process) -> None:
            server.wait_for_its_end()
            self._events.put(ENDED)

        threading.Thread(target=wait, args=(self._server,), daemon=True).start()

    def _is_over(self) -> bool:
        """Linger, then stop the server unless somebody came; watch again in that case."""
        pause = self._orders.linger
        while True:
            if self._ended_within(pause) and not self._runs_again():
                return True
            if not taken(self._users):
                self._watch_users()
                return False
            if not self._orders.file("stay").exists() and not self._somebody_is_connected():
                break
            release(self._users)
            bound_log(self._orders.file("server.log"))
            pause = STAY_SECONDS
        self._stop()  # newcomers wait for the lock meanwhile
        with contextlib.suppress(OSError):
            self._orders.sockets.rmdir()
        return True

    def _ended_within(self, seconds: float) -> bool:
        try:
            return self._events.get(timeout=seconds) == ENDED
        except queue.Empty:
            return False

    def _somebody_is_connected(self) -> bool:
        if not self._orders.linger:
            return False
        try:
            found = greet(self._orders.sockets, CONNECTED)
        except NoAnswer:
            return False
        return bool(found.rows or found.code)

    def _stop(self) -> None:
        for number, patience in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 30.0)):
            self._server.tell(number)
            if self._ended_within(patience):
                return

    def _runs_again(self) -> bool:
        """Start a server that fell over; one that was told to stop stays down."""
        if not (self._orders.data / NOTE).exists():
            if self._server.failed():
                say("the server ended before it could serve")
            return False
        if taken(self._users) and not self._orders.file("stay").exists():
            return False
        release(self._users)
        lived = time.monotonic() - self._started
        self._short_lives = self._short_lives + 1 if lived < SHORT_LIFE else 0
        if self._short_lives >= MOST_SHORT_LIVES:
            say("the server ended again and again")
            return False
        self._server = self._launched()
        self._watch_server()
        return True

    def _launched(self) -> Process:
        orders = self._orders
        lock = clear_leftovers(orders)
        bound_log(orders.file("server.log"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        log = os.open(orders.file("server.log"), flags, 0o600)
        uid, gid = orders.account or (None, None)
        self._started = time.monotonic()
        try:
            process = subprocess.Popen(
                orders.command,
                env=orders.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock],  # held by the server and all its children, and by nobody else
                user=uid,
                group=gid,
                extra_groups=None if uid is None else [],
                umask=0o077,
            )
        except OSError as error:
            give_up(f"Postgres could not be started: {error}")
        finally:
            os.close(log)
            os.close(lock)
        return Child(process)


def clear_leftovers(orders: Orders) -> int:
    """Wait for every process of an earlier server, remove its files, and return the lock."""
    lock = hold(orders.file("server.lock"), deadline=time.monotonic() + LEFTOVER_SECONDS)
    if lock is None:
        give_up("processes of an earlier server are still there")
    stranger = named_in_note(orders.data)
    if stranger is not None:
        give_up(f"process {stranger} is a Postgres of somebody else that has the data open")
    sockets = orders.sockets
    for path in (orders.data / NOTE, sockets / SOCKET_NAME, sockets / f"{SOCKET_NAME}.lock"):
        path.unlink(missing_ok=True)
    return lock


def bound_log(log: Path) -> None:
    """Keep a log from growing without end: its last part goes to a second file."""
    try:
        if log.stat().st_size <= MOST_LOG_BYTES:
            return
        with log.open("r+b") as file, log.with_suffix(".log.1").open("wb") as older:
            while part := file.read(2**20):
                older.write(part)
            file.truncate(0)  # the server appends, so it goes on at the new end
    except FileNotFoundError:
        return  # nothing was said yet
    except OSError as error:
        say(f"the log cannot be cut: {error}")


def say(text: str) -> None:
    """Write one line into the keeper's log."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
    sys.stderr.flush()


def give_up(text: str) -> NoReturn:
    """Say why there is no server, and end."""
    say(text)
    os._exit(1)


def _nothing(_number: int, _frame: object) -> None:
    """Ctrl-C in the terminal of a user is not meant for the server."""


def main(text: str) -> None:
    """Become a process that nobody waits for, and keep the server."""
    orders = Orders(**json.loads(text))
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing)  # not SIG_IGN: the server would inherit that
    os.chdir("/")
    os.umask(0o077)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    os.dup2(os.open(orders.file("keeper.log"), flags, 0o600), 2)
    os.set_inheritable(orders.lock, False)
    Keeper(orders).keep()
    os._exit(0)
