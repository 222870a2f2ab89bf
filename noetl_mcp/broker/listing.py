"""List executions, the newest first, a page at a time. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.desk import Desk, word_of
from noetl_mcp.broker.forsaken import Forsaken, forsaken
from noetl_mcp.broker.show import about, fault, halted, moment
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Status

SQL = statements(__file__, "listing.sql")
PAGE = 50
MOST = 1_000
EACH = 10
"""So much of what somebody is to decide is told of one execution."""
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
    attention: bool = False
    """Only those in which somebody is to do something: about a doubt, an approval, an answer, or
    for want of a worker."""


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
        attention=wanted.attention,
        forsaken=[one.execution_id for one in forsaken(desk)] if wanted.attention else [],
        most=max(1, min(most, MOST)),
    )
    running = [row[0] for row in rows if row[3] == Status.RUNNING]
    asking, alone = _attention(desk, running), dict[int, list[Forsaken]]()
    for one in forsaken(desk, running) if running else ():
        alone.setdefault(one.execution_id, []).append(one)
    return [_told(desk, row, asking.get(row[0], []), alone.get(row[0], [])) for row in rows]


def wanted_now(desk: Desk) -> dict[str, int]:
    """Return how much of what somebody is to decide or to provide there is; only what there is."""
    found = {what: int(count) for what, count in desk.ask(SQL, "wanted")}
    alone = len(forsaken(desk))
    return {**found, "worker_gone": alone} if alone else found


def _attention(desk: Desk, ids: list[int]) -> dict[int, list[tuple[Any, ...]]]:
    """Return what somebody is to decide, by execution."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in desk.ask(SQL, "attention", ids=ids, each=EACH) if ids else ():
        found.setdefault(row[0], []).append(row[1:])
    return found


def _status(word: str | None) -> int | None:
    if word is None:
        return None
    return int(Status.RUNNING if word == "paused" else Status[word.upper()])


def _below(path: str) -> str:
    """Return a folder of paths as a pattern."""
    for sign in "\\%_":
        path = path.replace(sign, f"\\{sign}")
    return f"{path}%"


def _told(
    desk: Desk, row: tuple[Any, ...], asking: list[tuple[Any, ...]], alone: Sequence[Forsaken]
) -> dict[str, Any]:
    number, path, version, status, halt, round_number, parent, rerun_of, key, labels, error = row[
        :11
    ]
    return {
        "execution_id": str(number),
        "playbook": path,
        "version": version,
        "status": word_of(status, halt),
        "attention": [
            *(_wanted(desk, row[13], one) for one in asking),
            *(one.told(desk.program(row[13])) for one in alone[: EACH - len(asking)]),
        ],
        "attention_total": (asking[0][-1] if asking else 0) + len(alone),
        "halted": halted(halt, row[14], row[15]),
        "error": fault(desk, row[13], error),
        "round": round_number,
        "parent": None if parent is None else str(parent),
        "rerun_of": None if rerun_of is None else str(rerun_of),
        "key": key,
        "labels": decode(labels) if labels else {},
        "started": moment(row[11]),
        "ended": moment(row[12]),
    }


def _wanted(desk: Desk, plan: int, row: tuple[Any, ...]) -> dict[str, Any]:
    """Return one thing that somebody is to decide, as `show` tells it."""
    idx, item, state, lease, note, error, _ = row
    return about(desk.program(plan), idx, item, state, lease, note, error)


__all__ = ["EACH", "MOST", "PAGE", "WORDS", "Filter", "executions", "wanted_now"]
