"""What is refused, as an answer: a status, a short word, a sentence. Loads nothing large."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response

if TYPE_CHECKING:
    from noetl_mcp.compiler.compile import Broken


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


def wrong_playbook(problem: "Broken") -> Fault:
    """Return the fault of a playbook that does not compile."""
    report = [one.as_json() for one in problem.report]
    return Fault(422, "wrong-playbook", str(problem), more={"diagnostics": report})


def of_entry(fault: Fault, number: int) -> Fault:
    """Return a fault that says in which entry of `executions` it is."""
    where = f"executions[{number}]: "
    more = {**fault.more, "entry": number}
    if "diagnostics" in more:
        more["diagnostics"] = [
            {
                **one,
                "path": ["executions", number, *one.get("path", ())],
                "message": f"{where}{one['message']}",
            }
            for one in more["diagnostics"]
        ]
    said = f"{where}{fault.message}"
    return Fault(fault.status, fault.code, said, allowed=fault.allowed, more=more)


def too_large() -> Fault:
    """Return the fault of what takes more memory than it may."""
    return Fault(422, "too-large", "it takes more memory than it may; give less, or ask for less")


def told(value: Any, status: int = 200, **headers: str) -> Response:
    """Return a value as JSON."""
    return Response(
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS),
        status,
        {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **headers},
        "application/json",
    )


def refused(fault: Fault) -> Response:
    """Return a fault as JSON."""
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.allowed is not None:
        error["allowed"] = list(fault.allowed)
    headers = {"WWW-Authenticate": "Bearer"} if fault.status == 401 else {}
    return told({"error": {**error, **fault.more}}, fault.status, **headers)


__all__ = ["Fault", "of_entry", "refused", "told", "too_large", "wrong_playbook"]
