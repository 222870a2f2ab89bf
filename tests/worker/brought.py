"""Plugins as other people write them: a good one, one that computes, and broken ones."""

import asyncio
import sys
import time
from datetime import UTC, datetime
from typing import Any

from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome


class Greets:
    """Answers as it is told to."""

    closed = 0

    async def execute(self, call: Call) -> Any:
        return await _answer(call)

    async def close(self) -> None:
        type(self).closed += 1


class Computes:
    """Keeps a processor busy, without a word to the event loop."""

    def execute(self, call: Call) -> Any:
        call.around.log("begun")
        until = time.monotonic() + float((call.input or {}).get("seconds", 0))
        while time.monotonic() < until:
            sum(range(1000))
        return {"n": 1}

    def close(self) -> None:
        """Nothing to let go of."""


class ComputesAndRemembers:
    """Computes with an event loop of its own."""

    async def execute(self, call: Call) -> Any:
        await call.around.remember({"job": 7})
        return {"done": True}

    async def close(self) -> None:
        """Nothing to let go of."""


class HangsInClose(Greets):
    """Never lets go."""

    async def close(self) -> None:
        await asyncio.sleep(3600)


class BlocksInClose(Greets):
    """Never lets go, in a thread."""

    def close(self) -> None:  # type: ignore[override]  # as others write it
        time.sleep(3600)


class BreaksInClose(Greets):
    """Breaks while it lets go."""

    async def close(self) -> None:
        raise SystemExit(3)


class BreaksWhenMade:
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Half:
    """Has no `close`."""

    async def execute(self, call: Call) -> Any:
        return None


class Deaf(Greets):
    """Goes on when it is cancelled."""

    async def execute(self, call: Call) -> Any:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue


class NoText(Exception):
    """An exception that cannot even be shown."""

    def __str__(self) -> str:
        raise ValueError("no text")


NOT_A_CLASS = 7
RAISES: dict[str, Any] = {
    "value": lambda: ValueError("hunter2 is wrong"),
    "exit": lambda: SystemExit(3),
    "cancelled": asyncio.CancelledError,
    "generator": GeneratorExit,
    "handed-back": lambda: HandedBack("for ever"),
    "no-text": NoText,
    "strange-failure": lambda: Failed({"a": 1}, None, details=object()),  # type: ignore[arg-type]
    "failed": lambda: Failed("out-of-paper", "there is no paper", retriable=False),
    "unknown": lambda: UnknownOutcome("lost", "nobody knows", evidence={"job": 1}),
}


async def _answer(call: Call) -> Any:
    said = call.input if isinstance(call.input, dict) else {}
    if call.writes:
        call.around.may_send()
    if "raise" in said:
        raise RAISES[said["raise"]]()
    match said.get("give"):
        case "time":
            return {"at": [datetime.now(UTC)]}
        case "nan":
            return {"n": float("nan")}
        case "module":
            return sys
        case "self":
            deep: list[Any] = []
            deep.append(deep)
            return deep
    return {"greeting": f"Hello {said.get('name', 'world')}"}
