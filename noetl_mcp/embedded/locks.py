"""Locks that the kernel lets go of when their holder dies. Keeps no list of anybody's number.

All are `flock` on files that are never removed: a lock on a removed file would bind nobody. The
descriptors are closed on exec, so a program that is started holds nothing by accident; a process
that is merely forked shares what its parent holds, until both have ended.
"""

import fcntl
import os
import time
from pathlib import Path

PAUSE = 0.005


def opened(path: Path) -> int:
    """Open the file of a lock, making it when it is not there."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def taken(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if nobody is in the way, and say whether that was so."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def hold(path: Path, *, deadline: float, shared: bool = False) -> int | None:
    """Wait for the lock until the deadline; return the descriptor that holds it."""
    descriptor = opened(path)
    try:
        while not taken(descriptor, shared=shared):
            if time.monotonic() > deadline:
                os.close(descriptor)
                return None
            time.sleep(PAUSE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def wait_until_free(path: Path) -> None:
    """Sleep until nobody holds the lock; it is not held by the caller afterwards."""
    descriptor = opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def release(descriptor: int) -> None:
    """Let go of a lock and keep its descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock for himself; those who ask are in nobody's way."""
    return _refused(path, shared=True)


def is_shared(path: Path) -> bool:
    """Whether anybody holds the lock, be it in common with others."""
    return _refused(path, shared=False)


def _refused(path: Path, *, shared: bool) -> bool:
    if not path.exists():
        return False
    descriptor = opened(path)
    try:
        return not taken(descriptor, shared=shared)
    finally:
        os.close(descriptor)
