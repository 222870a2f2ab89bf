"""The task type `shell`: run commands of the worker's machine, where the worker is allowed to.

Each runs in a process group of its own with a clean environment, in a folder below the allowed
ones or in one that goes when it ends. No value is ever read as code by the shell.
"""

import asyncio
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

import orjson

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import shown, uncovered
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.folders import Folders, told
from noetl_mcp.tasks.pieces import as_text, pieces_of
from noetl_mcp.tasks.python.folders import Folders as Homes
from noetl_mcp.tasks.python.folders import remove, sweep
from noetl_mcp.tasks.python.output import Output, known_around
from noetl_mcp.tasks.shell_line import PREFIX, line
from noetl_mcp.tasks.shell_output import Kept
from noetl_mcp.tasks.shell_process import Order, Running
from noetl_mcp.tasks.specs_compute import ShellSettings
from noetl_mcp.tasks.sql_text import spoken

LAST_LINES, LONGEST_SAID = 10, 2_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, and the values of its line as variables."""

    words: Sequence[str]
    values: Mapping[str, str] = field(default_factory=dict, repr=False)


class Shell:
    """Runs commands, if `allowed`; those that name a folder run below one of `folders`."""

    def __init__(self, *, allowed: bool = False, folders: Iterable[Path | str] = ()) -> None:
        self._allowed = allowed
        self._folders = Folders(folders)
        self._homes = Homes()

    async def execute(self, call: Call) -> Json:
        """Run the command, or one after another until one fails."""
        settings: ShellSettings = call.settings
        if not self._allowed:
            said = "this worker runs no commands; set NOETL_ALLOW_SHELL where it may"
            raise Failed("shell-not-allowed", said, retriable=False)
        commands = commands_of(settings)
        if not self._homes.is_open:
            await asyncio.to_thread(sweep)
        home = self._homes.make()
        try:
            with _opened(self._folders, settings.cwd, home) as folder:
                return await _Run(call, folder, _environment(settings, home)).all_of(commands)
        finally:
            await asyncio.to_thread(remove, home)

    async def close(self) -> None:
        """Remove the folders; commands end with their calls."""
        await asyncio.to_thread(self._homes.close)


@contextmanager
def _opened(folders: Folders, cwd: str | None, home: str) -> Iterator[int]:
    if cwd is None:
        work = os.path.join(home, "work")
        os.mkdir(work, 0o700)
        folder = os.open(work, _FOLDER)
    else:
        place = folders.place(cwd)
        with told(cwd), place.folder() as above:
            folder = os.open(place.name, _FOLDER, dir_fd=above)
    try:
        yield folder
    finally:
        os.close(folder)


@dataclass(slots=True, eq=False)
class _Run:
    """The commands of one call, and what they print."""

    call: Call
    folder: int
    env: Mapping[str, str]
    out: Kept = field(init=False)
    err: Kept = field(init=False)
    log: Output = field(init=False)

    def __post_init__(self) -> None:
        most = self.call.settings.max_output_bytes
        around = self.call.around
        self.out, self.err = Kept(most), Kept(most)
        self.log = Output(
            lambda text, stream: around.log(text, stream=stream), most, known_around(around)
        )

    async def all_of(self, commands: Sequence[Command]) -> Json:
        """Run them, and return what came of them."""
        code = 0
        try:
            async with asyncio.timeout(self.call.timeout) as bound:
                for number, command in enumerate(commands, 1):
                    code = await self._one(command, number if len(commands) > 1 else None)
        except TimeoutError:
            if not bound.expired():
                raise
            words = f"the command was ended after {self.call.timeout:g} seconds"
            raise self._lost("timeout", words) from None
        finally:
            self.log.close()
        return self._result(code)

    async def _one(self, command: Command, number: int | None) -> int:
        """Run one command and return its exit code, which must be one of a success."""
        settings: ShellSettings = self.call.settings
        if self.call.writes:
            self._ask(number)
        status = await self._ended(self._started(command))
        which = "the command" if number is None else f"command {number}"
        if status < 0:
            words = f"{which} was ended by signal {-status} ({_signal_name(-status)})"
            raise self._lost("died", words)
        if status not in settings.ok_codes:
            said = self.err.last_lines(LAST_LINES, LONGEST_SAID)
            words = f"{which} ended with exit code {status}" + (f": {said}" if said else "")
            raise Failed("exit-code", words, details={"exit_code": status, **self._printed()})
        return status

    def _started(self, command: Command) -> Running:
        settings: ShellSettings = self.call.settings
        order = Order(
            command.words,
            self.folder,
            {**self.env, **command.values},
            None if settings.stdin is None else settings.stdin.encode("utf-8", "surrogatepass"),
            settings.memory_mb or 0,
            settings.max_processes,
        )
        try:
            return Running(order, self._hear, grace=settings.kill_after_seconds)
        except OSError as error:
            if error.errno == errno.E2BIG:
                said = "a value is too long for the environment or the arguments; use 'stdin'"
                raise Failed("too-long", said, retriable=False) from None
            raise Failed("no-process", f"no process can be started: {error.strerror}") from None

    async def _ended(self, running: Running) -> int:
        try:
            return await asyncio.shield(running.gone)
        except asyncio.CancelledError:
            await asyncio.shield(running.end())
            raise

    def _hear(self, stream: str, part: bytes) -> None:
        (self.out if stream == "stdout" else self.err).feed(part)
        self.log.feed(stream, part)

    def _ask(self, number: int | None) -> None:
        """Ask whether the lease still holds; commands that were run cannot be handed back."""
        try:
            self.call.around.may_send()
        except HandedBack as problem:
            if number in (None, 1):
                raise
            said = f"the lease was lost before command {number}: {problem}"
            raise self._lost("lease-lost", said) from None

    def _lost(self, code: str, words: str) -> Failed | UnknownOutcome:
        """Return what it means that a command did not come to its own end."""
        evidence: Json = self._printed()
        if self.call.writes:
            return UnknownOutcome(code, words, evidence=evidence)
        return Failed(code, words, details=evidence)

    def _printed(self) -> dict[str, Json]:
        return {
            "stdout": self.out.last_lines(LAST_LINES, LONGEST_SAID),
            "stderr": self.err.last_lines(LAST_LINES, LONGEST_SAID),
        }

    def _result(self, code: int) -> Json:
        text = self.out.text()
        result: dict[str, Json] = {"exit_code": code, "stdout": text, "stderr": self.err.text()}
        form = self.call.settings.output
        if form == "text" or (form == "auto" and text.lstrip()[:1] not in ("{", "[")):
            return result
        if self.out.dropped and form != "auto":
            said = f"the output has more than {self.out.most:,} bytes; raise 'max_output_bytes'"
            raise Failed("too-long", f"{said}; the command itself was carried out", retriable=False)
        if form == "lines":
            return {**result, "data": list[Json](text.splitlines())}
        try:
            return {**result, "data": orjson.loads(text)}
        except orjson.JSONDecodeError as problem:
            if form == "auto":
                return result
            said = f"the output is not JSON: {problem.msg}; the command itself was carried out"
            raise Failed("not-json", said, retriable=False) from None


def commands_of(settings: ShellSettings) -> list[Command]:
    """Return what is to run."""
    if settings.args is not None:
        program = as_text(uncovered(settings.command), spoken)
        return [Command([_plain(program), *map(_plain, settings.args)])]
    lines = settings.commands if settings.commands is not None else [settings.command]
    return [_in_shell(settings.shell, one) for one in lines]


def _in_shell(shell: str, written: object) -> Command:
    pieces = pieces_of(uncovered(written))
    if not pieces.values:
        return Command([_plain(shell), "-c", _plain(pieces.literals[0])])
    values = {f"{PREFIX}{at}": _plain(spoken(one)) for at, one in enumerate(pieces.values, 1)}
    return Command([_plain(shell), "-c", _plain(line(pieces.literals))], values)


def _plain(text: str) -> str:
    """Return a text that a process can be given; refuse any other."""
    if "\0" in text:
        said = "a command, an argument or a value has a NUL character in it"
        raise Failed("bad-command", said, retriable=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        said = "a command, an argument or a value has half a surrogate pair in it"
        raise Failed("bad-command", said, retriable=False) from None
    return text


def _environment(settings: ShellSettings, home: str) -> dict[str, str]:
    """Return all that the command has of an environment."""
    own: dict[str, str] = {}
    for name, value in settings.env.items():
        word = "true" if value is True else "false" if value is False else str(shown(value))
        if not name or "=" in name:
            said = f"'{name}' is no name of a variable"
            raise Failed("bad-command", said, retriable=False)
        own[_plain(name)] = _plain(word)
    return {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        **own,
    }


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return "a real-time signal"


__all__ = ["Command", "Shell", "commands_of"]
