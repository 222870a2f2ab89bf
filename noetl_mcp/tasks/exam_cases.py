"""The cases of the exam: what is tried, and how a call of it is made and carried out.

Judges nothing; a call is made as a worker would make it, and whatever comes out of it is caught.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import compile_text
from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks.calls import Call, HandedBack, Statement, Task
from noetl_mcp.tasks.contract import Settings
from noetl_mcp.tasks.sql_text import bind

Ends = Literal["done", "failed", "lost", "slow"]
DEADLINE = 30.0


class Examined(Protocol):
    """What the exam looks at of a spec; that of a task type and that of a save have it."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def settings(self) -> type[Model]: ...
    @property
    def writes(self) -> Callable[[Settings], bool]: ...
    @property
    def unknown_outcome(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Case:
    """One call, and how it ends.

    `done` gives an answer; `failed` is refused for certain; of a `lost` one the outside takes the
    request and never answers; a `slow` one takes longer than ten seconds. `writes` is what the spec
    says of the settings when it is None. `names` are what templates of SQL find.
    """

    what: str
    settings: Mapping[str, Any]
    input: Json = None
    ends: Ends = "done"
    writes: bool | None = None
    auth: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[str, object] = field(default_factory=dict)


def _as_it_is(answer: Json) -> Json:
    return answer


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task type with cases to try it by.

    `make` gives a fresh task. `sent` tells what the outside has received by writes; any value that
    changes with it will do. `secrets` stand somewhere in the settings, inputs and credentials.
    `steady` returns what of an answer is the same each time. `never_lost` says why no answer of a
    write can be lost, for a type that has no case for it.
    """

    spec: Examined
    make: Callable[[], Task]
    cases: Sequence[Case]
    sent: Callable[[], object] | None = None
    secrets: Sequence[str] = ()
    steady: Callable[[Json], Json] = _as_it_is
    never_lost: str = ""

    def that(self, *ends: Ends, writes: bool | None = None) -> Iterator[Case]:
        """Yield the cases that end in one of some ways."""
        for case in self.cases:
            if case.ends in ends and writes in (None, self.is_write(case)):
                yield case

    def is_write(self, case: Case) -> bool:
        """Whether a case writes."""
        return self.spec.writes(case.settings) if case.writes is None else case.writes


class Around:
    """The surroundings of an examined call: they count, keep, and may forbid to send."""

    def __init__(self, *, holds: bool = True) -> None:
        self.holds = holds
        self.asked = 0
        self.told: list[Json] = []

    def may_send(self) -> None:
        """Count; raise HandedBack when the lease is said to be gone."""
        self.asked += 1
        if not self.holds:
            raise HandedBack("the lease is gone")

    async def remember(self, note: Json) -> None:
        """Keep a note."""
        self.told.append(note)

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Keep a line."""
        self.told.append(text)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: with an answer, or with what it raised."""

    around: Around
    answer: Any = None
    problem: BaseException | None = None

    def __str__(self) -> str:
        if self.problem is None:
            return "it gave an answer"
        return f"it raised {type(self.problem).__name__}: {self.problem}"


@asynccontextmanager
async def opened(candidate: Candidate) -> AsyncIterator[Task]:
    task = candidate.make()
    try:
        yield task
    finally:
        await task.close()


async def once(
    candidate: Candidate, case: Case, around: Around | None = None, **more: Any
) -> Ended:
    """Carry a case out with a fresh task."""
    async with opened(candidate) as task:
        return await ended(candidate, task, case, around, **more)


async def ended(
    candidate: Candidate,
    task: Task,
    case: Case,
    around: Around | None = None,
    *,
    given: Call | None = None,
    timeout: float | None = DEADLINE / 2,
) -> Ended:
    """Carry a case out and return how it ended, whatever came out of it."""
    own = around or Around()
    call = given or call_of(candidate, case, own, timeout)
    doing: Awaitable[Json] = task.execute(call)
    try:
        return Ended(own, await doing)
    except asyncio.CancelledError:
        raise
    except BaseException as problem:  # noqa: BLE001 - what is examined may raise anything
        return Ended(own, problem=problem)


def call_of(
    candidate: Candidate, case: Case, around: Around, timeout: float | None = DEADLINE / 2
) -> Call:
    """Return the call of a case, as a worker would make it."""
    settings = candidate.spec.settings.model_validate(dict(case.settings))
    texts = getattr(settings, "sql", None) or ()
    return Call(
        task=candidate.spec.name,
        settings=settings,
        input=copy.deepcopy(case.input),
        around=around,
        auth=copy.deepcopy(dict(case.auth)),
        step="examined",
        writes=candidate.is_write(case),
        timeout=timeout,
        sql=[one for text in texts for one in _bound(text, case.names)],
    )


def _bound(text: str, names: Mapping[str, object]) -> tuple[Statement, ...]:
    return bind(text, lambda expression: compile_text(expression)(names))


def sent(candidate: Candidate) -> object:
    return copy.deepcopy(candidate.sent()) if candidate.sent is not None else None


__all__ = [
    "DEADLINE",
    "Around",
    "Candidate",
    "Case",
    "Ended",
    "Ends",
    "Examined",
    "call_of",
    "ended",
    "once",
    "opened",
    "sent",
]
