"""The product's own commands as processes of the benchmark, on the database that is measured on."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from speed.crew import Died, TooLong
from speed.server import Server

_UP_SECONDS = 30.0
_LEAVES_SECONDS = 20.0
_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Command:
    """A command that runs."""

    process: "subprocess.Popen[bytes]"
    errors: Path

    def said(self) -> str:
        """Return what it wrote to its standard error."""
        return self.errors.read_text(errors="replace")

    def until(self, holds: Callable[[], bool], what: str, seconds: float = _UP_SECONDS) -> None:
        """Wait until something holds; raise at once when the command has ended."""
        deadline = time.monotonic() + seconds
        while not holds():
            if self.process.poll() is not None:
                raise Died(
                    f"the command ended with {self.process.returncode}: {self.said()[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise TooLong(f"{what}: not after {seconds:.0f} s; it said: {self.said()[-2000:]}")
            time.sleep(_LOOK)


@contextmanager
def command(server: Server, *arguments: str) -> Iterator[Command]:
    """Run a command of the product for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="noetl-bench-home-") as home:
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("NOETL_")},
            "NOETL_HOME": home,
            "NOETL_DSN": server.dsn,
            "PYTHONSAFEPATH": "1",  # the same product as ours, wherever we were called
        }
        errors = Path(home) / "stderr"
        with errors.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "noetl_mcp", *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        try:
            yield Command(process, errors)
        finally:
            _ended(process)


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_LEAVES_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a session of its own: these are all ours
        process.wait()


__all__ = ["Command", "command"]
