"""Load what a command was given: a path, or `-` for standard input."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from noetl_mcp.cli.files import demand_file
from noetl_mcp.cli.printing import print_report
from noetl_mcp.diagnostics import Place, Report
from noetl_mcp.errors import NotReadable
from noetl_mcp.language import Broken, checked
from noetl_mcp.playbook.load import Loaded, load_bytes, load_file
from noetl_mcp.playbook.source import MOST_BYTES, Source
from noetl_mcp.rules import reading


def load_argument(argument: str) -> Loaded:
    """Load a playbook from a file, or from standard input."""
    if argument == "-":
        return load_bytes(sys.stdin.buffer.read(MOST_BYTES * 4 + 1), "<stdin>")
    demand_file(argument)
    return load_file(Path(argument))


def check_argument(argument: str) -> Loaded:
    """Load a playbook and run every pass over it; a file that cannot be read is a finding too."""
    try:
        loaded = load_argument(argument)
    except NotReadable as error:
        source = Source(argument, "")
        report = Report(source)
        report.say(reading.CANNOT_READ, Place(), problem=error)
        return Loaded(source, report, None)
    return checked(loaded)


@contextmanager
def or_what_is_wrong() -> Iterator[None]:
    """When a playbook does not compile, tell why and leave with 1."""
    try:
        yield
    except Broken as broken:
        print_report(broken.loaded, err=True)
        raise click.exceptions.Exit(1) from None


__all__ = ["check_argument", "load_argument", "or_what_is_wrong"]
