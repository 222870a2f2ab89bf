"""Turn what an errand comes to into an answer: what it found, or why it was refused."""

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from noetl_mcp.database import Error, NotReachable, is_lost
from noetl_mcp.web.faults import Fault, refused, told
from noetl_mcp.web.refusals import KNOWN, fault_of


def answer_of(errand: Callable[[], Any]) -> Response:
    """Do what is asked and return the answer; what was refused is an answer, too."""
    try:
        return told(errand())
    except Fault as fault:
        return refused(fault)
    except KNOWN as problem:
        return refused(fault_of(problem))
    except Error as problem:
        if not is_lost(problem):
            raise
        return refused(fault_of(NotReachable("the database went away")))


__all__ = ["answer_of"]
