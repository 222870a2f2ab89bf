"""How a person's "it failed" reaches the worker that settles the step: in the place of an answer.

So the body does not run again, and the step's own ways after a failure are taken.
"""

from collections.abc import Mapping
from typing import Any

_MARK = "$aborted"


def verdict(code: str, message: str) -> dict[str, Any]:
    """Return what stands in the place of an answer."""
    return {_MARK: {"code": code, "message": message}}


def verdict_in(answer: Any) -> Mapping[str, str] | None:
    """Return the code and the message of a verdict; None for any other answer."""
    if not isinstance(answer, dict) or set(answer) != {_MARK}:
        return None
    said = answer[_MARK]
    is_verdict = isinstance(said, dict) and set(said) == {"code", "message"}
    return said if is_verdict else None


__all__ = ["verdict", "verdict_in"]
