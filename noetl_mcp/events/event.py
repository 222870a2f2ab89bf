"""One thing that happened, as it is told to people and programs. Reads no database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

WIDTH = 2_097_152
"""The items of an iterator are numbered on; those inside item i begin at i times this."""


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the log, with names in the place of numbers.

    `id` is the order of things; `ts` is for people, since clocks step back. `item` is written `3`,
    or `3.7` inside another iterator. `worker` is None for what a person or the database did.
    """

    id: int
    ts: datetime
    kind: str
    execution_id: int
    step: str | None = None
    item: str | None = None
    attempt: int | None = None
    worker: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    idx: int | None = None
    """The number of the step in its plan."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON; ids of executions are texts, as everywhere."""
        return {
            "id": self.id,
            "ts": moment(self.ts),
            "kind": self.kind,
            "execution_id": str(self.execution_id),
            "step": self.step,
            "item": self.item,
            "attempt": self.attempt,
            "worker": self.worker,
            "data": dict(self.data),
        }

    @property
    def where(self) -> str:
        """The step it is about, with its item; empty when it is about the whole execution."""
        if self.step is None:
            return ""
        return self.step if self.item is None else f"{self.step}[{self.item}]"


def event_of(row: tuple[Any, ...]) -> Event:
    """Return the event of a row of `log.sql`."""
    number, ts, kind, execution_id, idx, step, item, attempt, worker, *times, text = row
    ready_at, leased_at = times
    data: dict[str, Any] = {}
    if ready_at is not None:
        data["ready_at"] = moment(ready_at)
    if leased_at is not None:
        data["leased_at"] = moment(leased_at)
    if text is not None:
        data |= _told(text)
    name = item_name(item or 0)
    return Event(number, ts, kind, execution_id, step, name, attempt, worker, data, idx)


def _told(text: str) -> dict[str, Any]:
    """Read what an event tells; a text that cannot be read hides no other event."""
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"text": text}
    return told if isinstance(told, dict) else {"value": told}


def moment(ts: datetime) -> str:
    """Write a time so that texts sort as times do: always microseconds, always the same zone."""
    return ts.isoformat(timespec="microseconds")


def item_name(number: int) -> str | None:
    """Return how an item is written; None for a step that is in no iterator."""
    parts: list[str] = []
    while number:
        parts.append(str(number % WIDTH - 1))
        number //= WIDTH
    return ".".join(reversed(parts)) or None


def item_number(name: str | None) -> int:
    """Return the number of an item that is written so; raise ValueError when none is."""
    number = 0
    for part in name.split(".") if name else ():
        index = int(part)
        if not 0 <= index < WIDTH - 1:
            raise ValueError(part)
        number = number * WIDTH + index + 1
    return number


__all__ = ["WIDTH", "Event", "event_of", "item_name", "item_number", "moment"]
