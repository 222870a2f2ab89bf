"""Carry out the task types that installed packages bring, so that none takes the worker along.

A plugin is loaded in a thread, when its first step comes. What it does besides answering becomes a
clear outcome of the step: an exception of any kind, an answer that is no JSON, a call that does not
stop, a `close` that does not end. Only what blocks the event loop itself cannot be kept out; a
plugin that keeps a processor busy says so and gets threads.
"""

import asyncio
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import noetl_mcp
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, Surroundings, Task, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.plain import not_plain

GRACE = 5.0
"""So many seconds a call has to stop when it is cancelled, and a plugin to close."""
_CODE = re.compile(r"[a-z0-9]+(-[A-Za-z0-9]+)*")
_OURS = str(Path(noetl_mcp.__file__).parent)
_MOST_TOLD = 2_000


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a piece of somebody else's work ended: with a value, or with what it raised."""

    value: Any = None
    problem: BaseException | None = None


class _Around:
    """The surroundings of one call, for any thread; nothing is sent after the call was stopped."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._loop = asyncio.get_running_loop()
        self.is_over = False
        self.refused = False

    def may_send(self) -> None:
        """Raise HandedBack when the lease may be gone, or the call was stopped."""
        try:
            if self.is_over:
                raise HandedBack("the step was stopped, so nothing more was sent")
            self._around.may_send()
        except HandedBack:
            self.refused = True
            raise

    async def remember(self, note: Json) -> None:
        """Keep a note that outlives this process."""
        if problem := not_plain(note):
            raise Failed("not-json", f"the note cannot be kept: {problem}", retriable=False)
        if asyncio.get_running_loop() is self._loop:
            await self._around.remember(note)
            return
        kept = asyncio.run_coroutine_threadsafe(self._remember(note), self._loop)
        await asyncio.wrap_future(kept)

    async def _remember(self, note: Json) -> None:
        await self._around.remember(note)

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Write a line into the execution's log."""
        with suppress(RuntimeError):  # the worker is gone already
            self._loop.call_soon_threadsafe(lambda: self._around.log(str(text), stream=str(stream)))


class Plugin:
    """A task type of an installed package, as a task of ours."""

    def __init__(self, spec: TaskSpec, *, at_once: int = 2, grace: float = GRACE) -> None:
        self._spec = spec
        self._grace = grace
        self._task: Task | None = None
        self._loads = asyncio.Lock()
        self._turns = asyncio.Semaphore(at_once)
        self._unstopped = set[asyncio.Task[_Ended]]()

    async def execute(self, call: Call) -> Json:
        """Let the plugin do it once, and check what comes of it."""
        task = await self._made()
        around = _Around(call.around)
        theirs = replace(call, around=around)
        try:
            ended = await self._stoppable(lambda: self._executed(task, theirs))
        finally:
            around.is_over = True
        if ended.problem is not None:
            raise self._outcome(ended.problem, call, around) from None
        problem = not_plain(ended.value)
        if problem is None:
            answer: Json = ended.value
            return answer
        said = f"{self._called} answered what is no plain JSON: {problem}"
        if call.writes:
            raise UnknownOutcome("not-json", said)
        raise Failed("not-json", said, retriable=False)

    async def close(self) -> None:
        """Let the plugin go of what it holds; one that breaks or hangs then is left behind."""
        task, self._task = self._task, None
        if task is None:
            return
        if self._in_thread(task.close):
            closing = asyncio.create_task(self._threaded(lambda: _run(task.close)))
        else:
            closing = asyncio.create_task(_caught(lambda: _awaited(task.close())))
        await asyncio.wait({closing}, timeout=self._grace)
        if not closing.done():
            closing.cancel()
            self._unstopped.add(closing)
            self._complain(f"did not close within {self._grace:g} s and was left behind")
        elif not closing.cancelled() and (problem := closing.result().problem) is not None:
            self._complain(f"did not close: {_words(problem)}")

    @property
    def _called(self) -> str:
        """The plugin as a part of a sentence."""
        plugin = self._spec.plugin
        path = plugin if isinstance(plugin, str) else getattr(plugin, "__qualname__", str(plugin))
        return f"the plugin of task type '{self._spec.name}' ({path})"

    def _complain(self, what: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"noetl-mcp: {self._called} {what}\n")

    # Loading

    async def _made(self) -> Task:
        """Return the plugin, loaded and made when it is first needed."""
        async with self._loads:
            if self._task is None:
                self._task = await self._loaded()
            return self._task

    async def _loaded(self) -> Task:
        loaded = await self._stoppable(lambda: self._threaded(lambda: _object(self._spec.plugin)))
        if loaded.problem is None:
            make = loaded.value
            if self._spec.computes:
                loaded = await self._stoppable(lambda: self._threaded(make))
            else:
                loaded = await _caught(lambda: _made(make))
        if loaded.problem is not None:
            raise self._unusable(f"cannot be loaded: {_words(loaded.problem)}")
        for name in ("execute", "close"):
            if not callable(getattr(loaded.value, name, None)):
                raise self._unusable(f"gives a {type(loaded.value).__name__} without '{name}'")
        task: Task = loaded.value
        return task

    def _unusable(self, why: str) -> Failed:
        return Failed("bad-plugin", f"{self._called} {why}", retriable=False)

    # Doing

    def _in_thread(self, method: Callable[..., Any]) -> bool:
        return self._spec.computes or not inspect.iscoroutinefunction(method)

    async def _executed(self, task: Task, call: Call) -> _Ended:
        if not self._in_thread(task.execute):
            return await _caught(lambda: _awaited(task.execute(call)))
        if not self._spec.computes:
            return await self._threaded(lambda: _run(task.execute, call))
        async with self._turns:
            return await self._threaded(lambda: _run(task.execute, call))

    async def _stoppable(self, work: Callable[[], Coroutine[Any, Any, _Ended]]) -> _Ended:
        """Wait for some work; when it does not stop after a cancel, it is left behind."""
        doing = asyncio.create_task(work())
        try:
            await asyncio.wait({doing})
        except asyncio.CancelledError:
            doing.cancel()
            self._unstopped.add(doing)
            doing.add_done_callback(self._unstopped.discard)
            await asyncio.wait({doing}, timeout=self._grace)
            raise
        return _Ended(problem=asyncio.CancelledError()) if doing.cancelled() else doing.result()

    async def _threaded(self, work: Callable[[], Any]) -> _Ended:
        """Do some work in a thread that nobody has to wait for, not even the end of the process."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[_Ended] = loop.create_future()

        def tell(ended: _Ended) -> None:
            if not heard.done():
                heard.set_result(ended)

        def do() -> None:
            try:
                ended = _Ended(work())
            except BaseException as problem:  # noqa: BLE001 - a plugin may raise anything
                ended = _Ended(problem=problem)
            with suppress(RuntimeError):  # the worker is gone already
                loop.call_soon_threadsafe(tell, ended)

        Thread(target=do, name=f"task type {self._spec.name}", daemon=True).start()
        return await heard

    # What came of it

    def _outcome(self, problem: BaseException, call: Call, around: _Around) -> Exception:
        """Return what a step is told of what a plugin raised."""
        if isinstance(problem, HandedBack) and around.refused:
            return problem
        if isinstance(problem, UnknownOutcome):
            code, message, evidence = self._told(problem, problem.evidence)
            return UnknownOutcome(code, message, evidence=evidence)
        if isinstance(problem, Failed):
            code, message, details = self._told(problem, problem.details)
            wait = problem.retry_after
            return Failed(
                code,
                message,
                retriable=problem.retriable is not False,
                retry_after=wait if isinstance(wait, (int, float)) and 0 <= wait < 1e9 else None,
                details=details,
            )
        said = f"{self._called} raised what is no failure of its own: {_words(problem)}"
        return UnknownOutcome("crash", said)

    def _told(self, problem: Failed | UnknownOutcome, more: Any) -> tuple[str, str, Json]:
        """Return the code, the message and the details of a failure as they can be kept."""
        code = problem.code if isinstance(problem.code, str) else ""
        message = _clean(problem.message)
        if not _CODE.fullmatch(code):
            message, code = f"{message} (code: {_clean(problem.code)})", "failed"
        if wrong := not_plain(more):
            return code, f"{message} (its details cannot be kept: {wrong})", None
        return code, message, more


async def _caught(work: Callable[[], Coroutine[Any, Any, Any]]) -> _Ended:
    """Do some work and return how it ended; nothing comes out of here but that."""
    try:
        return _Ended(await work())
    except BaseException as problem:  # noqa: BLE001 - a plugin may raise anything
        return _Ended(problem=problem)


async def _awaited(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


async def _made(make: Callable[[], Any]) -> Any:
    return make()


def _run(method: Callable[..., Any], *given: Any) -> Any:
    """Call a method in a thread, with an event loop of its own when it wants one."""
    found = method(*given)
    return asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found


def _object(plugin: str | Callable[[], Any] | None) -> Any:
    """Return what an import path names."""
    if not isinstance(plugin, str):
        return plugin
    module, _, path = plugin.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{plugin} is {type(found).__name__}, which cannot be called")
    return found


def _words(problem: BaseException) -> str:
    """Say what was raised and where: the last line of a file that is not one of ours."""
    frames = traceback.extract_tb(problem.__traceback__)
    theirs = [
        one
        for one in frames
        if not one.filename.startswith((_OURS, "<frozen")) and one.lineno is not None
    ]
    where = f" ({Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""
    said = _clean(problem)
    return f"{type(problem).__name__}{': ' if said else ''}{said}{where}"


def _clean(said: object) -> str:
    """Return the text of something that may have none, as every reader can take it."""
    try:
        text = str(said)
    except Exception:  # noqa: BLE001 - the text of somebody else's exception may raise anything
        return "(it has no text)"
    text = text.replace("\0", "").encode(errors="replace").decode()
    return text if len(text) <= _MOST_TOLD else f"{text[:_MOST_TOLD]}…"


__all__ = ["GRACE", "Plugin"]
