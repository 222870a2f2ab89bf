"""Record the calls of tasks onto a cassette while they are made. Changes no answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.queue.encode import NotJson, encode
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, Task, UnknownOutcome
from noetl_mcp.worker.cassette import Entry, Spot, Writer
from noetl_mcp.worker.cassette_asked import Spots, around_of, asked_of, is_computed_here, shown
from noetl_mcp.worker.masks import Mask


@dataclass(eq=False)
class Recorder:
    """Finds tasks as a bench does; each of them is listened to."""

    tasks: Callable[[str], Task | None]
    writer: Writer
    spots: Spots
    secrets: Mapping[str, str] = field(repr=False)
    """The secrets of this installation, by name."""
    used: set[str] = field(default_factory=set)
    """The names of those that calls were given."""
    calls: Counter[Spot] = field(default_factory=Counter)

    def task(self, name: str) -> Task | None:
        """Return the task of a type."""
        task = self.tasks(name)
        return None if task is None else Recorded(task, self)

    def note_secrets(self, given: Iterable[str]) -> None:
        """Note by their names which secrets a call was given."""
        known = set(given)
        self.used.update(name for name, text in self.secrets.items() if text in known)


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A task that is listened to."""

    task: Task
    recorder: Recorder

    async def execute(self, call: Call) -> Json:
        """Make the call and record what came of it."""
        around = around_of(call)
        self.recorder.note_secrets(around.mask.secrets)
        if is_computed_here(call):
            return await self.task.execute(call)
        spot = await self.recorder.spots.of(around)
        with _Heard(self.recorder, spot, call, around.mask) as heard:
            answer = await self.task.execute(call)
            heard.answered(answer)
        return answer

    async def close(self) -> None:
        """The task belongs to whoever made it."""


class _Heard:
    """Listens to one call; whatever ends it is written down."""

    def __init__(self, recorder: Recorder, spot: Spot, call: Call, mask: Mask) -> None:
        recorder.calls[spot] += 1
        self.recorder, self.spot, self.call, self.mask = recorder, spot, call, mask
        self.number = recorder.calls[spot]
        self.attempt = around_of(call).work.lease.attempt
        self.asked = asked_of(call)
        self.came: dict[str, Any] = {}
        self.began = time.monotonic()

    def __enter__(self) -> "_Heard":
        return self

    def answered(self, answer: Any) -> None:
        """Keep an answer; one that the step could not keep fails it, and so it does here."""
        masked = self.mask.value(answer)
        try:
            encode(masked)
            self.came = {"result": masked}
        except NotJson as problem:
            told = {"code": "not-json", "message": str(problem), "retriable": False}
            self.came = {"failed": told}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(problem, HandedBack):
            self.recorder.calls[self.spot] -= 1  # nothing was sent
            return
        elapsed = time.monotonic() - self.began
        came = self.came
        if problem is not None:
            ((how, told),) = _told(problem, self.call, elapsed).items()
            came = {how: {key: shown(self.mask, one) for key, one in told.items()}}
        call = self.call
        self.recorder.writer.add(
            Entry(
                self.spot,
                self.number,
                self.attempt,
                call.task,
                call.writes,
                self.asked,
                came,
                round(elapsed, 3),
            )
        )


def _told(problem: BaseException, call: Call, elapsed: float) -> dict[str, Any]:
    """Return what became of a call that gave no answer."""
    if isinstance(problem, Failed):
        told = {"code": problem.code, "message": problem.message, "retriable": problem.retriable}
        more = {"retry_after": problem.retry_after, "details": problem.details}
        return {"failed": {**told, **{key: one for key, one in more.items() if one is not None}}}
    if isinstance(problem, UnknownOutcome):
        told = {"code": problem.code, "message": problem.message}
        more = {} if problem.evidence is None else {"evidence": problem.evidence}
        return {"unknown": {**told, **more}}
    if isinstance(problem, asyncio.CancelledError):
        is_late = call.timeout is not None and elapsed >= call.timeout
        return {"stopped": {"why": "timeout" if is_late else "stopped"}}
    return {"unknown": {"code": "crash", "message": f"{type(problem).__name__}: {problem}"}}


__all__ = ["Recorded", "Recorder"]
