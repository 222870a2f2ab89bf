"""Find the command that was asked for and load it alone; turn surprises into sentences."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import StringIO
from typing import Any, NoReturn, TextIO

import click

from noetl_mcp import __version__
from noetl_mcp.cli.columns import echo
from noetl_mcp.errors import NotReadable

COMMANDS = {
    "validate": "Tell everything that is wrong with playbooks.",
    "compile": "Write the plan of a playbook as JSON.",
    "explain": "Say what a playbook will do, or what a rule means.",
    "graph": "Draw the steps of a playbook.",
    "migrate": "Write a playbook of any dialect in the v2 form.",
    "run": "Run a playbook: a file, or a path in the catalog.",
    "watch": "Watch an execution until its end.",
    "submit": "Keep playbooks in the catalog.",
    "catalog": "Look at the playbooks that are kept.",
    "executions": "List executions, the newest first.",
    "show": "Show how an execution, or one of its steps, stands.",
    "why": "Say what an execution, or one of its steps, waits for.",
    "events": "List what happened in an execution, or follow it.",
    "ask": "Ask the log a question, by name or in SQL.",
    "cancel": "End an execution and all that it started.",
    "pause": "Let nothing further of an execution begin.",
    "resume": "Let a paused execution go on.",
    "retry": "Go on with an execution that failed or was cancelled.",
    "rerun": "Start the same once more.",
    "resolve": "Settle a step in doubt.",
    "approve": "Say yes, or no, to a step that asks.",
    "answer": "Answer a step that waits for a callback.",
    "signal": "Tell steps that wait for an event that it happened.",
    "dead-letters": "List, retry or drop steps that ended their workers.",
    "credential": "Keep credentials, sealed, under names that playbooks use.",
    "db": "Run the embedded database, or see which one is used.",
    "worker": "Take steps and do them, in some processes.",
    "serve": "Serve the JSON API, and work.",
    "token": "Make tokens for those who use the server from elsewhere.",
    "floorplan": "Draw, check, change, measure and export floor plans.",
    "revit": "Answer as a Revit server does, without Revit.",
    "mcp": "Serve tools to an assistant, over standard input and output.",
    "model": "Run a small model on this machine, to try turns.",
    "status": "Say how the installation is.",
    "doctor": "Look for everything that could be wrong with the installation.",
    "schema": "Print the JSON Schema of playbooks, plans or diagnostics.",
    "rules": "List everything that can be wrong.",
}
GROUPS = {
    "About the language": "validate explain compile graph migrate schema rules",
    "Start": "run submit catalog rerun",
    "Watch": "watch executions show why events ask",
    "Decide": "approve answer signal resolve cancel pause resume retry dead-letters",
    "Operate": "worker serve db model status doctor",
    "Plans and models": "floorplan revit mcp",
    "Keys": "credential token",
}
"""The commands as the help lists them."""
SILENT = frozenset(
    (
        *("validate", "compile", "explain", "graph", "migrate", "schema", "rules"),
        *("floorplan", "revit", "mcp", "doctor"),
    )
)
"""Commands that need no settings, and the one that tells of strange ones itself."""
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
OPERATION_FAILED = 1
WRONG_USAGE = 2


class _Unread(Exception):
    """Whoever reads what is written has left."""


class _Commands(click.Group):
    """Commands by name, each imported when it is asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click would leave with 1 when a pipe is broken."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _Unread from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        command: click.Command = import_module(f"noetl_mcp.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                rows = [(f"{name:<{width}}", COMMANDS[name]) for name in names.split()]
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("To begin"):
            formatter.write_text("noetl-mcp validate FILE, explain FILE, run FILE")
            formatter.write_text("--help behind a command tells its options.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from noetl_mcp.diagnostics import closest

            near = closest(args[0], COMMANDS)
            more = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"There is no command '{args[0]}'.{more}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noetl-mcp")
@click.pass_context
def commands(context: click.Context) -> None:
    """Compile playbooks, run them so that they survive crashes, and see everything they do."""
    if context.invoked_subcommand in SILENT:
        return
    from noetl_mcp.settings import strange_names  # only here: the others start without it

    for says in strange_names(os.environ):
        echo(f"Warning: {says}", err=True)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code: 0 fine, 1 wrong, 2 wrong usage.

    Whoever reads no further has what he wanted: that is fine.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _demand_text(given)
        code = commands.main(given, prog_name="noetl-mcp", standalone_mode=False)
        for stream in _streams():
            stream.flush()
    except click.exceptions.Abort:
        _leave(130, "stopped")
    except click.ClickException as error:
        with suppress(OSError):
            _show(error)
        _leave(error.exit_code)
    except NotReadable as error:
        _leave(OPERATION_FAILED, f"Error: {error}")
    except SystemExit as left:  # rich leaves by itself when a pipe is broken
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        _leave(0)
    except (_Unread, BrokenPipeError):
        _leave(0)
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        _leave(OPERATION_FAILED, f"Error: what it says cannot be written: {error.strerror}")
    except RecursionError:
        _leave(OPERATION_FAILED, "Error: what was given is too deep; make it less nested")
    except _refusals() as error:
        said = " ".join(str(error).split())
        _leave(OPERATION_FAILED, f"Error: the database does not take a value of this: {said}")
    sys.exit(code if isinstance(code, int) else 0)


def _show(error: click.ClickException) -> None:
    """Show an error; it may repeat what others wrote."""
    shown = StringIO()
    error.show(shown)
    echo(shown.getvalue(), err=True, nl=False)


def _demand_text(arguments: Sequence[str]) -> None:
    """Refuse bytes that are no text: nothing that is written down could hold them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="replace").decode()
            raise click.UsageError(f"'{shown[:100]}' is not text in UTF-8.") from None


def _refusals() -> tuple[type[Exception], ...]:
    """Return how a database says that a value is too large; none where none was asked."""
    if "psycopg" not in sys.modules:
        return ()
    from psycopg.errors import DataError, ProgramLimitExceeded

    return (DataError, ProgramLimitExceeded)


def _streams() -> list[TextIO]:
    """Return where is written to; either may have been closed before we began."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None]


def _leave(code: int, says: str | None = None) -> NoReturn:
    """Leave with a sentence; what was not written out is given up, and nobody is told again."""
    with suppress(OSError):
        if says is not None:
            echo(says, err=True)
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in _streams():
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    sys.exit(code)
