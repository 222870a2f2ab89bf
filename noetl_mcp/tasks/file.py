"""The task type `file`: read, write and look at files below the folders that a worker allows.

Files are read and written as wholes and within a bound. No link is followed.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks import file_storage as storage
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.file_formats import decoded, encoded, header, read_as, written_as
from noetl_mcp.tasks.folders import Folders, Place, told
from noetl_mcp.tasks.specs_data import READING_ACTIONS, FileSettings

Ask = Callable[[], None]
Deed = Callable[[FileSettings, Place, Ask], Json]


class File:
    """Does one thing with one file or folder."""

    def __init__(self, *, folders: Iterable[Path | str] = ()) -> None:
        self.folders = Folders(folders)

    async def execute(self, call: Call) -> Json:
        """Carry out the action; what is written is the content, or the input without one."""
        settings: FileSettings = call.settings
        if settings.content is None and settings.action in ("write", "append"):
            settings = settings.model_copy(update={"content": call.input})
        reads = settings.action in READING_ACTIONS
        ask = storage.nothing if reads else call.around.may_send
        return await asyncio.to_thread(self._done, settings, ask)

    async def close(self) -> None:
        """Nothing is kept open."""

    def keep(
        self,
        path: str,
        content: bytes | Callable[[bytes], bytes],
        ask: Ask,
        *,
        make: bool,
        rewrites: bool,
    ) -> None:
        """Write a file for a save: its content, or what is added behind the content it has."""
        ask()
        place = self.folders.place(path)
        with told(path):
            if isinstance(content, bytes):
                storage.replace(place, content, make=make, before=ask)
            else:
                most = FileSettings(path=path).max_bytes
                storage.append(place, content, most=most, make=make, rewrites=rewrites, before=ask)

    def _done(self, settings: FileSettings, ask: Ask) -> Json:
        ask()
        place = self.folders.place(settings.path)
        if settings.action in ("copy", "move"):
            deed: Deed = partial(_carry, to=self._goal(settings))
        else:
            deed = _DEEDS[settings.action]
        with told(settings.path):
            return deed(settings, place, ask)

    def _goal(self, settings: FileSettings) -> Place:
        if settings.to is None:
            said = f"'{settings.action}' needs 'to'"
            raise Failed("no-goal", said, retriable=False)
        return self.folders.place(settings.to)


def _read(settings: FileSettings, place: Place, ask: Ask) -> Json:
    try:
        content = storage.read(place, settings.max_bytes)
    except FileNotFoundError:
        if not settings.missing_ok:
            raise
        return {"path": settings.path, "exists": False, "size": 0, "content": None}
    form = read_as(settings.path, settings.format)
    value = decoded(content, form, settings.encoding)
    return {"path": settings.path, "exists": True, "size": len(content), "content": value}


def _list(settings: FileSettings, place: Place, ask: Ask) -> Json:
    try:
        found = storage.listed(place, settings.pattern)
    except FileNotFoundError:
        if not settings.missing_ok:
            raise
        found = []
    return {"path": settings.path, "files": found, "count": len(found)}


def _look(settings: FileSettings, place: Place, ask: Ask) -> Json:
    seen = storage.look(place)
    kind = seen.kind or None
    return {"path": settings.path, "exists": kind is not None, "kind": kind, "size": seen.size}


def _digest(settings: FileSettings, place: Place, ask: Ask) -> Json:
    try:
        found, size = storage.digest(place, settings.max_bytes)
    except FileNotFoundError:
        if not settings.missing_ok:
            raise
        return {"path": settings.path, "exists": False, "size": 0, "sha256": None}
    return {"path": settings.path, "exists": True, "size": size, "sha256": found}


def _write(settings: FileSettings, place: Place, ask: Ask) -> Json:
    form = written_as(settings.path, settings.format, settings.content)
    content = encoded(settings.content, form, settings.encoding)
    _refuse_long(content, settings)
    overwrite, make = settings.overwrite, settings.make_folders
    storage.replace(place, content, overwrite=overwrite, make=make, before=ask)
    return {"path": settings.path, "size": len(content)}


def _append(settings: FileSettings, place: Place, ask: Ask) -> Json:
    form = written_as(settings.path, settings.format, settings.content)
    added = storage.append(
        place,
        added_to(settings.content, form, settings.encoding),
        most=settings.max_bytes,
        make=settings.make_folders,
        rewrites=form in REWRITTEN,
        before=ask,
    )
    return {"path": settings.path, "written": added, "size": storage.look(place).size}


def _delete(settings: FileSettings, place: Place, ask: Ask) -> Json:
    try:
        storage.delete(place)
    except FileNotFoundError:
        if not settings.missing_ok:
            raise
        return {"path": settings.path, "deleted": False}
    return {"path": settings.path, "deleted": True}


def _make_folder(settings: FileSettings, place: Place, ask: Ask) -> Json:
    made = storage.make_folder(place, make=settings.make_folders)
    return {"path": settings.path, "made": made}


def _carry(settings: FileSettings, place: Place, ask: Ask, to: Place) -> Json:
    overwrite, make = settings.overwrite, settings.make_folders
    try:
        if settings.action == "move":
            storage.move(place, to, overwrite=overwrite, make=make)
        else:
            content = storage.read(place, settings.max_bytes)
            storage.replace(to, content, overwrite=overwrite, make=make, before=ask)
    except FileNotFoundError:
        if not settings.missing_ok or storage.look(place).kind:
            raise
        return {"path": settings.path, "to": settings.to, "done": False}
    return {"path": settings.path, "to": settings.to, "done": True}


_DEEDS: dict[str, Deed] = {
    "read": _read,
    "list": _list,
    "exists": _look,
    "digest": _digest,
    "write": _write,
    "append": _append,
    "delete": _delete,
    "mkdir": _make_folder,
}
REWRITTEN = frozenset(("json", "yaml"))
"""Formats in which something can be added only by writing all of it anew."""


def added_to(value: Json, form: str, encoding: str) -> Callable[[bytes], bytes]:
    """Return what makes of a file's content the bytes to add, or the new content as a whole."""

    def add(content: bytes) -> bytes:
        if form == "csv":
            columns = header(content, encoding) if content.strip() else None
            return encoded(value, form, encoding, columns)
        if form not in REWRITTEN:
            return encoded(value, form, encoding)
        there = decoded(content, form, encoding) if content.strip() else []
        if not isinstance(there, list):
            said = "something can be added only to a file that holds a list"
            raise Failed("wrong-format", said, retriable=False)
        return encoded([*there, *(value if isinstance(value, list) else [value])], form, encoding)

    return add


def _refuse_long(content: bytes, settings: FileSettings) -> None:
    if len(content) > settings.max_bytes:
        said = f"the content has more than {settings.max_bytes:,} bytes; raise 'max_bytes'"
        raise Failed("too-long", said, retriable=False)


__all__ = ["REWRITTEN", "Ask", "Deed", "File", "added_to"]
