"""Become a command: bounded, in its folder, in a group that ends with the worker.

Runs as a program of its own between the worker and the command, because what it does cannot be
done in a process with threads before it becomes another one. Imports the standard library only.
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from fcntl import F_GETFL, F_SETFL, F_SETOWN, fcntl

_F_SETSIG = 10  # of Linux; the module names it only from some builds on
_OOM_SCORE = b"500"  # where memory runs out the kernel ends commands, not their worker
NOT_FOUND, CANNOT_RUN = 127, 126


def become(life: int, folder: int, memory_mb: int, processes: int, command: list[str]) -> None:
    """Turn this process into a command; 0 stands for no bound."""
    _die_with_worker(life)
    _limit(memory_mb, processes)
    os.fchdir(folder)
    os.close(folder)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that is inherited
    try:
        os.execvp(command[0], command)
    except OSError as error:
        said = f"'{command[0]}' cannot be run: {error.strerror}\n"
        os.write(2, said.encode("utf-8", "replace"))
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN)


def _die_with_worker(life: int) -> None:
    """Have the kernel end the group when the worker lets go of the other end of a pipe."""
    if sys.platform != "linux":
        return
    fcntl(life, F_SETOWN, -os.getpgrp())
    fcntl(life, _F_SETSIG, signal.SIGKILL)
    fcntl(life, F_SETFL, fcntl(life, F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        os.read(life, 1)
        os._exit(CANNOT_RUN)  # the worker was gone before this began


def _limit(memory_mb: int, processes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb:
        _lower(resource.RLIMIT_AS, memory_mb * 1024 * 1024)
    if sys.platform != "linux":
        return
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_OOM_SCORE)
    if processes and os.getuid():
        _lower(resource.RLIMIT_NPROC, _threads_of_user() + processes)


def _lower(what: int, wanted: int) -> None:
    _, most = resource.getrlimit(what)
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(what, (limit, limit))


def _threads_of_user() -> int:
    """Return how many threads the user has, which is what the system counts."""
    count, own = 0, os.getuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == own:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:5]]
    become(numbers[0], numbers[1], numbers[2], numbers[3], sys.argv[5:])
