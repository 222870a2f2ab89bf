"""The task type `python`: hand a step's input to a program, and its answer back.

Imports none of the user's code and runs none of it in this process; it only asks others to.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGABRT, SIGBUS, SIGSEGV, Signals

import orjson

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.hiding import hidden
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from noetl_mcp.tasks.python.frames import RESULT, Frame
from noetl_mcp.tasks.python.interpreter import Ended, Interpreter
from noetl_mcp.tasks.python.output import Output, known_around
from noetl_mcp.tasks.python.pool import Closed, Habits, Pool
from noetl_mcp.tasks.python.program import Order, Program, read_order, read_program

_LONGEST_NAME = 200
_IN_VAIN = frozenset(
    (
        "bad-call",
        "indentation-error",
        "missing-module",
        "no-main",
        "not-json",
        "syntax-error",
        "tab-error",
    )
)


class Python:
    """User Python, called by its signature in processes of its own."""

    def __init__(
        self,
        *,
        folders: Sequence[Path] = (),
        most_children: int | None = None,
        habits: Habits | None = None,
    ) -> None:
        chosen = habits or Habits()
        self._habits = replace(chosen, most_children=most_children or chosen.most_children)
        self._folders = tuple(folders)
        self._pool = Pool(self._habits)

    async def execute(self, call: Call) -> Json:
        """Call the program's function and return what it returns."""
        order = read_order(call)
        program = self._program(call, order)
        try:
            interpreter = await self._pool.take(program)
        except Closed:
            raise Failed("closed", "this worker starts no programs any more") from None
        except OSError as error:
            raise Failed("no-process", f"no process can be started: {error.strerror}") from None
        output = Output(
            lambda text, stream: call.around.log(text, stream=stream),
            call.settings.max_output_bytes,
            (*order.secrets, *known_around(call.around)),
        )
        try:
            answer = await _asked(interpreter, call, order, output)
        finally:
            self._pool.give_back(interpreter)
            output.close()
        return _read(answer, call, order)

    async def close(self) -> None:
        """End all processes."""
        await self._pool.close()

    def _program(self, call: Call, order: Order) -> Program:
        secrets = (order.auth, *(secret.encode() for secret in sorted(order.secrets)))
        return read_program(
            call.settings,
            folders=self._folders,
            most_result_bytes=self._habits.most_result_bytes,
            secrets=secrets,
        )


async def _asked(interpreter: Interpreter, call: Call, order: Order, output: Output) -> Frame:
    """Ask a process; say what its end means when no answer came."""
    if call.writes:
        call.around.may_send()
    try:
        return await interpreter.ask(order.payload, output, call.timeout)
    except Ended as end:
        code, words = _told(end, call)
        if call.writes:
            evidence: Json = {"exit_status": end.status}
            raise UnknownOutcome(code, words, evidence=evidence) from None
        raise Failed(code, words) from None


def _told(end: Ended, call: Call) -> tuple[str, str]:
    """Return the code and the words for a process that ended before it answered."""
    if end.is_late:
        return "timeout", f"the program was ended after {call.timeout:g} seconds"
    if end.problem is not None:
        return "died", f"the program was ended: {end.problem}"
    if end.status >= 0:
        return "died", f"the program ended with exit status {end.status} before it returned"
    words = f"the program ended by signal {-end.status} ({_signal_name(-end.status)})"
    limit = call.settings.memory_mb
    if limit is not None and -end.status in (SIGABRT, SIGBUS, SIGSEGV):
        words += f"; it may have met its limit of {limit} MB"
    return "died", words


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return "a real-time signal"


def _read(answer: Frame, call: Call, order: Order) -> Json:
    """Return a result, or raise the failure that came instead."""
    told = orjson.loads(answer.payload)
    if answer.kind == RESULT:
        result: Json = told
        return result
    code, details = told["code"], told["details"]
    name = details.get("type", "") if details is not None else ""
    if len(name) > _LONGEST_NAME or hidden(name, known_around(call.around)) != name:
        code = "error"  # it is made of the name
    message = hidden(told["message"], order.secrets)
    if code == "memory" and call.settings.memory_mb is not None:
        message += f": {call.settings.memory_mb} MB"
    if details is not None and "traceback" in details:
        details["traceback"] = hidden(details["traceback"], order.secrets)
    raise Failed(code, message, retriable=code not in _IN_VAIN, details=details)


__all__ = ["Python"]
