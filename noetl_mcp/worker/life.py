"""The lives of workers: take part, watch the others, give up those that are gone.

Silence is watched, not computed: a worker is gone when its beat stood still while this one beat
eight times, or when the lock that it holds on this machine is free. Ids are never reused.
"""

import fcntl
import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noetl_mcp.compiler.plan import FORMAT
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.worker.engine import BEATS

SQL = statements(__file__, "life.sql")


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a worker: its number, its secret epoch, and the lock that says it lives."""

    id: int
    epoch: int
    lock: int
    path: Path


@dataclass(slots=True)
class _Seen:
    """What was last seen of another worker."""

    beat: int
    times: int
    host: str = ""
    boot: str = ""
    life: str = ""
    gone: bool = False


def host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def boot_mark() -> str:
    """Return what tells this boot of the machine from another; empty where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def begin_life(
    connection: Connection[TupleRow], folder: Path, pools: tuple[str, ...], name: str | None
) -> Life:
    """Take part: lock a file for as long as this process lives, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    epoch = secrets.randbits(62)
    path = folder / f"{epoch:016x}.life"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    row = connection.execute(
        SQL["register"].encode(),
        {
            "epoch": epoch,
            "plan_format": FORMAT,
            "pools": list(pools),
            "host": host_name(),
            "boot": boot_mark(),
            "pid": os.getpid(),
            "life": str(path),
            "name": name,
        },
    ).fetchone()
    assert row is not None
    return Life(row[0], epoch, lock, path)


def end_life(connection: Connection[TupleRow] | None, life: Life) -> None:
    """Leave: nothing is held any more. Without a connection the others find the free lock."""
    if connection is not None:
        connection.execute(SQL["leave"].encode(), {"id": life.id, "epoch": life.epoch})
        life.path.unlink(missing_ok=True)
    os.close(life.lock)


@dataclass(slots=True)
class Watch:
    """What one worker has seen of the others."""

    every: float = 0.0
    """Looks that come closer together than so many seconds count as one."""
    seen: dict[int, _Seen] = field(default_factory=dict)
    _counted: float = float("-inf")

    def look(
        self, connection: Connection[TupleRow], others: list[tuple[int, int]]
    ) -> list[tuple[int, int | None]]:
        """Return the workers that are gone, each with the beat that was seen last."""
        now = time.monotonic()
        counts = now - self._counted >= self.every
        self._counted = now if counts else self._counted
        new = [number for number, _ in others if number not in self.seen]
        self.seen = {n: self.seen[n] for n, _ in others if n in self.seen}
        if new:
            rows: list[Any] = connection.execute(
                SQL["neighbours"].encode(), {"ids": new}
            ).fetchall()
            for number, beat, host, boot, life, gone in rows:
                self.seen[number] = _Seen(beat, 0, host, boot, life, gone)
        found: list[tuple[int, int | None]] = []
        for number, beat in others:
            seen = self.seen.get(number)
            if seen is None:
                continue
            seen.times = seen.times + counts if beat == seen.beat else 0
            seen.beat = beat
            if seen.gone or _is_free(seen):
                found.append((number, None))
            elif seen.times >= BEATS:
                found.append((number, beat))
        return found

    def is_dead(self, number: int) -> bool:
        """Whether a worker's process is gone for certain; silence alone does not tell."""
        seen = self.seen.get(number)
        return seen is not None and _is_free(seen)

    def bury(self, number: int) -> None:
        """Take away what a worker of this machine has left behind."""
        seen = self.seen.pop(number, None)
        if seen is not None and seen.life and _is_here(seen):
            Path(seen.life).unlink(missing_ok=True)

    def broken(self) -> None:
        """Forget what was seen: the connection was broken, so nothing was seen throughout."""
        for seen in self.seen.values():
            seen.times = 0


def _is_here(seen: _Seen) -> bool:
    """Whether a life is one of this machine, since it was started."""
    return seen.host == host_name() and seen.boot == boot_mark() and bool(seen.boot)


def _is_free(seen: _Seen) -> bool:
    """Whether a life of this machine has let go of its lock: then it is over, for certain."""
    if not (_is_here(seen) and seen.life):
        return False
    try:
        lock = os.open(seen.life, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def give_up(connection: Connection[TupleRow], number: int, beat: int | None) -> int:
    """Give a worker up and hand its steps back; return how many. Two may try; one does it."""
    return given_up(connection, number, beat)[1]


def given_up(connection: Connection[TupleRow], number: int, beat: int | None) -> tuple[bool, int]:
    """Give a worker up; return whether it is gone, and how many steps were handed back."""
    row = connection.execute(SQL["give_up"].encode(), {"id": number, "beat": beat}).fetchone()
    if row is None or not row[0]:
        return False, 0
    done = connection.execute(SQL["recover"].encode(), {"id": number}).fetchone()
    return True, int(done[0]) if done is not None else 0


def note_end(connection: Connection[TupleRow], number: int) -> None:
    """Keep in mind that a worker is dead for certain."""
    connection.execute(SQL["ended"].encode(), {"id": number})


def forget_ends(connection: Connection[TupleRow]) -> None:
    """Forget the ends of workers that are long gone."""
    connection.execute(SQL["forget_ended"].encode())


__all__ = [
    "Life",
    "Watch",
    "begin_life",
    "boot_mark",
    "end_life",
    "forget_ends",
    "give_up",
    "given_up",
    "host_name",
    "note_end",
]
