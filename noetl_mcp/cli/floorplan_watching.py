"""Draw a floor plan anew whenever its file changes. Looks at its time, which works anywhere."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from noetl_mcp.errors import NotReadable

PAUSE_SECONDS = 0.2


def watched(
    file: str,
    output: str,
    drawn: Callable[[], bytes],
    over: threading.Event | None = None,
    pause: float = PAUSE_SECONDS,
) -> None:
    """Draw at once and after each change, until `over`; what is wrong is told and waited out."""
    over = over or threading.Event()
    last: object = None
    with suppress(KeyboardInterrupt):
        while not over.is_set():
            seen = _stamp(file)
            if seen != last:
                last = seen
                _draw(file, output, drawn)
            over.wait(pause)


def _stamp(file: str) -> object:
    """Return what changes when a file is saved; None where there is none."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _draw(file: str, output: str, drawn: Callable[[], bytes]) -> None:
    began = time.perf_counter()
    try:
        content = drawn()
        _replace(output, content)
    except click.exceptions.Exit:
        return  # what is wrong with the plan has been told
    except NotReadable as problem:
        click.echo(f"{problem}; waiting for it", err=True)
        return
    except OSError as problem:
        raise click.ClickException(f"cannot write '{output}': {problem.strerror}") from None
    took = (time.perf_counter() - began) * 1000
    click.echo(f"{time.strftime('%H:%M:%S')} {output} drawn in {took:.0f} ms")


def _replace(output: str, content: bytes) -> None:
    """Write a whole drawing or none, so that a viewer never sees half of one."""
    aside = f"{output}.{os.getpid()}.part"
    try:
        Path(aside).write_bytes(content)
        os.replace(aside, output)
    finally:
        with suppress(FileNotFoundError):
            Path(aside).unlink()
