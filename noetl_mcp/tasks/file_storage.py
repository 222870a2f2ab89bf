"""Read, replace, append and move files at places that are allowed. Knows formats of bytes only.

What is replaced is written beside it first, and made durable before it takes the name, so that a
reader finds the old content or the new one. `before` is called right before that, and what it
raises keeps everything as it was. What is appended is taken back when it did not fit.
Waits for the disk: call it from a thread.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic_core import SchemaError, SchemaValidator, core_schema

from noetl_mcp.cuts import beginning
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.folders import Place, kind_of

MOST_LISTED = 10_000
MOST_PATTERN = 1_000
PIECE = 1024 * 1024
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands at a place: file, folder, link, other or nothing, and the size of a file."""

    kind: str
    size: int = 0


def look(place: Place) -> Seen:
    """Say what stands at a place."""
    try:
        with place.folder() as folder:
            kind = kind_of(folder, place.name)
            if kind != "file":
                return Seen(kind)
            return Seen(kind, os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_size)
    except FileNotFoundError:
        return Seen("")


def read(place: Place, most: int) -> bytes:
    """Return the bytes of a file that is not longer than allowed."""
    with _opened(place) as file:
        _refuse_long(os.fstat(file).st_size, most)
        content = b"".join(_pieces(file, most + 1))
    _refuse_long(len(content), most)
    return content


def digest(place: Place, most: int) -> tuple[str, int]:
    """Return the SHA-256 of a file and its size."""
    found, size = hashlib.sha256(), 0
    with _opened(place) as file:
        _refuse_long(os.fstat(file).st_size, most)
        for piece in _pieces(file, most + 1):
            found.update(piece)
            size += len(piece)
    _refuse_long(size, most)
    return found.hexdigest(), size


def replace(
    place: Place,
    content: bytes,
    *,
    overwrite: bool = True,
    make: bool = True,
    before: Callable[[], None] = nothing,
) -> None:
    """Write a file as a whole: whoever reads sees the old content or the new one."""
    with place.folder(make=make) as folder:
        if kind_of(folder, place.name) == "folder":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _replace(folder, place.name, content, before, overwrite=overwrite)


def append(
    place: Place,
    content: Callable[[bytes], bytes],
    *,
    most: int,
    make: bool = True,
    rewrites: bool = False,
    before: Callable[[], None] = nothing,
) -> int:
    """Add to a file that nobody else adds to meanwhile; return how many bytes were written.

    `content` is given the beginning of the file, or with `rewrites` all of it, and returns what
    comes behind it, or instead of it.
    """
    with place.folder(make=make) as folder, _locked(folder, place.name) as file:
        size = os.fstat(file).st_size
        if rewrites:
            _refuse_long(size, most)
            whole = content(b"".join(_pieces(file, most + 1)))
            _refuse_long(len(whole), most)
            _replace(folder, place.name, whole, before, overwrite=True)
            return len(whole)
        added = content(next(_pieces(file, PIECE), b""))
        _refuse_long(len(added), most)
        if size and os.pread(file, 1, size - 1) != b"\n" and b"\n" in added:
            added = b"\n" + added
        before()
        try:
            os.lseek(file, 0, os.SEEK_END)
            _write(file, added)
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
        return len(added)


def delete(place: Place) -> None:
    """Remove a file, or a folder with nothing in it."""
    with place.folder() as folder:
        if kind_of(folder, place.name) == "folder":
            os.rmdir(place.name, dir_fd=folder)
        else:
            os.unlink(place.name, dir_fd=folder)
        os.fsync(folder)


def move(place: Place, to: Place, *, overwrite: bool, make: bool) -> None:
    """Give a file or a folder another name, at once."""
    with place.folder() as folder, to.folder(make=make) as target:
        if kind_of(folder, place.name) not in ("file", "folder"):
            os.stat(place.name, dir_fd=folder, follow_symlinks=False)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not overwrite and kind_of(target, to.name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.replace(place.name, to.name, src_dir_fd=folder, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(folder)


def make_folder(place: Place, *, make: bool) -> bool:
    """Make a folder; say whether it was missing."""
    with place.folder(make=make) as folder:
        if place.name == "." or kind_of(folder, place.name) == "folder":
            return False
        os.mkdir(place.name, dir_fd=folder)
        os.fsync(folder)
    return True


def listed(place: Place, pattern: str) -> list[Json]:
    """Return what stands below a folder and fits a pattern, in the order of the paths."""
    fits = _pattern(pattern)
    found: dict[str, Json] = {}
    with place.folder() as outer:
        top = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=outer)
        try:
            for path, kind, known in _below(top, "", deep="**" in pattern or "/" in pattern):
                if _fits(fits, path):
                    found[path] = _entry(path, kind, known)
        finally:
            os.close(top)
    return [found[path] for path in sorted(found)]


def _entry(path: str, kind: str, known: os.stat_result) -> dict[str, Json]:
    changed = datetime.fromtimestamp(known.st_mtime, UTC).isoformat(timespec="seconds")
    size = known.st_size if kind == "file" else 0
    return {"path": path, "kind": kind, "size": size, "modified": changed}


def _below(folder: int, before: str, *, deep: bool) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield files, folders and links below a folder; a link is named and never followed."""
    waiting, count = [(folder, before)], 0
    while waiting:
        held, path = waiting.pop()
        try:
            for name in os.listdir(held):
                count += 1
                if count > MOST_LISTED:
                    said = f"there are more than {MOST_LISTED:,} names below the folder"
                    raise Failed("too-many-files", said, retriable=False)
                kind = kind_of(held, name)
                if not kind:
                    continue
                yield f"{path}{name}", kind, os.stat(name, dir_fd=held, follow_symlinks=False)
                if deep and kind == "folder":
                    flags = os.O_RDONLY | os.O_DIRECTORY | _OPEN
                    waiting.append((os.open(name, flags, dir_fd=held), f"{path}{name}/"))
        finally:
            if held != folder:
                os.close(held)


_GLOB = re.compile(r"(?:\*\*/)+|\*+|\?|\[[!^]?[^\]]+\]")


def _pattern(text: str) -> SchemaValidator:
    """Return what a pattern means: * and ? stay in a folder, ** goes into folders.

    The matcher takes time in proportion to the path, whatever the pattern; the one of `re` does
    not, and lets nothing else in this process go on meanwhile.
    """
    pieces, at = list[str](), 0
    for found in _GLOB.finditer(text):
        pieces.append(re.escape(text[at : found.start()]))
        pieces.append(_meaning(found[0]))
        at = found.end()
    whole = "".join((r"(?s)\A", *pieces, re.escape(text[at:]), r"\z"))
    try:
        if len(text) > MOST_PATTERN:
            raise ValueError
        known = core_schema.str_schema(pattern=whole, regex_engine="rust-regex")
        return SchemaValidator(known)
    except (SchemaError, ValueError):
        said = f"'{beginning(text, 200)}' is no pattern"
        raise Failed("wrong-pattern", said, retriable=False) from None


def _meaning(sign: str) -> str:
    """Return one sign of a pattern as an expression."""
    if sign.endswith("/"):
        return "(?:.*/)?"
    if sign.startswith("*"):
        return "[^/]*" if sign == "*" else ".*"
    if sign == "?":
        return "[^/]"
    is_other = sign[1] in "!^" and len(sign) > 3
    signs, at, inner = list[str](), 0, sign[2 if is_other else 1 : -1]
    while at < len(inner):
        is_range = inner[at + 1 : at + 2] == "-" and at + 2 < len(inner)
        ends = (inner[at], inner[at + 2]) if is_range else (inner[at],)
        signs.append("-".join(map(re.escape, ends)))
        at += 3 if is_range else 1
    return f"[{'^' if is_other else ''}{''.join(signs)}]"


def _fits(pattern: SchemaValidator, path: str) -> bool:
    """Whether a path fits; bytes that are no text count as one sign."""
    text = path.encode(errors="surrogateescape").decode(errors="replace")
    return pattern.isinstance_python(text)


@contextmanager
def _opened(place: Place) -> Iterator[int]:
    with place.folder() as folder:
        file = os.open(place.name, os.O_RDONLY | _OPEN, dir_fd=folder)
    try:
        _demand_file(os.fstat(file))
        yield file
    finally:
        os.close(file)


def _demand_file(known: os.stat_result) -> None:
    if not stat.S_ISREG(known.st_mode):
        kind = errno.EISDIR if stat.S_ISDIR(known.st_mode) else errno.ENXIO
        raise OSError(kind, os.strerror(kind))


@contextmanager
def _locked(folder: int, name: str) -> Iterator[int]:
    """Yield the file that has the name, made when it is missing, locked against other appends."""
    while True:
        file = os.open(name, os.O_RDWR | os.O_CREAT | _OPEN, 0o666, dir_fd=folder)
        try:
            known = os.fstat(file)
            _demand_file(known)
            fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                there = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if (there.st_ino, there.st_dev) == (known.st_ino, known.st_dev):
                    yield file
                    return
        finally:
            os.close(file)


def _replace(
    folder: int, name: str, content: bytes, before: Callable[[], None], *, overwrite: bool
) -> None:
    mode = 0o666
    with suppress(FileNotFoundError):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        mode = stat.S_IMODE(there) if stat.S_ISREG(there) else mode  # a link lets everybody write
        if not overwrite:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    beside = f".{name[:100]}.{secrets.token_hex(6)}.new"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o666, dir_fd=folder)
    try:
        try:
            if mode != 0o666:
                os.fchmod(file, mode)
            _write(file, content)
            os.fsync(file)
        finally:
            os.close(file)
        before()
        if overwrite:
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
    os.fsync(folder)


def _write(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _pieces(file: int, most: int) -> Iterator[bytes]:
    while most > 0 and (piece := os.read(file, min(PIECE, most))):
        most -= len(piece)
        yield piece


def _refuse_long(size: int, most: int) -> None:
    if size > most:
        said = f"there are more than {most:,} bytes; raise 'max_bytes'"
        raise Failed("too-long", said, retriable=False)


__all__ = [
    "MOST_LISTED",
    "MOST_PATTERN",
    "Seen",
    "append",
    "delete",
    "digest",
    "listed",
    "look",
    "make_folder",
    "move",
    "nothing",
    "read",
    "replace",
]
