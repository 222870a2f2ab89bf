"""The process that does errands for clients of the web, one after the other.

For each it writes a line about the answer, and then the answer. It ends when its parent is gone,
and when it has grown. Knows nothing of what is done: a module of its own does that, loaded alone.
"""

import errno
import os
import resource
import shutil
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import orjson
from starlette.responses import Response

from noetl_mcp.web.faults import refused, too_large
from noetl_mcp.worker.placed import Parent, orders

_KINDER = 5
"""The server and its workers come first."""
_MOST_DONE = 1_000
_MOST_HELD = 96 * 2**20
"""What holds more memory than this after an errand does not stay for the next one."""


def main() -> None:
    """Do what the parent says, and tell it what came of it."""
    given = orders()
    if given is None:
        return
    surroundings, parent = given
    # Whatever a task prints goes where the server's own words go, never into the answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    heard: SimpleQueue[bytes] = SimpleQueue()
    folder = surroundings["folder"]
    threading.Thread(target=_hear, args=(parent, heard, folder), daemon=True).start()
    os.nice(_KINDER)
    for left in reversed(range(_MOST_DONE)):
        answer = _done({**surroundings, **orjson.loads(heard.get())})
        stays = left > 0 and answer is not None and _held() < _MOST_HELD
        answer = answer or refused(too_large())
        told = (answer.status_code, len(answer.body), "stays" if stays else "leaves")
        answers.write(" ".join(map(str, (*told, answer.media_type))).encode() + b"\n")
        answers.write(answer.body)
        answers.flush()
        if not stays:
            return


def _done(errand: Mapping[str, Any]) -> Response | None:
    """Return the answer; None when it takes more memory than it may."""
    try:
        done: Response = import_module(errand["by"]).done(errand)
    except MemoryError:
        return None
    except OSError as problem:
        if problem.errno != errno.ENOMEM:
            raise
        return None
    return done


def _held() -> int:
    """Return how much memory this process holds; where that cannot be told, more than it may."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return _MOST_HELD
    return pages * resource.getpagesize()


def _hear(parent: Parent, heard: SimpleQueue[bytes], folder: str) -> None:
    """Pass on what the parent says, and end when it does; what was written is of no use then."""
    for line in parent:
        heard.put(line)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


__all__ = ["main"]
