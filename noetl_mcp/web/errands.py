"""The process that does one thing for one client of the web: tries a playbook, or asks the log.

Writes its answer once, a status and then JSON, and ends; it also ends when its parent is gone.
"""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from starlette.responses import Response

from noetl_mcp import rehearsing
from noetl_mcp.assembly import Home
from noetl_mcp.compiler.compile import Broken, compile_playbook
from noetl_mcp.database import Error, NotReachable, is_lost
from noetl_mcp.playbook.load import load
from noetl_mcp.settings import Settings
from noetl_mcp.starting import Order
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.web.faults import KNOWN, Fault, fault_of, refused, told
from noetl_mcp.web.trying import ASK, DRY_RUN
from noetl_mcp.worker.placed import Parent, orders

MOST_TEXT = 16 * 2**20
"""Of the texts in the answer to a question, in bytes."""
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
    home = Home(Settings.load(os.environ), told_so["dsn"], embedded=told_so["embedded"])
    answer = done(home, told_so["what"], told_so["given"])
    with os.fdopen(answers, "wb") as file:
        file.write(b"%d\n" % answer.status_code + bytes(answer.body))


def done(home: Home, what: str, given: Mapping[str, Any]) -> Response:
    """Do one thing and return the answer; what was refused is an answer, too."""
    does: Mapping[str, Callable[[Home, Mapping[str, Any]], Any]] = {DRY_RUN: _try, ASK: _ask}
    try:
        return told(does[what](home, given))
    except Fault as fault:
        return refused(fault)
    except KNOWN as problem:
        return refused(fault_of(problem))
    except Error as problem:
        if not is_lost(problem):
            raise
        return refused(fault_of(NotReachable("the database went away")))


def _try(home: Home, given: Mapping[str, Any]) -> dict[str, Any]:
    """Try a playbook, as `run --dry-run --json` does."""
    order = Order(given["payload"], given["set"])
    content = _content(home, given)
    found = rehearsing.rehearse(home, content, order)
    warnings = rehearsing.warnings_of(home, content)
    return {**rehearsing.as_json(content, found), "warnings": warnings}


def _content(home: Home, given: Mapping[str, Any]) -> rehearsing.Content:
    if given["content"] is None:
        return rehearsing.kept_content(home, given["path"], given["version"])
    loaded = load(given["content"], "<content>")
    plan = compile_playbook(loaded, known_tasks())
    if plan is None:
        raise Broken(loaded)
    return rehearsing.content_of(plan)


def _ask(home: Home, given: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the log, as `ask --json` does."""
    from noetl_mcp.events.ask import Bounds, NotAnswered, copied, names_results
    from noetl_mcp.events.copied import EVERYTHING
    from noetl_mcp.events.memory import bounded_memory

    since = EVERYTHING if given["since"] is None else datetime.fromisoformat(given["since"])
    bounds = Bounds(rows=given["limit"], bytes=MOST_TEXT, seconds=given["seconds"])
    results = not given["is_named"] and names_results(given["sql"])
    with copied(home.dsn, since=since, results=results, bounds=bounds) as copy:
        try:
            with bounded_memory():
                answer = copy.ask(given["sql"])
                rows = answer.as_json()
        except NotAnswered as problem:
            raise Fault(422, "not-answered", str(problem)) from None
        return {
            "columns": list(answer.columns),
            "rows": rows,
            "is_cut": answer.is_cut,
            "events": copy.events,
            "seconds": {"reading": copy.seconds, "answering": answer.seconds},
        }


def _end_with(parent: Parent, folder: str) -> None:
    """End when the parent does; what was written for this is of no use to anybody else."""
    for _ in parent:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


__all__ = ["MOST_TEXT", "done", "main"]
