"""The process that does one thing for one client of the web.

Writes its answer once, a status with a type and then the body, and ends; it also ends when its
parent is gone. Knows nothing of what is done: a module of its own does that, and is loaded alone.
"""

import os
import shutil
import sys
import threading
from importlib import import_module

from starlette.responses import Response

from noetl_mcp.worker.placed import Parent, orders

_KINDER = 5
"""The server and its workers come first."""


def main() -> None:
    """Do what the parent says, and tell it what came of it."""
    given = orders()
    if given is None:
        return
    told_so, parent = given
    # Whatever a task prints goes where the server's own words go, never into the answer.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_end_with, args=(parent, told_so["folder"]), daemon=True).start()
    os.nice(_KINDER)
    answer: Response = import_module(told_so["by"]).done(told_so)
    head = f"{answer.status_code} {answer.media_type}\n"
    with os.fdopen(answers, "wb") as file:
        file.write(head.encode())
        file.write(answer.body)


def _end_with(parent: Parent, folder: str) -> None:
    """End when the parent does; what was written for this is of no use to anybody else."""
    for _ in parent:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


__all__ = ["main"]
