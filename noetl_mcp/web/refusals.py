"""Turn what the road refuses into a fault. Hides no refusal."""

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
from noetl_mcp.starting import NoSuchPlaybook, WrongOrder
from noetl_mcp.web.faults import Fault, of_entry, wrong_playbook

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
    WrongOrder,
    starts.WrongPayload,
    payload.WrongPayload,
)


def fault_of(problem: Exception) -> Fault:
    """Return the fault behind what the road refused."""
    match problem:
        case WrongOrder():
            return of_entry(fault_of(problem.problem), problem.number)
        case Unknown() | NoSuchPlaybook():
            return Fault(404, "not-found", str(problem))
        case NotAllowed():
            return Fault(409, "not-allowed", str(problem))
        case starts.WrongPayload() | payload.WrongPayload():
            found = [one.as_json() for one in problem.problems]
            return Fault(422, "wrong-payload", str(problem), more={"diagnostics": found})
        case Broken():
            return wrong_playbook(problem)
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


__all__ = ["KNOWN", "fault_of", "fault_of_values"]
