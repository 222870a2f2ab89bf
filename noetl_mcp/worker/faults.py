"""Name the failure behind whatever a step ran into. Settles nothing."""

from noetl_mcp.broker.asked import SecretLeft
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.queue.encode import NotJson
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.gates import Refused
from noetl_mcp.worker.settle import Fault


def fault_of(problem: BaseException) -> Fault:
    """Return the failure behind a problem."""
    if isinstance(problem, Refused):
        problem = problem.as_failed()
    if isinstance(problem, Failed):
        return Fault(
            problem.code,
            problem.message,
            problem.retriable,
            problem.retry_after,
            problem.details,
        )
    if isinstance(problem, RenderError):
        return Fault(problem.code, str(problem), retriable=False)
    known: dict[type, str] = {NotJson: "not-json", SecretLeft: "secret"}
    return Fault(known.get(type(problem), "error"), str(problem), retriable=False)


__all__ = ["fault_of"]
