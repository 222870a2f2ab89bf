"""Draw a floor plan anew whenever its file changes. Looks at its time, which works anywhere."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import click

from noetl_mcp.cli.files import write_whole
from noetl_mcp.cli.floorplan_findings import printable
from noetl_mcp.errors import NotReadable

PAUSE_SECONDS = 0.2


def watched(file: str, output: str, drawn: Callable[[], bytes]) -> None:
    """Draw at once and after each change, until stopped; what is wrong is told and waited out.

    A file that cannot be read at the begin is refused. Later it may be away for a moment: some
    editors save so.
    """
    last = _stamp(file)
    _draw(output, drawn, is_first=True)
    pause = threading.Event()
    while True:
        pause.wait(PAUSE_SECONDS)
        seen = _stamp(file)
        if seen != last:
            last = seen
            _draw(output, drawn)


def _stamp(file: str) -> object:
    """Return what changes when a file is saved; None where there is none."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _draw(output: str, drawn: Callable[[], bytes], *, is_first: bool = False) -> None:
    began = time.perf_counter()
    try:
        write_whole(drawn(), output)
    except click.exceptions.Exit:
        return  # what is wrong with the plan has been told
    except NotReadable as problem:
        if is_first:
            raise
        click.echo(f"{printable(str(problem))}; waiting for it", err=True)
        return
    took = (time.perf_counter() - began) * 1000
    click.echo(f"{time.strftime('%H:%M:%S')} {printable(output)} drawn in {took:.0f} ms", err=True)
