"""Try a playbook or ask the log for one client of the web, in a process that does nothing else."""

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from starlette.responses import Response

from noetl_mcp import rehearsing
from noetl_mcp.assembly import Home
from noetl_mcp.compiler.compile import plan_of
from noetl_mcp.playbook.load import load
from noetl_mcp.settings import Settings
from noetl_mcp.starting import Order
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.web.answering import answer_of
from noetl_mcp.web.faults import Fault
from noetl_mcp.web.trying import ASKED, TRIED

MOST_TEXT = 16 * 2**20
"""Of the texts in the answer to a question, in bytes."""


def done(orders: Mapping[str, Any]) -> Response:
    """Do what is asked and return the answer."""
    home = Home(Settings.load(os.environ), orders["dsn"], embedded=orders["embedded"])
    does: Mapping[str, Callable[[Home, Mapping[str, Any]], Any]] = {
        TRIED.name: _try,
        ASKED.name: _ask,
    }
    return answer_of(lambda: does[orders["what"]](home, orders["given"]))


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
    plan = plan_of(load(given["content"], "<content>"), known_tasks())
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


__all__ = ["MOST_TEXT", "done"]
