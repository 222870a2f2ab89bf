"""Saves to files, servers and functions: `save.file`, `save.http` and `save.python`.

A save carries its data in the call's input, and the settings of its target; the tasks that know
files, servers and Python do the work. Saves to tables have a module of their own.
"""

import asyncio
from dataclasses import replace

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Task
from noetl_mcp.tasks.file import REWRITTEN, File, added_to
from noetl_mcp.tasks.file_formats import encoded, written_as
from noetl_mcp.tasks.save_rows import wish_of
from noetl_mcp.tasks.save_targets import FileTarget


class SaveFile:
    """Writes data into a file, or adds it to one; done again, it stands there twice."""

    def __init__(self, *, file: File) -> None:
        self._file = file

    async def execute(self, call: Call) -> Json:
        """Write the data in the form that the target says."""
        target: FileTarget = call.settings
        wish = wish_of(call)
        form = written_as(target.path, target.format, wish.data, texts_as_they_are=False)
        adds = wish.mode == "append"
        content = (
            added_to(wish.data, form, target.encoding)
            if adds
            else encoded(wish.data, form, target.encoding)
        )
        call.around.may_send()
        await asyncio.to_thread(
            self._file.keep,
            target.path,
            content,
            make=target.make_folders,
            rewrites=form in REWRITTEN,
        )
        count = len(wish.data) if isinstance(wish.data, list) else 1
        return {"saved": count, "path": target.path}

    async def close(self) -> None:
        """Nothing is kept open."""


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


__all__ = ["SaveFile", "SaveHttp", "SavePython"]
