"""Turn what was refused into an answer: a status, a short word, a sentence. Hides no refusal."""

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.responses import Response

from noetl_mcp.broker import starts
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.catalog.access import WrongToken
from noetl_mcp.catalog.credentials import WrongCredential
from noetl_mcp.catalog.keys import BadKey
from noetl_mcp.compiler import payload
from noetl_mcp.compiler.compile import Broken
from noetl_mcp.database import DataError, Error, NotReachable
from noetl_mcp.errors import NotReadable
from noetl_mcp.queue.encode import NotJson
from noetl_mcp.starting import NoSuchPlaybook

KNOWN = (
    NotAllowed,
    Unknown,
    WrongToken,
    Broken,
    WrongCredential,
    BadKey,
    NotReachable,
    NotReadable,
    NotJson,
    NoSuchPlaybook,
    starts.WrongPayload,
    payload.WrongPayload,
)


class Fault(Exception):
    """A request that is not answered with what it asked for."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        allowed: Sequence[str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.allowed = allowed
        self.more = more or {}


def fault_of(problem: Exception) -> Fault:
    """Return the fault behind what the road refused."""
    match problem:
        case Unknown() | NoSuchPlaybook():
            return Fault(404, "not-found", str(problem))
        case NotAllowed():
            return Fault(409, "not-allowed", str(problem))
        case starts.WrongPayload() | payload.WrongPayload():
            found = [one.as_json() for one in problem.problems]
            return Fault(422, "wrong-payload", str(problem), more={"diagnostics": found})
        case Broken():
            report = [one.as_json() for one in problem.report]
            return Fault(422, "wrong-playbook", str(problem), more={"diagnostics": report})
        case NotReadable():
            return Fault(422, "not-readable", str(problem))
        case NotJson():
            return Fault(422, "not-kept", f"what was sent cannot be kept: {problem}")
        case WrongCredential():
            return Fault(422, "wrong-credential", str(problem))
        case WrongToken():
            return Fault(422, "wrong-token", str(problem))
        case BadKey():
            return Fault(500, "no-key", str(problem))
        case _:
            return Fault(503, "not-reachable", "the database cannot be reached; try again soon")


def fault_of_values(problem: Error) -> Fault | None:
    """Return the fault behind values that the database does not take; None where it is ours."""
    if not isinstance(problem, DataError) and (problem.sqlstate or "")[:2] != "54":
        return None
    said = problem.diag.message_primary or str(problem)
    return Fault(400, "wrong-value", f"the database does not take a value of this: {said[:300]}")


def told(value: Any, status: int = 200, **headers: str) -> Response:
    """Return a value as JSON."""
    return Response(
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS),
        status,
        {"Cache-Control": "no-store", **headers},
        "application/json",
    )


def refused(fault: Fault) -> Response:
    """Return a fault as JSON."""
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.allowed is not None:
        error["allowed"] = list(fault.allowed)
    headers = {"WWW-Authenticate": "Bearer"} if fault.status == 401 else {}
    return told({"error": {**error, **fault.more}}, fault.status, **headers)


__all__ = ["KNOWN", "Fault", "fault_of", "fault_of_values", "refused", "told"]
