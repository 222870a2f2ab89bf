"""The mcp task: one request to an MCP server, over HTTP or to a program's standard input.

    a tool {text, data, content}, a resource {text, data, contents},
    a prompt {text, description, messages}, a list by its name

Servers and sessions are kept for the next call. Only what is harmless is asked a second time, when
a kept session turns out to be gone or its answer was lost.
"""

import asyncio
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks import mcp_outcome, mcp_request, mcp_result
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.credentials import known_by
from noetl_mcp.tasks.mcp_request import wanted
from noetl_mcp.tasks.mcp_talk import Talk, Telling
from noetl_mcp.wire.exchange import WHOLE_SECONDS, Refused
from noetl_mcp.wire.mcp_errand import Errand
from noetl_mcp.wire.mcp_session import NoSession, Session
from noetl_mcp.wire.mcp_sessions import Sessions

_TROUBLE = (MCPError, ValueError, RuntimeError, Refused)
_DYING_SECONDS = 1.0
_DOUBT_THE_SESSION = (400, 404)


class Mcp:
    """Asks MCP servers; programs are started only where `commands` allows it."""

    def __init__(
        self, *, commands: bool = False, idle_seconds: float = 60.0, most_idle: int = 16
    ) -> None:
        self._commands = commands
        self._sessions = Sessions(idle_seconds=idle_seconds, most_idle=most_idle)

    async def execute(self, call: Call) -> Json:
        """Ask what a step asks and return the answer; an answer that says so is a failure."""
        asked = wanted(call)
        server = mcp_request.server(call, known_by(call.auth), commands=self._commands)
        talk = Talk(call, asked, server)
        seconds = WHOLE_SECONDS if call.timeout is None else call.timeout
        try:
            async with asyncio.timeout(seconds):
                found = await self._once(talk, may_again=True)
                return found if found is not None else await self._once(talk, may_again=False)
        except TimeoutError:
            raise mcp_outcome.timed_out(talk, seconds) from None

    async def close(self) -> None:
        """Close the sessions, and stop the servers that were started."""
        await self._sessions.close()

    async def _once(self, talk: Talk, *, may_again: bool) -> dict[str, Json] | None:
        """Ask in a session; None when it is to be asked again."""
        server = talk.server

        def made() -> Session:
            return Session(server.reached, version=server.version, seconds=server.start_seconds)

        try:
            async with self._sessions.lend(server, made) as lent:
                session = talk.begin(lent)
                try:
                    return await _answer(talk, session)
                except _TROUBLE as problem:
                    if session.is_over:
                        await session.ended(_DYING_SECONDS)
                    if _again(talk, session, problem) and may_again:
                        return None
                    raise mcp_outcome.failure_of(talk, problem) from None
        except (NoSession, Refused) as problem:
            raise mcp_outcome.not_opened(talk, problem) from None


def _again(talk: Talk, session: Session, problem: BaseException) -> bool:
    """Say whether it may be asked a second time, in a session that is good for it."""
    if talk.handed_back is not None:
        return False
    if isinstance(problem, MCPError) and problem.code == types.HEADER_MISMATCH:
        session.forget_tools()  # it is refused for its headers, and those come from the list
        return True
    if talk.errand.in_session and talk.errand.status in _DOUBT_THE_SESSION:
        session.is_stale = True
    if talk.errand.is_forgotten:
        return talk.is_harmless
    if not mcp_outcome.was_lost(talk, problem):
        return False
    return talk.is_harmless and (talk.is_kept or session.program is None)


async def _answer(talk: Talk, session: Session) -> dict[str, Json]:
    """Ask for what is wanted."""
    asked = talk.asked
    if asked.kind == "list":
        return mcp_result.of_list(asked.name, await session.listed(asked.name, talk.request()))
    if asked.kind == "tool":
        await _look(talk, session)
    request, kind = mcp_request.request(asked)
    telling = Telling(talk)
    try:
        result: Any = await session.ask(request, kind, talk.request(), telling)
    finally:
        telling.end()
    if isinstance(result, types.InputRequiredResult):
        raise mcp_outcome.wants_input(talk)
    if isinstance(result, types.CallToolResult):
        return await _tool(talk, session, result)
    if isinstance(result, types.ReadResourceResult):
        return mcp_result.of_resource(result)
    return mcp_result.of_prompt(result)


async def _look(talk: Talk, session: Session) -> None:
    """Learn what the server says of its tools; one that keeps them to itself is asked blindly."""
    talk.is_looking, talk.errand = True, Errand(repeats=True)
    try:
        talk.tools = await session.tools(talk.errand)
    except (MCPError, ValidationError, RuntimeError) as problem:
        failed = talk.errand.failure is not None or talk.errand.is_forgotten
        if failed or mcp_outcome.was_lost(talk, problem):
            raise
    talk.is_looking = False


async def _tool(talk: Talk, session: Session, result: types.CallToolResult) -> dict[str, Json]:
    if result.is_error:
        raise mcp_outcome.tool_error(talk, result)
    try:
        await session.check(talk.asked.name, result)
    except RuntimeError as problem:
        raise mcp_outcome.bad_result(talk, problem) from None
    return mcp_result.of_tool(result)


__all__ = ["Mcp"]
