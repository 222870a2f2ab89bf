"""Bodies that wait without holding a worker: a while, a time, an event, a person, an answer.

Each parks with a note of what it waits for. What wakes it is a hint: it looks, and parks again.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from noetl_mcp.broker.records import Key
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import State, Told
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.specs_flow import ApproveSettings, CallbackSettings, WaitSettings
from noetl_mcp.worker.calling import kept_settings
from noetl_mcp.worker.iterator import Answered
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Kind, Settler, Work

LONGEST = timedelta(days=3650).total_seconds()


class Signals(Protocol):
    """What a waiting step reads of the database."""

    async def signal(self, key: Key) -> tuple[str | None, str | None] | None: ...
    def token(self, key: Key, round_number: int) -> str: ...


class Waits:
    """Does steps of the types `wait`, `approve` and `callback`."""

    def __init__(self, settler: Settler, signals: Signals, answered: Answered) -> None:
        self.settler = settler
        self.signals = signals
        self.answered = answered

    async def wait(self, work: Work, rendered: Rendered) -> None:
        """Wait for a while, a time or an event."""
        note = decode(work.lease.note) if work.lease.note else None
        if note is None:
            note = self._begin_wait(rendered)
        if "event" in note:
            await self._listen(work, rendered, note, f"event:{note['event']}")
            return
        left = _left(note["until"])
        if left <= 0:
            await self.answered(work, {"waited": True, "until": note["until"]}, rendered.payload)
            return
        self.settler.again(
            work, State.PARKED, Kind.PARKED, delay=min(left, LONGEST), note=encode(note)
        )

    async def approve(self, work: Work, rendered: Rendered) -> None:
        """Wait for a person to say yes or no."""
        note = decode(work.lease.note) if work.lease.note else None
        if note is None:
            said = kept_settings(ApproveSettings, rendered).approve
            note = {
                "approve": {"who": list(said.who), "message": said.message},
                "on_timeout": said.on_timeout,
                "until": _until(said.timeout),
            }
            lease = work.lease
            told = encode(note["approve"])
            self.settler.engine.outbox.tell(
                Told(Kind.APPROVAL_REQUESTED, *lease.key, lease.attempt, told)
            )
        await self._listen(work, rendered, note, None)

    async def callback(self, work: Work, rendered: Rendered) -> None:
        """Wait for an answer that somebody posts to this step's address."""
        note = decode(work.lease.note) if work.lease.note else None
        if note is None:
            said = kept_settings(CallbackSettings, rendered)
            note = {
                "callback": {"message": said.message, "schema": said.answer_schema},
                "on_timeout": said.on_timeout,
                "until": _until(said.expires),
            }
        await self._listen(work, rendered, note, None)

    def _begin_wait(self, rendered: Rendered) -> dict[str, Any]:
        said = kept_settings(WaitSettings, rendered).wait
        if said.event is not None:
            return {
                "event": said.event,
                "on_timeout": said.on_timeout,
                "until": _until(said.timeout),
            }
        if said.until is not None:
            return {"until": datetime.fromisoformat(said.until).astimezone(UTC).isoformat()}
        return {"until": _until(said.for_)}

    async def _listen(
        self, work: Work, rendered: Rendered, note: dict[str, Any], event: str | None
    ) -> None:
        """Settle with what arrived; else park, with a timer when the wait is bounded."""
        found = await self.signals.signal(work.lease.key) if work.lease.before == 9 else None
        if found is not None and found[0] is not None:
            await self._arrived(work, rendered, note, decode(found[0]), found[1])
            return
        left = None if note["until"] is None else _left(note["until"])
        if left is not None and left <= 0:
            await self._timed_out(work, rendered, note)
            return
        delay = None if left is None else min(left, LONGEST)
        token = event or self.signals.token(work.lease.key, work.run.context.round)
        self.settler.awaits(work, encode(note), delay=delay, token=token)

    async def _arrived(
        self, work: Work, rendered: Rendered, note: Mapping[str, Any], said: Any, by: str | None
    ) -> None:
        if "approve" in note:
            if not isinstance(said, dict) or not isinstance(said.get("approved"), bool):
                wrong = "its answer does not say whether it is approved"
                raise Failed("rejected", wrong, retriable=False)
            self._tell_given(work, said, by)
            if not said["approved"]:
                why = f": {said['comment']}" if said.get("comment") else ""
                who = f" by {by}" if by else ""
                raise Failed("rejected", f"it was rejected{who}{why}", retriable=False)
            said = {"approved": True, "by": by, "comment": said.get("comment")}
        await self.answered(work, said, rendered.payload)

    def _tell_given(self, work: Work, said: Any, by: str | None) -> None:
        lease = work.lease
        told = encode({**said, "by": by})
        self.settler.engine.outbox.tell(Told(Kind.APPROVAL_GIVEN, *lease.key, lease.attempt, told))

    async def _timed_out(self, work: Work, rendered: Rendered, note: Mapping[str, Any]) -> None:
        """Do what the step says about silence."""
        if note["on_timeout"] == "approve":
            answer = {"approved": True, "by": None, "comment": "nobody answered in time"}
            await self.answered(work, answer, rendered.payload)
            return
        if note["on_timeout"] == "continue":
            await self.answered(work, {"timed_out": True}, rendered.payload)
            return
        if "approve" in note:
            raise Failed("rejected", "nobody answered in time", retriable=False)
        raise Failed("timeout", "what it waits for did not come in time", retriable=False)


def _until(seconds: float | None) -> str | None:
    """Return the moment after so many seconds, as it is kept."""
    if seconds is None:
        return None
    return (datetime.now(UTC) + timedelta(seconds=min(seconds, LONGEST))).isoformat()


def _left(moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()


__all__ = ["LONGEST", "Signals", "Waits"]
