"""What a supervised process hears from its parent: its orders, and when to leave.

The first line of standard input holds the orders; when the input ends, the parent is gone.
"""

import asyncio
import gc
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from noetl_mcp.worker.supervisor import HURRY, LEAVE

ORPHANED_SECONDS = 45.0
"""So long an orphan may take to leave."""
MANY_FILES = 65_536
Parent = Iterator[bytes]
ROOT = str(Path(__file__).parent.parent.parent)


def command(module: str) -> list[str]:
    """Return the command line of a process whose work is the `main` of a module."""
    code = f"import sys; sys.path.append({ROOT!r}); from {module} import main; main()"
    return [sys.executable, "-c", code]


def orders() -> tuple[Mapping[str, Any], Parent] | None:
    """Return what the parent wants, and what it will say later; None when it is gone already.

    From here on a person's Ctrl-C, or a closed terminal, is for the parent to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    parent = lines(sys.stdin.fileno())
    line = next(parent, None)
    return None if line is None else (json.loads(line), parent)


def lines(descriptor: int) -> Parent:
    """Yield lines as they come; through no buffer that a thread could hold when Python ends."""
    begun: list[bytes] = []
    while chunk := os.read(descriptor, 65_536):
        first, *rest = chunk.split(b"\n")
        begun.append(first)
        if rest:
            yield b"".join(begun) + b"\n"
            yield from (line + b"\n" for line in rest[:-1])
            begun = [rest[-1]]


def listen(parent: Parent, leave: Callable[[], None], hurry: Callable[[], None]) -> None:
    """Hear the parent in a thread, for as long as there is one; act in the running loop."""
    loop = asyncio.get_running_loop()

    def call(function: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(function)

    def hear() -> None:
        for line in parent:
            call({LEAVE: leave, HURRY: hurry}.get(line, lambda: None))
        timer = threading.Timer(ORPHANED_SECONDS, os._exit, (1,))
        timer.daemon = True
        timer.start()
        call(leave)

    threading.Thread(target=hear, name="parent", daemon=True).start()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the quickest loop that is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def calm_collector() -> None:
    """Let the garbage collector look less often, and never at what was there at the start.

    A worker keeps thousands of runs and tasks that are no garbage; looking through them all the
    time took a third of its processor.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def allow_many_files() -> None:
    """Let this process have as many files and connections open as the machine lets it ask for.

    Most machines begin with 1,024, which a thousand calls at once go beyond.
    """
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if most == resource.RLIM_INFINITY else min(most, MANY_FILES)
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def say(text: str) -> None:
    """Write a line for whoever looks after the processes."""
    sys.stderr.write(f"noetl-mcp [{os.getpid()}]: {text}\n")
    sys.stderr.flush()


__all__ = [
    "Parent",
    "allow_many_files",
    "calm_collector",
    "command",
    "lines",
    "listen",
    "loop_factory",
    "orders",
    "say",
]
