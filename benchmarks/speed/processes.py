"""What processes of this machine have used, read from /proc. Starts and ends none."""

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_TRIES = 20  # a process that ends meanwhile would be counted twice, or not at all
_PPID, _USER, _SYSTEM, _USER_OF_REAPED, _SYSTEM_OF_REAPED = 1, 11, 12, 13, 14


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def seconds(pid: int) -> float:
    """Return the CPU seconds of a process; to the nanosecond when it has one thread."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        if len(threads) == 1:
            return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        pass
    fields = _stat(pid)
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICK if fields else 0.0


def below(pid: int) -> list[int]:
    """Return the processes that descend from one."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        fields = _stat(int(entry)) if entry.isdigit() else None
        if fields is not None:
            children.setdefault(int(fields[_PPID]), []).append(int(entry))
    found, left = list[int](), [pid]
    while left:
        more = children.get(left.pop(), [])
        found += more
        left += more
    return found


def seconds_below(pid: int) -> float:
    """Return the CPU seconds of everything that one process has started, ended or not."""
    reaped = _reaped(pid)
    for _ in range(_TRIES):
        total = sum(seconds(one) for one in below(pid))
        before, reaped = reaped, _reaped(pid)
        if before == reaped:
            break
    return reaped + total


def _reaped(pid: int) -> float:
    fields = _stat(pid)
    if fields is None:
        return 0.0
    return (int(fields[_USER_OF_REAPED]) + int(fields[_SYSTEM_OF_REAPED])) / _TICK


def seconds_of_all(pid: int) -> float:
    """Return the CPU seconds of a process and of everything that it has started."""
    return seconds(pid) + seconds_below(pid)


def parent(pid: int) -> int | None:
    """Return what started a process."""
    fields = _stat(pid)
    return int(fields[_PPID]) if fields else None


def wakeups(pid: int) -> int:
    """Return how often the threads of a process and its descendants went to sleep and came back."""
    count = 0
    for one in [pid, *below(pid)]:
        for status in Path(f"/proc/{one}/task").glob("*/status"):
            for line in status.read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    count += int(line.split()[1])
    return count


def resident_mb(pid: int) -> float:
    """Return the memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


__all__ = [
    "below",
    "parent",
    "resident_mb",
    "seconds",
    "seconds_below",
    "seconds_of_all",
    "wakeups",
]
