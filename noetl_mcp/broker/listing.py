"""List executions, the newest first, a page at a time. Changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.desk import Desk, word_of
from noetl_mcp.broker.show import fault, moment
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Status

SQL = statements(__file__, "listing.sql")
PAGE = 50
MOST = 1_000
WORDS = ("running", "paused", "completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which executions are wanted; what is not said lets all through."""

    status: str | None = None
    path: str | None = None
    """A playbook's path, or with a slash at its end a folder of paths."""
    labels: Mapping[str, str] = field(default_factory=dict)
    parent: int | None = None
    roots: bool = False
    """Leave out those that other executions started."""


def executions(
    desk: Desk, wanted: Filter | None = None, *, before: int | None = None, most: int = PAGE
) -> list[dict[str, Any]]:
    """Return a page of executions; `before` is the number of the last one of the former page."""
    wanted = wanted or Filter()
    path = wanted.path
    is_folder = path is not None and path.endswith("/")
    rows = desk.ask(
        SQL,
        "executions",
        before=before,
        status=_status(wanted.status),
        paused={"paused": True, "running": False}.get(wanted.status or ""),
        path=path,
        below=_below(path) if is_folder and path is not None else None,
        label=encode(dict(wanted.labels)) if wanted.labels else None,
        parent=wanted.parent,
        roots=wanted.roots,
        most=max(1, min(most, MOST)),
    )
    return [_told(desk, row) for row in rows]


def _status(word: str | None) -> int | None:
    if word is None:
        return None
    return int(Status.RUNNING if word == "paused" else Status[word.upper()])


def _below(path: str) -> str:
    """Return a folder of paths as a pattern."""
    for sign in "\\%_":
        path = path.replace(sign, f"\\{sign}")
    return f"{path}%"


def _told(desk: Desk, row: tuple[Any, ...]) -> dict[str, Any]:
    number, path, version, status, halt, round_number, parent, rerun_of, key, labels, error = row[
        :11
    ]
    return {
        "execution_id": str(number),
        "playbook": path,
        "version": version,
        "status": word_of(status, halt),
        "error": fault(desk, row[13], error),
        "round": round_number,
        "parent": None if parent is None else str(parent),
        "rerun_of": None if rerun_of is None else str(rerun_of),
        "key": key,
        "labels": decode(labels) if labels else {},
        "started": moment(row[11]),
        "ended": moment(row[12]),
    }


__all__ = ["MOST", "PAGE", "WORDS", "Filter", "executions"]
