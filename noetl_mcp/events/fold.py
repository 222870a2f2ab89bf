"""Say from the log alone how an execution and its steps stand. Pure: no clock, no database.

A step counts from the moment it was leased or decided; what only waits for others is not in the
log. Whoever compares this with the tables finds out whether the log tells everything.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from noetl_mcp.events.event import Event, item_name, item_number

Key = tuple[int, str | None]
"""The number of a step in its plan, and the item it is done for."""
SETTLED = frozenset({"done", "failed", "skipped", "cancelled", "dead"})
_NUMBERED = {1: "ready", 4: "failed"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A large value that is stored apart, by its digest."""

    digest: str


@dataclass(frozen=True, slots=True)
class Step:
    """How a step stands; texts that other events gave are read as JSON, large ones are `Kept`."""

    name: str | None
    state: str
    attempt: int = 0
    result: Any = None
    error: Mapping[str, Any] | None = None
    note: Any = None
    answer: Any = None
    worker: int | None = None
    ready_at: str | None = None
    leased_at: str | None = None
    ended_at: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in SETTLED


@dataclass(frozen=True, slots=True)
class Folded:
    """An execution as its events tell it."""

    status: str = "unknown"
    round: int = 0
    path: str | None = None
    version: int | None = None
    result: Any = None
    error: Mapping[str, Any] | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    steps: Mapping[Key, Step] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the last round has had its terminal event."""
        return self.status in ("completed", "failed", "cancelled")


def fold(events: Iterable[Event]) -> Folded:
    """Return how an execution stands after these events, which come in their order."""
    whole, steps = Folded(), dict[Key, Step]()
    for event in events:
        if event.kind.startswith("execution_"):
            whole = _EXECUTION[event.kind](whole, event)
            if event.kind == "execution_retried":
                _take_back(steps, event)
        elif event.idx is not None:
            key = (event.idx, event.item)
            after = step_after(steps.get(key), event)
            if after is not None:
                steps[key] = after
    return replace(whole, steps=MappingProxyType(steps))


def step_after(step: Step | None, event: Event) -> Step | None:
    """Return how a step stands after an event about it; None when it says nothing about that."""
    known = step or Step(event.step, "waiting")
    if event.kind in ("step_started", "step_resumed"):
        return replace(
            known,
            state="leased",
            attempt=event.attempt or 0,
            worker=event.worker,
            ready_at=event.data.get("ready_at"),
            leased_at=event.data.get("leased_at"),
            ended_at=None,
        )
    if event.kind == "step_resolved":
        return _resolved(known, event)
    if event.kind == "loop_iteration":
        # Without an attempt it tells of an item of an iterator that is over, not of the iterator.
        if event.attempt is None:
            return step
        return _said(known, event, "retrying" if "delay" in event.data else "ready")
    state = _STATES.get(event.kind)
    if state is None:
        return step
    if event.kind == "lease_lost" and (not event.data or "lost" in event.data):
        # Taken back, by a person or from a lost worker: what it had given until then stays.
        return replace(known, state=state, attempt=event.attempt or 0, error=None)
    if event.kind in ("step_in_doubt", "step_dead") and known.state == "ready":
        # Taken back from a lost worker just before: what it had given until then stays.
        ended = event.ts if state in SETTLED else None
        return replace(known, state=state, error=event.data.get("error"), ended_at=ended)
    if event.kind == "step_cancelled" and event.worker is None:
        # The end of an execution sweeps up what it finds, and leaves everything else as it is.
        return replace(known, state=state, ended_at=event.ts)
    return _said(known, event, state)


_STATES = {
    "action_retry": "retrying",
    "step_completed": "done",
    "step_failed": "failed",
    "step_skipped": "skipped",
    "step_cancelled": "cancelled",
    "step_parked": "parked",
    "step_in_doubt": "in_doubt",
    "step_dead": "dead",
    "lease_lost": "ready",
}


def _said(known: Step, event: Event, state: str) -> Step:
    """Return a step of which everything is said anew."""
    data = event.data
    return replace(
        known,
        name=event.step or known.name,
        state=state,
        attempt=known.attempt if event.attempt is None else event.attempt,
        result=_value(data, "result"),
        error=data.get("error"),
        note=_value(data, "note"),
        answer=_value(data, "answer"),
        ended_at=event.ts if state in SETTLED else None,
    )


def _resolved(known: Step, event: Event) -> Step:
    """Return a step whose doubt a person has settled; what it had given until then stays."""
    state = _NUMBERED[event.data["state"]]
    ended = event.ts if state in SETTLED else None
    answer, error = _value(event.data, "answer"), event.data.get("error")
    attempt = known.attempt if event.attempt is None else event.attempt
    return replace(known, state=state, attempt=attempt, answer=answer, error=error, ended_at=ended)


def _value(data: Mapping[str, Any], name: str) -> Any:
    kept = data.get(f"{name}_ref")
    return data.get(name) if kept is None else Kept(kept)


def _take_back(steps: dict[Key, Step], event: Event) -> None:
    """Put back what a further round begins with, and forget what it undoes."""
    data = event.data
    for idx, first, last in data.get("gone", ()):
        for key in [key for key in steps if key[0] == idx]:
            if first <= item_number(key[1]) <= last:
                del steps[key]
    for state in ("ready", "parked", "waiting"):
        for idx, item, *_ in data.get(state, ()):
            key = (idx, item_name(item))
            before = steps.get(key) or Step(None, state)
            kept = before.attempt if before.state == "cancelled" and state != "waiting" else 0
            steps[key] = Step(before.name, state, kept)
    for idx, item, attempts in data.get("judged", ()):
        key = (idx, item_name(item))
        steps[key] = replace(steps[key], attempt=attempts)


# Executions


def _started(whole: Folded, event: Event) -> Folded:
    return replace(
        whole,
        status="running",
        round=1,
        path=event.data.get("path"),
        version=event.data.get("version"),
        started_at=event.ts,
    )


def _ended(status: str) -> Callable[[Folded, Event], Folded]:
    def ended(whole: Folded, event: Event) -> Folded:
        return replace(
            whole,
            status=status,
            result=_value(event.data, "result"),
            error=event.data.get("error"),
            ended_at=event.ts,
        )

    return ended


def _is(status: str) -> Callable[[Folded, Event], Folded]:
    return lambda whole, event: replace(whole, status=status)


def _retried(whole: Folded, event: Event) -> Folded:
    number = event.data.get("round", whole.round + 1)
    return replace(whole, status="running", round=number, result=None, error=None, ended_at=None)


_EXECUTION: Mapping[str, Callable[[Folded, Event], Folded]] = {
    "execution_started": _started,
    "execution_completed": _ended("completed"),
    "execution_failed": _ended("failed"),
    "execution_cancelled": _ended("cancelled"),
    "execution_paused": _is("paused"),
    "execution_resumed": _is("running"),
    "execution_retried": _retried,
}

__all__ = ["SETTLED", "Folded", "Kept", "Key", "Step", "fold", "step_after"]
