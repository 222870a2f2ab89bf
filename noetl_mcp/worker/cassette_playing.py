"""Answer the calls of tasks from a cassette, and tell where they are not those of the recording.

Nothing is sent. The playbook's own program runs: Python that does not say that it writes.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, Task, UnknownOutcome
from noetl_mcp.worker.cassette import Entry, Spot, Tape
from noetl_mcp.worker.cassette_asked import (
    COMPUTES,
    Difference,
    Spots,
    around_of,
    asked_of,
    differences,
    is_computed_here,
)

STOPS = 5.0
"""A call that was stopped in the recording is given so many seconds to be stopped again."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Something that is not as it was recorded."""

    what: str
    """`request-differs`, `not-recorded` or `not-made`."""
    spot: Spot
    call: int
    task: str
    fields: tuple[Difference, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed."""
        spot: dict[str, Any] = {"what": self.what, **self.spot.as_json()}
        fields = {"fields": [one.as_json() for one in self.fields]} if self.fields else {}
        return {**spot, "call": self.call, "task": self.task, **fields}


@dataclass(eq=False)
class Player:
    """Finds tasks as a bench does; what they are asked is answered from a cassette."""

    tasks: Callable[[str], Task | None]
    tape: Tape
    spots: Spots
    drift: list[Drift] = field(default_factory=list)
    calls: Counter[Spot] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._left = {(one.spot, one.call): one for one in self.tape.entries}

    def task(self, name: str) -> Task | None:
        """Return the task of a type; None when this worker knows none."""
        task = self.tasks(name)
        return None if task is None else Played(task if name in COMPUTES else None, self)

    async def came(self, call: Call) -> Json:
        """Return or raise what came of a call in the recording."""
        spot = await self.spots.of(around_of(call))
        self.calls[spot] += 1
        number = self.calls[spot]
        entry = self._left.pop((spot, number), None)
        if entry is None:
            self.drift.append(Drift("not-recorded", spot, number, call.task))
            message = f"the cassette has no call {number} of '{spot}', so it is not answered"
            raise Failed("not-recorded", message, retriable=False)
        self._compare(entry, call)
        return await _given(entry, call)

    def _compare(self, entry: Entry, call: Call) -> None:
        now = {"task": call.task, **asked_of(call)}
        asked = entry.asked if isinstance(entry.asked, dict) else {"settings": entry.asked}
        recorded = {"task": entry.task, **asked}
        found = differences(entry.spot.step, recorded, now, self.tape.ignored)
        if found:
            told = Drift("request-differs", entry.spot, entry.call, call.task, tuple(found))
            self.drift.append(told)

    def ended(self) -> list[Drift]:
        """Return all that is not as it was recorded, when no more calls will come."""
        return [*self.drift, *_not_made(self._left.values())]


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A task whose calls are answered from a cassette."""

    task: Task | None
    """What runs all the same: the playbook's own program."""
    player: Player

    async def execute(self, call: Call) -> Json:
        """Give what came of it in the recording."""
        if self.task is not None and is_computed_here(call):
            return await self.task.execute(call)
        return await self.player.came(call)

    async def close(self) -> None:
        """The task belongs to whoever made it."""


async def _given(entry: Entry, call: Call) -> Json:
    came = entry.came
    if "failed" in came:
        told = came["failed"]
        raise Failed(
            str(told.get("code", "error")),
            str(told.get("message", "")),
            retriable=told.get("retriable") is not False,
            details=told.get("details"),
        )
    if "unknown" in came:
        told = came["unknown"]
        message = str(told.get("message", ""))
        raise UnknownOutcome(
            str(told.get("code", "unknown")), message, evidence=told.get("evidence")
        )
    if "stopped" in came:
        return await _stopped(came["stopped"], call)
    result: Json = came.get("result")
    return result


async def _stopped(told: Any, call: Call) -> Json:
    """End as a call did that was stopped: at its time, or because of what happened elsewhere."""
    if isinstance(told, dict) and told.get("why") == "timeout":
        message = "no answer in time"
        if call.timeout is not None:
            message = f"no answer within {call.timeout:g} s"
        if call.writes:
            raise UnknownOutcome("timeout", message)
        raise Failed("timeout", message)
    await asyncio.sleep(STOPS)
    raise Failed("stopped", "it was stopped in the recording", retriable=False)


def _not_made(entries: Iterable[Entry]) -> list[Drift]:
    return [
        Drift("not-made", one.spot, one.call, one.task)
        for one in entries
        if "stopped" not in one.came
    ]


__all__ = ["STOPS", "Drift", "Played", "Player"]
