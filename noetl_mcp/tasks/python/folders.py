"""Private folders for programs, below one folder of this worker that goes when the worker does.

A worker that is killed cannot clean up; the next one does. A lock tells the dead from the living,
never a number in a file.
"""

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

_PREFIX, _UNFINISHED = "noetl-python-", "noetl-new-"
_LOCK = "lock"


class Folders:
    """The folders of one worker; nothing is made before the first is asked for."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._lock = -1

    @property
    def is_open(self) -> bool:
        """Whether there is a folder of this worker."""
        return self._root is not None

    def make(self) -> str:
        """Make a folder for one process."""
        if self._root is None:
            self._root = self._opened()
        return tempfile.mkdtemp(dir=self._root)

    def close(self) -> None:
        """Remove everything that is left."""
        if self._root is not None:
            remove(self._root)
            os.close(self._lock)
            self._root = None

    def _opened(self) -> Path:
        """Make this worker's folder; it gets its name when it is locked, so nobody sweeps it."""
        folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            root = folder.rename(folder.with_name(folder.name.replace(_UNFINISHED, _PREFIX, 1)))
        except OSError:
            os.close(lock)
            remove(folder)
            raise
        self._lock = lock
        return root


def remove(folder: str | Path) -> None:
    """Remove a folder with all that is in it, as far as that goes."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove what workers left that are dead; may take a while."""
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _sweep_one(folder)


def _sweep_one(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flock(lock, LOCK_EX | LOCK_NB)  # raises while its worker lives
        remove(folder)
    finally:
        os.close(lock)


__all__ = ["Folders", "remove", "sweep"]
