"""Show jobs and the server itself as real servers do. Pure but for the process's number."""

import os
import traceback
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from noetl_mcp import __version__
from noetl_mcp.bim.revit.headless.about import PRODUCT
from noetl_mcp.bim.revit.methods import METHODS
from noetl_mcp.lettering.fitted import printable
from noetl_mcp.web.headless.calls import Call, answer_to
from noetl_mcp.web.headless.jobs import Job, Jobs


class Server(NamedTuple):
    """Which document is open, where it is answered for, and since when."""

    document: str
    port: int
    started: datetime


def row(job: Job) -> dict[str, Any]:
    """Return everything of a job."""
    call, outcome = job.order.call, job.outcome
    result = None if outcome is None else answer_to(call, outcome.payload).decode()
    return {**line(job), "params_json": call.params.decode(), "result_json": result}


def trace(problem: BaseException) -> str:
    """Return where something went wrong, for a terminal: a model's words may hold anything."""
    lines = "".join(traceback.format_exception(problem)).splitlines()
    return "".join(f"{one if one.isprintable() else printable(one)}\n" for one in lines)


def line(job: Job) -> dict[str, Any]:
    """Return a job as it is listed: without what may be long."""
    order, outcome = job.order, job.outcome
    return {
        "job_id": job.id,
        "method": order.call.method,
        "rpc_id": order.call.id,
        "idempotency_key": order.key,
        "priority": order.priority,
        "state": job.state,
        "enqueue_ts": said(job.enqueued),
        "start_ts": said(job.started),
        "finish_ts": said(job.finished),
        "timeout_sec": order.timeout,
        "attempts": 0 if job.started is None else 1,
        "error_code": None if outcome is None else outcome.code,
        "error_msg": None if outcome is None else outcome.says,
    }


def said(time: datetime | None) -> str | None:
    """Return a time as real servers write it."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def asks_status(call: Call) -> bool:
    """Whether a call is answered at once, whatever the model does."""
    return METHODS.name(call.method) == "status"


def health(server: Server) -> dict[str, Any]:
    """Return who answers here."""
    return {
        "ok": True,
        "name": PRODUCT,
        "version": __version__,
        "document": server.document,
        "serverPid": os.getpid(),
        "serverPort": server.port,
        "startedAtUtc": said(server.started),
    }


def status(server: Server, jobs: Jobs, now: datetime) -> bytes:
    """Return the payload of `revit.status`."""
    counts = jobs.counts()
    queue = {
        "queuedCount": counts["ENQUEUED"],
        "runningCount": counts["RUNNING"],
        "countsByState": counts,
    }
    found = {
        **health(server),
        "code": "OK",
        "msg": "ready",
        "nowUtc": said(now),
        "uptimeSec": max(0, int((now - server.started).total_seconds())),
        "queue": queue,
        "activeJob": None if jobs.running is None else line(jobs.running),
    }
    return orjson.dumps(found)


__all__ = ["Server", "asks_status", "health", "line", "row", "said", "status", "trace"]
