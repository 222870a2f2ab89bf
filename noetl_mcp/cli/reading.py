"""Load and compile what a command was given: a path, or `-` for standard input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.files import demand_file
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
