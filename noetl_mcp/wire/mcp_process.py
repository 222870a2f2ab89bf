"""An MCP server that is a program: messages by line over its standard input and output.

The SDK has such a transport too; this one bounds a line and what a program asks without reading,
keeps the last words of standard error, answers for a message that cannot be read, and asks for the
last time right before it writes. The program has a session and a group of its own; when we are
killed its input ends, and so should it.
"""

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from noetl_mcp.cuts import beginning, decoded, last_lines
from noetl_mcp.wire.exchange import Refused, TooLarge
from noetl_mcp.wire.mcp_errand import ERRAND

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""All that a program gets of our own environment, which holds secrets."""

UNREADABLE = "the message cannot be read"
_CHUNK = 65_536
_MOST_NOISE = 1_000
_MOST_OWED = 256
_LAST_WORDS = 4_096
_AS_A_FAVOUR = 64
_GRACE = 2.0
_LITTLE_GRACE = 0.3
_HARD_GRACE = 1.0
_LOOK = 0.01


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start: its words, its folder and what is added to its environment."""

    words: tuple[str, ...]
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    most_bytes: int = 16_777_216


@dataclass(slots=True, eq=False)
class Program:
    """A started program, seen from the session that talks to it."""

    command: Command
    process: asyncio.subprocess.Process
    over: asyncio.Event = field(default_factory=asyncio.Event)
    problem: str = ""
    """Why we gave it up; empty when it ended by itself or is not over."""
    noise: str = ""
    """The first line on standard output that is no message."""
    words: bytes = b""
    is_known: bool = False
    """Whether it has shown itself to be an MCP server; else it gets little time to end."""
    is_too_large: bool = False
    owed: deque[int] = field(default_factory=deque)
    """The sizes of its requests that have no answer yet: each stays in memory until then."""

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self.process.returncode

    def last_words(self) -> str:
        """Return the last lines of what it said on standard error."""
        is_cut = len(self.words) > _LAST_WORDS
        return last_lines(decoded(self.words[-_LAST_WORDS:], before=is_cut), 10, _LAST_WORDS)

    @property
    def takes_more(self) -> bool:
        """Whether it still reads what it is sent."""
        stdin = self.process.stdin
        if stdin is None or stdin.is_closing() or self.over.is_set() or self.exit_code is not None:
            return False
        return stdin.transport.get_write_buffer_size() < _CHUNK

    def owe(self, size: int) -> None:
        """Note a request of its own; who asks on and on and reads no answer is given up."""
        self.owed.append(size)
        if len(self.owed) > _MOST_OWED:
            self.give_up(f"it sent {len(self.owed)} requests and read no answers")
        elif sum(self.owed) > self.command.most_bytes:
            self.give_up(f"it sent requests of {sum(self.owed)} bytes and read no answers")

    async def settle(self) -> None:
        """Note that one of its requests is answered, or needs no answer any more."""
        if self.owed:
            self.owed.popleft()

    def give_up(self, problem: str) -> None:
        """Talk to it no more."""
        self.problem = self.problem or problem
        self.over.set()


@asynccontextmanager
async def talking(program: Program) -> AsyncIterator["TransportStreams"]:
    """Yield the two streams of a started program to the SDK; stop it in the end."""
    hearing = asyncio.create_task(_hear(program))
    try:
        yield Lines(program), Pipe(program)
    finally:
        program.over.set()
        try:
            await _stop(program.process, _GRACE if program.is_known else _LITTLE_GRACE)
        finally:
            hearing.cancel()
            with suppress(asyncio.CancelledError):
                await hearing


async def started(command: Command) -> Program:
    """Start a program; raise `Refused` when that cannot be done."""
    words = command.words
    if not words or not words[0]:
        raise Refused("bad-command", "the command is empty")
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=command.cwd,
            env=environment(dict(command.env)),
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it holds what no command may hold"
        at = "" if command.cwd is None else f" in the folder '{command.cwd}'"
        raise Refused(
            "cannot-start", f"the command '{words[0]}' cannot be started{at}: {reason}"
        ) from None
    return Program(command, process)


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program: a few of our variables, and what is added."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | dict(more)


class Lines:
    """What the program says, message by message; the SDK reads from it."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rest = bytearray()
        self._ready: list[bytes] = []
        self._noisy = 0
        self._given = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        while True:
            line = await self._line()
            if line is None:
                self._program.over.set()
                raise StopAsyncIteration
            message = self._message(line)
            if message is None:
                continue
            if isinstance(message.message, JSONRPCRequest):
                self._program.owe(len(line))
                if self._program.problem:
                    self._ready.clear()
                    continue
                message.metadata = ServerMessageMetadata(on_request_unanswered=self._program.settle)
                await asyncio.sleep(0)  # those before it may be answered
            return message

    async def receive(self) -> SessionMessage:
        """Return the next message; raise `EndOfStream` after the last."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """Nothing to let go of: the program is stopped by whoever started it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _line(self) -> bytes | None:
        """Return the next line; None at the end, or when there is no use in reading on."""
        self._given += 1
        if self._given % _AS_A_FAVOUR == 0:
            await asyncio.sleep(0)  # a flood must not keep everybody else from working
        stdout = self._program.process.stdout
        assert stdout is not None
        while not self._ready:
            if self._program.problem:
                return None
            chunk = await stdout.read(_CHUNK)
            if not chunk:
                return None
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = bytes(self._rest) + lines[0]
                self._rest.clear()
                self._ready = lines[::-1]
            self._rest += rest
            most = self._program.command.most_bytes
            if max([len(self._rest), *map(len, lines)]) > most:
                self._program.is_too_large = True
                self._program.give_up(f"it sent a line of more than {most} bytes")
                self._ready.clear()
        return self._ready.pop()

    def _message(self, line: bytes) -> SessionMessage | None:
        """Read a line; one that is no message is skipped, for many servers greet in the open."""
        if not line.strip():
            return None
        try:
            found = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            answer = _answer_instead(line)
            if answer is None:
                self._heard_noise(line)
            return answer
        self._noisy = 0
        return SessionMessage(found)

    def _heard_noise(self, line: bytes) -> None:
        self._program.noise = self._program.noise or beginning(decoded(line).strip(), 200)
        self._noisy += 1
        if self._noisy >= _MOST_NOISE:
            self._program.give_up(f"it wrote {_MOST_NOISE} lines that are no messages")


class Pipe:
    """What the program is told; the SDK writes into it, each message as one line."""

    def __init__(self, program: Program) -> None:
        self._program = program

    async def send(self, item: SessionMessage) -> None:
        """Write a message; a request of a caller asks its errand right before."""
        stdin = self._program.process.stdin
        if stdin is None or stdin.is_closing() or self._program.over.is_set():
            raise anyio.BrokenResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            await self._answer(stdin, line)
            return
        errand = ERRAND.get()
        if errand is not None and errand.is_free():
            errand.begin()
            errand.leave()
        stdin.write(line)
        await self._drain(stdin)

    async def _answer(self, stdin: asyncio.StreamWriter, line: bytes) -> None:
        """Answer a request of the program, once it has read what was written before."""
        try:
            await self._drain(stdin)
            stdin.write(line)
        finally:
            await self._program.settle()

    async def _drain(self, stdin: asyncio.StreamWriter) -> None:
        try:
            await stdin.drain()
        except OSError:
            self._program.over.set()
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """End its input: it is to leave."""
        stdin = self._program.process.stdin
        if stdin is not None:
            stdin.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def too_large(program: Program) -> TooLarge:
    """Return what it means for a request that the program sent too long a line."""
    return TooLarge(program.problem)


def _answer_instead(line: bytes) -> SessionMessage | None:
    """Return an error in the place of an answer that cannot be read, so that nobody waits."""
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    id_ = said.get("id") if isinstance(said, dict) else None
    if isinstance(id_, bool) or not isinstance(id_, int | str) or "method" in said:
        return None
    error = ErrorData(code=PARSE_ERROR, message=UNREADABLE)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id_, error=error))


async def _hear(program: Program) -> None:
    """Keep the end of what it says on standard error; a full pipe would stop it."""
    stderr = program.process.stderr
    assert stderr is not None
    while chunk := await stderr.read(_CHUNK):
        program.words = (program.words + chunk)[-_LAST_WORDS - 1 :]  # one more tells that it is cut


async def _stop(process: asyncio.subprocess.Process, grace: float) -> None:
    """End its input and wait; then ask its whole group to end, then end it."""
    if process.stdin is not None:
        process.stdin.close()
    if not await _ended(process, grace):
        _signal(process, signal.SIGTERM)
        if not await _ended(process, _HARD_GRACE):
            _signal(process, signal.SIGKILL)
            await _ended(process, _HARD_GRACE)
    transport = getattr(process, "_transport", None)  # a child of the program may hold its pipes
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Wait for the end; `process.wait` would wait for the ends of all pipes too."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while process.returncode is None:
        if loop.time() >= ends:
            return False
        with suppress(TimeoutError):
            await asyncio.wait_for(_drained(process), _LOOK)
    return True


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Throw away what it still says: a full pipe would keep it from ending."""
    stdout = process.stdout
    while stdout is not None and not stdout.at_eof():
        await stdout.read(_CHUNK)
    await asyncio.sleep(1)


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


__all__ = [
    "KEPT",
    "UNREADABLE",
    "Command",
    "Lines",
    "Pipe",
    "Program",
    "environment",
    "started",
    "talking",
    "too_large",
]
