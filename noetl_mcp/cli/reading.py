"""Load and compile what a command was given: a path, or `-` for standard input."""

import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.printing import print_report
from noetl_mcp.compiler.compile import compile_playbook, run_passes
from noetl_mcp.diagnostics import Place, Report
from noetl_mcp.errors import NotReadable
from noetl_mcp.playbook.load import Loaded, load_bytes, load_file
from noetl_mcp.playbook.source import MOST_BYTES, Source
from noetl_mcp.rules import reading
from noetl_mcp.tasks.registry import known_tasks

if TYPE_CHECKING:
    from noetl_mcp.compiler.plan import Plan


_HANDED = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+")


def load_argument(argument: str) -> Loaded:
    """Load a playbook from a file, or from standard input."""
    if argument == "-":
        return load_bytes(sys.stdin.buffer.read(MOST_BYTES * 4 + 1), "<stdin>")
    demand_file(argument)
    return load_file(Path(argument))


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


def check_argument(argument: str) -> Loaded:
    """Load a playbook and run every pass over it; a file that cannot be read is a finding too."""
    try:
        loaded = load_argument(argument)
    except NotReadable as error:
        source = Source(argument, "")
        report = Report(source)
        report.say(reading.CANNOT_READ, Place(), problem=error)
        return Loaded(source, report, None)
    run_passes(loaded, known_tasks())
    return loaded


def plan_of(argument: str) -> "Plan":
    """Return the plan of a playbook; when there is none, tell why and leave with 1."""
    loaded = load_argument(argument)
    plan = compile_playbook(loaded, known_tasks())
    if plan is None:
        print_report(loaded, err=True)
        raise click.exceptions.Exit(1)
    return plan


def write_out(content: bytes, output: str | None) -> None:
    """Write to a file, or to standard output."""
    if output is None or output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"cannot write '{output}': {error.strerror}") from None
