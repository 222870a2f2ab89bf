"""Processes that use an embedded server, for tests that kill them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from noetl_mcp.embedded.account import Account
from noetl_mcp.embedded.greeting import NoAnswer, listener
from noetl_mcp.embedded.launcher import Server, start
from noetl_mcp.embedded.places import Places, find_places
from noetl_mcp.settings import Settings

USE = (
    "import sys, noetl_mcp.embedded.launcher as l, noetl_mcp.settings as s;"
    "from pathlib import Path; settings = s.Settings.load({'NOETL_HOME': sys.argv[1]});"
    "use = l.start(settings, linger=float(sys.argv[3]), system=Path(sys.argv[2]));"
    "print(use.dsn, flush=True);"
)
WAIT = USE + "sys.stdin.read()"
ROOT = str(Path(__file__).parent.parent.parent)
QUICK = "fsync = off\nfull_page_writes = off\nshared_buffers = '8MB'\n"


@dataclass(frozen=True)
class Home:
    """A home folder, and the system's state folder that goes with it."""

    path: Path
    system: Path

    @property
    def settings(self) -> Settings:
        return Settings.load({"NOETL_HOME": str(self.path)})

    @property
    def places(self) -> Places:
        return find_places(self.path, system=self.system)

    def start(self, *, linger: float = 0, patience: float = 30) -> Server:
        return start(self.settings, linger=linger, patience=patience, system=self.system)

    def command(self, code: str, linger: float) -> list[str]:
        return [sys.executable, "-c", code, str(self.path), str(self.system), str(linger)]

    def postmaster(self) -> int | None:
        """Return the process of the server that answers."""
        sockets = self.places.noted_socket_folder()
        try:
            return listener(sockets) if sockets else None
        except NoAnswer:
            return None

    def keeper(self) -> int | None:
        """Return the process that keeps the server of this home."""
        marks = (b"noetl_mcp.embedded.keeper", os.fsencode(f'"{self.places.folder}"'))
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if all(mark in words for mark in marks):
                return int(process.name)
        return None


def make_home(folder: Path) -> Home:
    """Return a home in a folder that everybody can reach, as /var/lib is."""
    folder.chmod(0o755)
    return Home(folder / "home", folder / "system")


class User:
    """Another process that uses the server of a home until it is told to leave."""

    def __init__(
        self,
        home: Home,
        *,
        linger: float = 0,
        code: str = WAIT,
        python: str = sys.executable,
        account: Account | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [python, *home.command(code, linger)[1:]],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (ROOT, *sys.path)))},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def line(self) -> str:
        """Return the next line that it says; the first is the connection string."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def leave(self) -> None:
        """Let it end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it by a signal."""
        self._process.send_signal(number)
        self._process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(timeout=30)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def until(claim: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is so; it is a failure when it never is."""
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


@contextmanager
def several(home: Home, count: int) -> Iterator[list[User]]:
    """Yield some users that start at once."""
    with ExitStack() as stack:
        yield [stack.enter_context(User(home)) for _ in range(count)]


def lives(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def copied(source: Path, target: Path) -> None:
    """Copy a folder with its owners and modes."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def removed(folder: Path) -> None:
    """Remove a folder, whoever writes into it at the moment."""
    shutil.rmtree(folder, ignore_errors=True)
