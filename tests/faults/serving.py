"""`noetl-mcp serve` as users start it, instead of workers of the tests: killed, and started again.

Has the face of a crew, so that a storm can blow over it. A blow ends the parent, a child, or all of
them at once; whoever is left without a parent must go by itself.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.crew import ROOT, Crew, Hand
from tests.worker.brokers import free_port


@dataclass(eq=False)
class Server(Hand):
    """One server and what it has started; everything it starts stays in its group."""

    port: int = 0
    started: float = 0.0

    @property
    def family(self) -> list[int]:
        """Every process of it that is there, its own among them."""
        return [pid for pid in _processes() if _group(pid) == self.process.pid]

    @property
    def children(self) -> list[int]:
        """Those that it looks after: the face, and the workers."""
        return [pid for pid in self.family if _parent(pid) == self.process.pid]

    def end(self) -> None:
        """Be sure that it is gone, with all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


@dataclass(eq=False)
class Servers(Crew):
    """So many servers with some workers each, on one database; a place keeps its port."""

    environment: dict[str, str] = field(default_factory=dict)
    home: Path = Path()
    workers: int = 2
    random: Random = field(default_factory=Random)
    ports: list[int] = field(default_factory=list)
    orphans: list[Server] = field(default_factory=list)
    """Servers of which only the children may be left."""

    def __exit__(self, *_: object) -> None:
        for server in (*self.orphans, *self.hands):
            server.end()
        self.hands, self.orphans = [], []

    def fill(self) -> None:
        """Start a server in the place of each that is gone, on the same port."""
        self.ports += [free_port() for _ in range(self.count - len(self.ports))]
        for hand in [one for one in self.hands if one.process.poll() is not None]:
            assert isinstance(hand, Server)
            self.hands.remove(hand)
            self.orphans.append(hand)
        taken = {hand.port for hand in self.hands if isinstance(hand, Server)}
        for port in (port for port in self.ports if port not in taken):
            self.hands.append(self._started(port))
            self.begun += 1

    def _started(self, port: int) -> Server:
        command = [sys.executable, "-m", "noetl_mcp", "serve", "--port", str(port)]
        process = subprocess.Popen(
            [*command, "--processes", str(self.workers)],
            stdin=subprocess.DEVNULL,
            stderr=self.log,
            cwd=ROOT,
            env={**os.environ, "NOETL_HOME": str(self.home), **self.environment},
            start_new_session=True,
        )
        return Server(process, port=port, started=time.monotonic())

    def kill(self, hand: Hand) -> None:
        """Kill the parent, one of its children, or all of them at once."""
        assert isinstance(hand, Server)
        how = self.random.choice(("parent", "child", "child", "all"))
        victims = {"parent": [hand.process.pid], "all": hand.family}.get(how)
        if victims is None:
            victims = hand.children and [self.random.choice(hand.children)]
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if how != "child":
            hand.process.wait(10)

    def pause(self, hand: Hand, seconds: float) -> None:
        """Let all of a server sleep."""
        with suppress(ProcessLookupError):
            os.killpg(hand.process.pid, signal.SIGSTOP)
        hand.paused_until = time.monotonic() + seconds

    def rouse(self, *, everybody: bool = False) -> int:
        """Wake the servers that have slept long enough; return how many."""
        now = time.monotonic()
        late = [h for h in self.hands if h.paused_until and (everybody or h.paused_until <= now)]
        for hand in late:
            with suppress(ProcessLookupError):
                os.killpg(hand.process.pid, signal.SIGCONT)
            hand.paused_until = 0.0
        return len(late)

    def leave(self, seconds: float = 60.0) -> bool:
        """Let all finish and go, orphans too; say whether they did."""
        for hand in self.hands:
            hand.signal(signal.SIGTERM)
        end = time.monotonic() + seconds
        servers = [*self.orphans, *(one for one in self.hands if isinstance(one, Server))]
        while any(one.process.poll() is None or one.family for one in servers):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return all(hand.process.returncode == 0 for hand in self.hands)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int:
    return _numbers(pid)[0]


def _group(pid: int) -> int:
    return _numbers(pid)[1]


def _numbers(pid: int) -> tuple[int, int]:
    """Return a process's parent and group; nobody's when it is gone or a zombie."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1, -1
    return (-1, -1) if words[0] == "Z" else (int(words[1]), int(words[2]))


__all__ = ["Server", "Servers"]
