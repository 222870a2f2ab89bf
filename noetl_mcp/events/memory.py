"""Bound how much this process may grow while it does one thing.

A library may take more than it counts, as DuckDB does. Only for a process that does nothing else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MORE = 2 * 2**30


@contextmanager
def bounded_memory(more: int = MORE) -> Iterator[None]:
    """Let this process grow only so far, where the system can be told so."""
    try:
        import resource

        former = resource.getrlimit(resource.RLIMIT_DATA)
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (ImportError, OSError):
        yield
        return
    most = pages * resource.getpagesize() + more
    if former[0] != resource.RLIM_INFINITY:
        most = min(most, former[0])
    resource.setrlimit(resource.RLIMIT_DATA, (most, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, former)


__all__ = ["MORE", "bounded_memory"]
