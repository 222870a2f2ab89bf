"""Open a file as a model, if it is one and all of it is there. Asks nothing of what it says.

The library reads what it can of any file and leaves out the rest, so the file is looked at before
and after, and what was left out is told.
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from noetl_mcp.cuts import beginning

MOST_BYTES = 2 * 1024 * 1024 * 1024
"""In memory, a model takes several times what its file has."""
_SCHEMAS = ("IFC2X3", "IFC4", "IFC4X3")
_LAST = b"END-ISO-10303-21"
_TAIL = 64 * 1024


class Unreadable(Exception):
    """A file cannot be opened as a model; the text says why."""


class Opened(NamedTuple):
    """What the library has read of a file, and what it has not."""

    file: Any
    path: Path
    digest: str
    left_out: str | None
    """A sentence about it; None when everything was read."""


def model_in(path: Path) -> Opened:
    """Return what a file holds; raise Unreadable with the reason."""
    library = _library()
    try:
        before = _stamp(path)
        with open(path, "rb", opener=_at_once) as stream:
            _demand_whole(stream, path)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        # By its text alone: an archive could unpack to anything.
        library.get_log()  # of another file
        file = library.open(path, format=".ifc")
        left_out = _left_out(library.get_log())
        if _stamp(path) != before:
            raise Unreadable(f"{path}: it was changed while it was opened; open it again")
    except OSError as problem:
        # Of an empty file, too, the library says that it cannot be opened.
        why = problem.strerror or "this is no IFC file that can be read"
        raise Unreadable(f"{path}: {why}") from None
    except (library.Error, RuntimeError, ValueError) as problem:
        raise Unreadable(f"{path}: this is no IFC file that can be read: {problem}") from None
    if not file.schema.upper().startswith(_SCHEMAS):
        raise Unreadable(f"{path}: models in {file.schema} are not read")
    if not file.by_type("IfcProject"):
        raise Unreadable(f"{path}: the file holds no project, so it is no model")
    _demand_numbers(file, path)
    return Opened(file, path, digest, left_out)


def _left_out(log: str) -> str | None:
    """Return what the library says that it could not read: how often, and where first."""
    said = [line for line in log.splitlines() if line.startswith("[error]")]
    if not said:
        return None
    first = beginning(said[0].rpartition("] ")[2], 200)
    return f"the file was not read in whole, places left out: {len(said):,}; the first: {first}"


def _library() -> Any:
    try:
        import ifcopenshell
    except ImportError:
        raise Unreadable("a model needs the extra 'bim': pip install 'noetl-mcp[bim]'") from None
    return ifcopenshell


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what is another when a file was written, or another one put in its place."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable(f"{path}: this is no file")
    if found.st_size > MOST_BYTES:
        raise Unreadable(f"{path}: it has {found.st_size:,} bytes, and {MOST_BYTES:,} are the most")
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for who writes, should it be a pipe by now."""
    return os.open(path, flags | os.O_NONBLOCK)


def _demand_whole(stream: BinaryIO, path: Path) -> None:
    """Refuse a file that was cut off: half a building would be answered for as if it were all."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _TAIL))
    if size and _LAST not in stream.read(_TAIL):
        why = "it does not come to its end"
        raise Unreadable(f"{path}: this is no IFC file that can be read: {why}")
    stream.seek(0)


def _demand_numbers(file: Any, path: Path) -> None:
    """Refuse a file that gives one number to two things; only one of them could be asked for."""
    seen = set[int]()
    for one in file.by_type("IfcRoot"):
        if one.id() in seen or one.id() < 1:
            raise Unreadable(f"{path}: several things in it have the number #{one.id()}")
        seen.add(one.id())


__all__ = ["MOST_BYTES", "Opened", "Unreadable", "model_in"]
