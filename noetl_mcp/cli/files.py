"""Read what comes to an end, and write files at once or not at all. Knows no language."""

import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import click

from noetl_mcp.errors import NotReadable

_HANDED = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+")


def demand_file(argument: str) -> None:
    """Refuse what may never come to an end, but for what the shell hands over: `-`, `/dev/fd/63`.

    What is not there, or a folder, is left to whoever reads it.
    """
    if argument == "-" or _HANDED.fullmatch(argument):
        return
    try:
        mode = Path(argument).stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NotReadable(f"cannot read '{argument}': it is no file; '-' reads standard input")


def read_text(argument: str, most_bytes: int) -> str:
    """Return the text in a file, or in standard input; more than `most_bytes` is refused."""
    demand_file(argument)
    try:
        if argument == "-":
            content = sys.stdin.buffer.read(most_bytes + 1)
        else:
            with Path(argument).open("rb") as file:
                content = file.read(most_bytes + 1)
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise NotReadable(f"cannot read '{argument}': {said}") from None
    if len(content) > most_bytes:
        raise NotReadable(f"cannot read '{argument}': it is longer than {most_bytes:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as wrong:
        raise NotReadable(
            f"cannot read '{argument}': it is no text in UTF-8 (byte {wrong.start})"
        ) from None


def write_out(content: bytes, output: str | None) -> None:
    """Write to a file, or to standard output."""
    if output is None or output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(content)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"cannot write '{output}': {said}") from None


def write_whole(content: bytes, output: str | None) -> None:
    """Write at once or not at all: a reader never sees half a file."""
    try:
        target = Path(output).resolve() if output is not None else None
        if target is None or output == "-" or (target.exists() and not target.is_file()):
            write_out(content, output)
            return
        _replace(target, content)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"cannot write '{output}': {said}") from None


def _replace(target: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if target.exists():
            shutil.copymode(target, name)
        else:
            os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


__all__ = ["demand_file", "read_text", "write_out", "write_whole"]
