"""Look at the embedded Postgres, stop it, or do away with it. Starts nothing."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from noetl_mcp.embedded.failure import InUse, NotStarted
from noetl_mcp.embedded.greeting import Greeting, NoAnswer, greet
from noetl_mcp.embedded.keeper import CONNECTED
from noetl_mcp.embedded.launcher import DATABASE, dsn_of
from noetl_mcp.embedded.locks import hold, is_held, is_shared
from noetl_mcp.embedded.places import Places, find_places
from noetl_mcp.embedded.processes import adopt, adopt_by_note
from noetl_mcp.settings import SYSTEM_STATE

STOP_SECONDS = 60.0
UNUSED_SECONDS = 0.5
_LOOK_EVERY = 0.01
_PATIENCE = ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, 20.0))
_ABOUT = f"""
select split_part(current_setting('server_version'), ' ', 1)
union all
select count(*)::text from pg_stat_activity
 where backend_type = 'client backend' and pid <> pg_backend_pid()
union all
select coalesce(sum(pg_database_size(oid)), 0)::text from pg_database where datname = '{DATABASE}'
"""

State = Literal["absent", "stopped", "running", "silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a home's server is; "silent" is one that lives and does not answer."""

    state: State
    data: Path
    log: Path
    account: str | None = None
    dsn: str | None = None
    version: str | None = None
    pid: int | None = None
    connections: int = 0
    database_bytes: int = 0
    is_used: bool = False
    is_kept: bool = False
    stays: bool = False


def status(home: Path, *, system: Path = SYSTEM_STATE) -> Status:
    """Return how the server of a home is."""
    places = find_places(home, system=system)
    major = places.major()
    still = Status(
        state="absent" if major is None else "stopped",
        data=places.data,
        log=places.log,
        account=places.account.name if places.account else None,
        version=None if major is None else str(major),
        is_used=is_shared(places.users_lock),
        is_kept=is_held(places.keeper_lock),
        stays=places.stay.exists(),
    )
    sockets = places.noted_socket_folder()
    about = _asked(sockets, _ABOUT)
    if sockets is None or about is None or len(about.rows) != 3:
        lives = major is not None and is_held(places.server_lock)
        return replace(still, state="silent") if lives else still
    version, connections, size = about.rows
    return replace(
        still,
        state="running",
        dsn=dsn_of(sockets),
        version=version,
        pid=about.pid,
        connections=int(connections),
        database_bytes=int(size),
    )


def stay(places: Places) -> None:
    """Keep the server up without users, until it is stopped."""
    places.stay.touch(mode=0o600)


def stop(home: Path, *, system: Path = SYSTEM_STATE) -> bool:
    """Stop the server now, whoever uses it, and say whether there was one to stop.

    Safe for what is stored: transactions under way are rolled back, those that ended are kept.
    """
    places = find_places(home, system=system)
    if not places.folder.is_dir():
        return False
    with _alone(places):
        places.stay.unlink(missing_ok=True)
        stopped = _stopped(places)
        sockets = places.noted_socket_folder()
        if sockets is not None:
            with suppress(OSError):
                sockets.rmdir()  # unless a server of somebody else is in it
        return stopped


def reset(home: Path, *, force: bool = False, system: Path = SYSTEM_STATE) -> bool:
    """Stop the server and delete everything in it; refuse while it is used, unless forced."""
    places = find_places(home, system=system)
    if not places.folder.is_dir():
        return False
    with _alone(places), _unused(places, force=force):
        if not force and _somebody_is_connected(places):
            raise InUse("somebody is connected to the database: stop it first, or say --force")
        places.stay.unlink(missing_ok=True)
        _stopped(places)
        was_there = places.data.exists()
        _delete(places)
        return was_there


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    lock = hold(places.start_lock, deadline=time.monotonic() + STOP_SECONDS)
    if lock is None:
        raise NotStarted("another process is starting or stopping the server")
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def _unused(places: Places, *, force: bool) -> Iterator[None]:
    """Keep everybody from becoming a user; who is one already must be forced."""
    # The keeper holds the lock too, for a moment, when the last user has left.
    users = hold(places.users_lock, deadline=time.monotonic() + UNUSED_SECONDS)
    if users is None and not force:
        raise InUse("somebody uses the database: stop it first, or say --force")
    try:
        yield
    finally:
        if users is not None:
            os.close(users)


def _asked(sockets: Path | None, question: str) -> Greeting | None:
    if sockets is None:
        return None
    try:
        return greet(sockets, question)
    except NoAnswer:
        return None


def _somebody_is_connected(places: Places) -> bool:
    found = _asked(places.noted_socket_folder(), CONNECTED)
    if found is None:  # one that lives and does not answer may have anybody
        return _anything_lives(places)
    return bool(found.rows or found.code)


def _stopped(places: Places) -> bool:
    """Tell whoever listens to end, until neither a server nor its keeper is left."""
    if not _anything_lives(places):
        return False
    for number, patience in _PATIENCE:
        deadline = time.monotonic() + patience
        told: set[int] = set()
        while time.monotonic() < deadline:
            _tell(places, number, told)
            if not _anything_lives(places):
                return True
            time.sleep(_LOOK_EVERY)
    raise NotStarted(f"the server does not stop; its log is {places.log}")


def _tell(places: Places, number: int, told: set[int]) -> None:
    sockets = places.noted_socket_folder()
    server = (adopt(sockets) if sockets else None) or adopt_by_note(places.data)
    if server is None:
        return
    if server.pid not in told:
        told.add(server.pid)
        server.tell(number)
        server.tell(signal.SIGCONT)  # one that is halted could not hear
    server.close()


def _anything_lives(places: Places) -> bool:
    return is_held(places.server_lock) or is_held(places.keeper_lock)


def _delete(places: Places) -> None:
    """Remove the data in a way that leaves either all of it or none; the locks stay."""
    if places.data.exists():
        places.data.rename(tempfile.mkdtemp(prefix="data.old-", dir=places.folder))
    for old in (*places.folder.glob("data.old-*"), *places.folder.glob("data.new-*")):
        shutil.rmtree(old)
    sockets = places.noted_socket_folder()
    if sockets is not None:
        shutil.rmtree(sockets)
    for path in (places.socket_note, places.log, places.log.with_suffix(".log.1")):
        path.unlink(missing_ok=True)
