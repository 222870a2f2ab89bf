"""Calls of Python steps as a worker would make them, with surroundings that remember."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, HandedBack
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.tasks.python.task import Python
from noetl_mcp.tasks.specs_compute import PythonSettings

DEADLINE = 60  # nothing here takes a second; a test that hangs is to fail


class Recording:
    """Surroundings that keep what they are told."""

    def __init__(self, *, may_send: bool = True) -> None:
        self.lines: list[tuple[str, str]] = []
        self.heard = asyncio.Event()
        self._may_send = may_send

    def may_send(self) -> None:
        if not self._may_send:
            raise HandedBack

    async def remember(self, note: Json) -> None:
        raise AssertionError(f"nothing was to be remembered: {note}")

    def log(self, text: str, *, stream: str = "stdout") -> None:
        self.lines.append((stream, text))
        self.heard.set()

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.lines]


def call(
    code: str | None = None,
    data: Any = None,
    around: Recording | None = None,
    *,
    timeout: float | None = 30,
    writes: bool = False,
    auth: dict[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> Call:
    """Make a call of a step with this code and these settings."""
    given = settings if code is None else {"code": code, **settings}
    return Call(
        task="python",
        settings=PythonSettings.model_validate(given),
        input=data,
        around=around or Recording(),
        auth=auth or {},
        timeout=timeout,
        writes=writes,
    )


def with_python(
    work: Callable[[Python], Coroutine[Any, Any, Any]], habits: Habits | None = None, **options: Any
) -> Any:
    """Do some work with a task of its own, which is closed at the end."""

    async def main() -> Any:
        python = Python(habits=habits, **options)
        try:
            return await asyncio.wait_for(work(python), DEADLINE)
        finally:
            await python.close()

    return asyncio.run(main())


def result_of(one: Call, **options: Any) -> Any:
    """Return what a call gives, in a fresh process."""
    return with_python(lambda python: python.execute(one), **options)
