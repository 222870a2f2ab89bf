"""Saves to files, servers and functions: `save.file`, `save.http` and `save.python`.

A save carries its data in the call's input, and the settings of its target; the tasks that know
files, servers and Python do the work. Saves to tables have a module of their own.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Task
from noetl_mcp.tasks.file import REWRITTEN, File, added_to
from noetl_mcp.tasks.file_formats import decoded, encoded, written_as
from noetl_mcp.tasks.save_rows import Wish, identity_of, last_of_each, refusal, rows_of, wish_of
from noetl_mcp.tasks.save_targets import FileTarget


class SaveFile:
    """Writes data into a file, adds it to one, or puts rows in place of those with the same key.

    Only what was added stands there twice when it is done again.
    """

    def __init__(self, *, file: File) -> None:
        self._file = file

    async def execute(self, call: Call) -> Json:
        """Write the data in the form that the target says."""
        target: FileTarget = call.settings
        wish = wish_of(call)
        form = written_as(target.path, target.format, wish.data, texts_as_they_are=False)
        content: bytes | Callable[[bytes], bytes]
        if wish.mode == "append":
            content = added_to(wish.data, form, target.encoding)
        elif wish.mode == "upsert":
            content = put_into(wish, form, target.encoding)
        else:
            content = encoded(wish.data, form, target.encoding)
        await asyncio.to_thread(
            self._file.keep,
            target.path,
            content,
            call.around.may_send,
            make=target.make_folders,
            rewrites=form in REWRITTEN or wish.mode == "upsert",
        )
        count = len(wish.data) if isinstance(wish.data, list) else 1
        return {"saved": count, "path": target.path}

    async def close(self) -> None:
        """Nothing is kept open."""


def put_into(wish: Wish, form: str, encoding: str) -> Callable[[bytes], bytes]:
    """Return what makes of a file its new content, in which rows with a known key are replaced."""
    if form == "text":
        raise refusal("wrong-format", "an upsert needs a file of rows: JSON, JSON lines, YAML, CSV")
    if not wish.key:
        raise refusal("no-key", "an upsert needs 'key': the keys that identify a row")
    written = encoded(list(last_of_each(rows_of(wish.data), wish.key)), form, encoding)
    rows = rows_of(decoded(written, form, encoding))  # as the file has them: a cell is a text

    def put(content: bytes) -> bytes:
        found = decoded(content, form, encoding) if content.strip() else []
        there = rows_of(found) if found != [] else []
        fresh = {identity_of(row, wish.key): row for row in rows}
        merged = [{**row, **fresh.pop(identity_of(row, wish.key), {})} for row in there]
        return encoded([*merged, *fresh.values()], form, encoding)

    return put


class SaveHttp:
    """Sends data to a server, as the body of a request that says nothing else."""

    def __init__(self, *, http: Task) -> None:
        self._http = http

    async def execute(self, call: Call) -> Json:
        """Send the data and return what the server answered."""
        data = wish_of(call).data
        answer = await self._http.execute(replace(call, task="http", input=data))
        return {"saved": 1, "answer": answer}

    async def close(self) -> None:
        """The connections belong to the task that was given."""


class SavePython:
    """Calls a function with the data as its input."""

    def __init__(self, *, python: Task) -> None:
        self._python = python

    async def execute(self, call: Call) -> Json:
        """Call the function and return what it returned."""
        data = wish_of(call).data
        answer = await self._python.execute(replace(call, task="python", input=data))
        return {"saved": 1, "answer": answer}

    async def close(self) -> None:
        """The processes belong to the task that was given."""


__all__ = ["SaveFile", "SaveHttp", "SavePython", "put_into"]
