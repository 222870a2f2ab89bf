"""What a task is given and how it may answer. Calls nobody itself.

A task returns plain JSON, or raises one of the three answers below. It gets everything rendered,
keeps no state of one call for the next, knows no queue and never tries again by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from noetl_mcp.playbook.node import Json


class Failed(Exception):
    """It did not work, and that is certain: nothing is left half sent.

    `code` is a short word with hyphens. `retriable` says whether another attempt may help;
    `retry_after` the seconds the other side asked for; `details` what a person may want to see.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retriable: bool = True,
        retry_after: float | None = None,
        details: Json = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retriable = retriable
        self.retry_after = retry_after
        self.details = details


class UnknownOutcome(Exception):
    """A request went out and nobody knows what came of it: a timeout, a lost connection, a 502.

    A reading step is done again; a writing one is in doubt, and `evidence` says what is known.
    """

    def __init__(self, code: str, message: str, *, evidence: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.evidence = evidence


class HandedBack(Exception):
    """The lease may be gone, so nothing was sent; somebody else is to do it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement with `%s` places and the values that are bound to them.

    A percent sign of the text itself is doubled when there are values, and only then.
    """

    text: str
    values: tuple[Any, ...] = ()


class Surroundings(Protocol):
    """What a task may do beside its work."""

    def may_send(self) -> None:
        """Raise `HandedBack` when the lease may be gone; called right before a write is sent."""

    async def remember(self, note: Json) -> None:
        """Keep a note (a remote job's id) that outlives this process; durable on return."""

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Write a line into the execution's log."""


@dataclass(slots=True)
class Call:
    """One attempt of one step, rendered.

    `settings` is the task's settings model with secrets in plain text, so it is never shown.
    `auth` holds credentials by alias, the only one under the empty name. `key` is the idempotency
    key: the same for every automatic attempt. `sql` holds the bound statements where a task has
    some. `remembered` is the note of a former life of this attempt. `heard` is given the pieces of
    an answer as they come, by a task that can.
    """

    task: str
    settings: Any
    input: Any
    around: Surroundings
    auth: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    execution_id: int = 0
    step: str = ""
    item: str | None = None
    attempt: int = 1
    key: str = ""
    writes: bool = False
    idempotent: bool = False
    timeout: float | None = None
    sql: Sequence[Statement] = ()
    remembered: Json = None
    heard: Callable[[bytes], None] | None = None


class Task(Protocol):
    """A task type at work. One instance serves a process; calls run side by side."""

    async def execute(self, call: Call) -> Json:
        """Do it once and return plain JSON; raise Failed, UnknownOutcome or HandedBack."""

    async def close(self) -> None:
        """Let go of connections and children."""


__all__ = [
    "Call",
    "Failed",
    "HandedBack",
    "Statement",
    "Surroundings",
    "Task",
    "UnknownOutcome",
]
