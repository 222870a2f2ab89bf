"""A Postgres of its own that waits for the disk, and is killed; its keeper starts it again."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noetl_mcp.database import migrate
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.operate import stop
from noetl_mcp.embedded.places import make_places
from tests.embedded.users import Home, make_home

DURABLE = "shared_buffers = '128MB'\nmax_connections = 200\ncheckpoint_timeout = '30s'\n"


@contextmanager
def own_server(folder: Path | None = None) -> Iterator[tuple[Home, str]]:
    """Yield a server that nobody else uses, and the connection string of its database."""
    place = Path(tempfile.mkdtemp(prefix="noetl-faults-", dir=folder))
    home = make_home(place)
    try:
        (make_places(home.path, system=home.system).folder / "own.conf").write_text(DURABLE)
        with home.start(linger=5, patience=60) as use:
            migrate(use.dsn)
            yield home, use.dsn
    finally:
        stop(home.path, system=home.system)
        shutil.rmtree(place, ignore_errors=True)


def crash(home: Home) -> None:
    """Kill the server, with everything that it holds in memory; return when there is one again."""
    number = home.postmaster()
    if number is not None:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        with suppress(NotStarted):  # its keeper had enough of it; the next look starts it
            home.start(linger=5, patience=20).close()


__all__ = ["crash", "own_server"]
