"""Find files below the folders that a worker allows, and nowhere else. Follows no link.

Every step of a path is opened by itself, so that nothing can be swapped on the way; the allowed
folders themselves may be links. Reads and writes nothing.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from noetl_mcp.tasks.calls import Failed

_REASONS = {
    errno.ENOENT: ("no-such-file", "is not there"),
    errno.ELOOP: ("link", "is a link, and links are not followed"),
    errno.ENOTDIR: ("link", "leads through a link or something that is no folder"),
    errno.EISDIR: ("not-a-file", "is a folder"),
    errno.ENXIO: ("not-a-file", "is no ordinary file, but a pipe, a socket or a device"),
    errno.EEXIST: ("already-there", "is there already"),
    errno.ENOTEMPTY: ("not-empty", "is a folder with something in it"),
    errno.EACCES: ("not-permitted", "cannot be used: the system does not permit it"),
    errno.EPERM: ("not-permitted", "cannot be used: the system does not permit it"),
    errno.EXDEV: ("other-disk", "lies on another disk; copy it"),
    errno.ENAMETOOLONG: ("no-such-file", "has too long a name"),
}
_MAY_HELP = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE))
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that may be touched: an allowed folder, and the names below it."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path, for people and for libraries that open files by name."""
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        """The last name; a dot for the allowed folder itself."""
        return self.parts[-1] if self.parts else "."

    @contextmanager
    def folder(self, *, make: bool = False) -> Iterator[int]:
        """Yield the open folder that the place is in; missing ones are made when asked for."""
        held = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in self.parts[:-1]:
                below = _stepped(held, part, make=make)
                os.close(held)
                held = below
            yield held
        finally:
            os.close(held)


class Folders:
    """The folders that a worker allows. A relative path begins in the first of them."""

    def __init__(self, allowed: Iterable[Path | str] = ()) -> None:
        self._spelt = [Path(os.path.abspath(one)) for one in allowed]
        self.roots = tuple(Path(os.path.realpath(one)) for one in self._spelt)

    def place(self, path: str) -> Place:
        """Return a place below an allowed folder; refuse any other."""
        if not self.roots:
            said = "this worker allows no folder; set NOETL_FILES"
            raise Failed("outside-folders", said, retriable=False)
        if not path.strip() or "\0" in path:
            raise Failed("outside-folders", "the path is empty, or none at all", retriable=False)
        # No link is followed, so what `..` means is plain from the text.
        whole = Path(os.path.normpath(self.roots[0] / path))
        for root in (*self.roots, *self._spelt):
            if whole.is_relative_to(root):
                real = self.roots[self._spelt.index(root)] if root in self._spelt else root
                return Place(real, whole.relative_to(root).parts)
        said = f"'{path}' lies outside of the folders that this worker allows"
        raise Failed("outside-folders", said, retriable=False)

    def holds(self, path: str) -> bool:
        """Whether a whole path lies below an allowed folder, as far as its text tells."""
        whole = Path(os.path.normpath(path))
        return whole.is_absolute() and any(
            whole.is_relative_to(root) for root in (*self.roots, *self._spelt)
        )

    def checked(self, path: str, *, make: bool = False) -> Path:
        """Return the path of a file for a library that opens it by name; refuse links."""
        place = self.place(path)
        with told(path), place.folder(make=make) as folder:
            found = kind_of(folder, place.name)
        if found == "link":
            raise Failed("link", f"'{path}' is a link, and links are not followed", retriable=False)
        return place.path


def _stepped(held: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=held)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # somebody else may be quicker
        os.mkdir(part, dir_fd=held)
    return os.open(part, _FOLDER, dir_fd=held)


def kind_of(folder: int, name: str) -> str:
    """Say what lies under a name: file, folder, link, other, or nothing."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return ""
    for kind, holds in (("file", stat.S_ISREG), ("folder", stat.S_ISDIR), ("link", stat.S_ISLNK)):
        if holds(mode):
            return kind
    return "other"


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn what the system says about a path into a failure."""
    try:
        yield
    except OSError as problem:
        code, reason = _REASONS.get(problem.errno or 0, ("file-failed", str(problem.strerror)))
        said = f"'{path}' {reason}" if code != "file-failed" else f"'{path}': {reason}"
        raise Failed(code, said, retriable=problem.errno in _MAY_HELP) from None


def ending(path: str) -> str:
    """Return the ending of a path in small letters, without its dot."""
    return PurePosixPath(path).suffix.lower().removeprefix(".")


__all__ = ["Folders", "Place", "ending", "kind_of", "told"]
