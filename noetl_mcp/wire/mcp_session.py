"""One session with an MCP server: opened once, used by many calls, closed in the end.

The SDK wants to be entered and left by one task, so each session has a task of its own. It knows
both kinds of servers, programs and URLs, and which tools the server has. Tries nothing again.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp.client import Client, ClientSession, IncomingMessage
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter

from noetl_mcp import __version__
from noetl_mcp.wire.exchange import Refused
from noetl_mcp.wire.mcp_errand import ERRAND, Errand
from noetl_mcp.wire.mcp_http import Place, streamable_http
from noetl_mcp.wire.mcp_process import Command, Program, started, talking

if TYPE_CHECKING:
    from mcp.client import Transport

VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
"""The protocol revisions that can be asked for, oldest first."""

T = TypeVar("T", bound=BaseModel)
Result = type[T] | TypeAdapter[T]

_MOST_PAGES = 100
_WILD = frozenset(("pattern", "patternProperties", "uniqueItems", "$dynamicRef"))
_TOOLS_STAY_TRUE = 60.0
_TROUBLE = (Refused, MCPError, RuntimeError, ValueError, OSError, ExceptionGroup)
_US = types.Implementation(name="noetl-mcp", version=__version__)


class NoSession(Exception):
    """The session did not come about; `cause` is what was raised, None when it took too long."""

    def __init__(self, session: "Session", cause: BaseException | None) -> None:
        super().__init__()
        self.session = session
        self.cause = cause


class Session:
    """A session; whoever opens it closes it, both from one event loop."""

    def __init__(self, server: Command | Place, *, version: str | None, seconds: float) -> None:
        self.server = server
        self.errand = Errand(repeats=True)
        """What became of the opening, where the server is behind a URL."""
        self.program: Program | None = None
        self.is_stale = False
        self._mode = _mode(version)
        self._seconds = seconds
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._leave = asyncio.Event()
        self._problem: NoSession | None = None
        self._living: asyncio.Task[None] | None = None
        self._listing = asyncio.Lock()
        self._tools: Mapping[str, types.Tool] | None = None
        self._listed_at = 0.0

    async def open(self) -> None:
        """Start or find the server and agree on a protocol; raise `NoSession` or `Refused`."""
        if isinstance(self.server, Command):
            self.program = await started(self.server)
        self._living = asyncio.create_task(self._live(), name="mcp session")
        try:
            await self._ready.wait()
        except asyncio.CancelledError:
            await self.close()
            raise
        if self._problem is not None:
            await self.close()
            raise self._problem

    async def close(self) -> None:
        """End the session, and the program with it."""
        self._leave.set()
        if self._living is None:
            return
        if not self._ready.is_set():
            self._living.cancel()
        await asyncio.wait((self._living,))

    @property
    def is_usable(self) -> bool:
        """Whether another call may go this way."""
        if self.is_stale or self._leave.is_set() or self._living is None or self._living.done():
            return False
        return self.program is None or self.program.takes_more

    @property
    def is_over(self) -> bool:
        """Whether a program has ended or was given up."""
        return self.program is not None and self.program.over.is_set()

    @property
    def version(self) -> str:
        """The protocol revision that was agreed upon."""
        return self._session.protocol_version or ""

    async def ended(self, seconds: float) -> None:
        """Wait for a program that is over until it is known how it ended."""
        if self._living is not None:
            await asyncio.wait((self._living,), timeout=seconds)

    async def ask(
        self,
        request: types.Request[Any, Any],
        result: Result[T],
        errand: Errand,
        progress: ProgressFnT | None = None,
    ) -> T:
        """Send a request and return its result; what the SDK raises comes out of here."""
        token = ERRAND.set(errand)
        try:
            return await self._session.send_request(request, result, progress_callback=progress)
        except asyncio.CancelledError:
            errand.drop()
            raise
        finally:
            ERRAND.reset(token)

    async def tools(self, errand: Errand) -> Mapping[str, types.Tool]:
        """Return the server's tools by name; they are asked for now and then."""
        async with self._listing:
            now = asyncio.get_running_loop().time()
            if self._tools is None or now - self._listed_at > _TOOLS_STAY_TRUE:
                found = await self.listed("tools", errand)
                self._tools = {tool.name: tool for tool in found}
                self._listed_at = now
            return self._tools

    def forget_tools(self) -> None:
        """Ask for the tools anew when they are needed."""
        self._tools = None

    async def listed(self, what: str, errand: Errand) -> list[Any]:
        """Return everything of a kind that the server has, page by page."""
        found, cursor = list[Any](), None
        token = ERRAND.set(errand)
        try:
            for _ in range(_MOST_PAGES):
                page = await self._page(what, types.PaginatedRequestParams(cursor=cursor))
                found += getattr(page, what)
                cursor = page.next_cursor
                if cursor is None:
                    return found
        finally:
            ERRAND.reset(token)
        raise Refused("endless-list", f"the list of {what} has more than {_MOST_PAGES} pages")

    async def check(self, tool: str, result: types.CallToolResult) -> None:
        """Raise RuntimeError when a result is not what its tool promises; listed tools only."""
        told = (self._tools or {}).get(tool)
        if told is not None and (told.output_schema is None or _is_tame(told.output_schema)):
            await self._session.validate_tool_result(tool, result)

    async def _page(self, what: str, params: types.PaginatedRequestParams) -> Any:
        if what == "tools":
            return await self._session.list_tools(params=params)
        if what == "resources":
            return await self._session.list_resources(params=params)
        return await self._session.list_prompts(params=params)

    @property
    def _session(self) -> ClientSession:
        assert self._client is not None
        return self._client.session

    async def _live(self) -> None:
        """Be the one task that enters and leaves the SDK."""
        _quiet()
        ERRAND.set(self.errand)
        try:
            async with AsyncExitStack() as stack:
                await self._open(stack)
                if self.program is not None:
                    self.program.is_known = True
                self._ready.set()
                await self._until_over()
        except _TROUBLE as problem:
            self._fail(_first(problem))
        finally:
            self._leave.set()
            self._fail(RuntimeError("the session broke"))
            self._ready.set()

    async def _open(self, stack: AsyncExitStack) -> None:
        client = Client(
            self._transport(),
            mode=self._mode,
            cache=None,
            client_info=_US,
            message_handler=self._hear,
        )
        async with asyncio.timeout(self._seconds):
            self._client = await stack.enter_async_context(client)

    def _transport(self) -> "Transport":
        if self.program is not None:
            return talking(self.program)
        assert isinstance(self.server, Place)
        return streamable_http(self.server)

    async def _until_over(self) -> None:
        ends = [asyncio.create_task(self._leave.wait())]
        if self.program is not None:
            ends.append(asyncio.create_task(self.program.over.wait()))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in ends:
                one.cancel()

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.forget_tools()

    def _fail(self, problem: BaseException) -> None:
        if not self._ready.is_set() and self._problem is None:
            self._problem = NoSession(self, None if isinstance(problem, TimeoutError) else problem)


def _mode(version: str | None) -> str:
    """Return how the SDK is to agree on a revision; those before 2026 begin with a handshake."""
    if version is None:
        return "auto"
    return version if version in MODERN_PROTOCOL_VERSIONS else "legacy"


def _is_tame(schema: Any) -> bool:
    """Whether a schema asks for nothing that could take a hostile server's word for ever."""
    pending = [schema]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            if _WILD & one.keys():
                return False
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
    return True


def _quiet() -> None:
    """Let nobody but us tell of what goes wrong: the SDK's own words hold what was sent."""
    for name in ("client", "mcp.client", "mcp.shared", "httpx2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


__all__ = ["VERSIONS", "NoSession", "Session"]
