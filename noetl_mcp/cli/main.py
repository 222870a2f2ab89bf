"""Find the command that was asked for and load it alone; turn surprises into sentences."""

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from noetl_mcp import __version__
from noetl_mcp.errors import NotReadable

COMMANDS = {
    "validate": "Tell everything that is wrong with playbooks.",
    "compile": "Write the plan of a playbook as JSON.",
    "explain": "Say what a playbook will do, or what a rule means.",
    "graph": "Draw the steps of a playbook.",
    "migrate": "Write a playbook of any dialect in the v2 form.",
    "run": "Say what a playbook will do; running it comes with the runtime.",
    "schema": "Print the JSON Schema of playbooks, plans or diagnostics.",
    "rules": "List everything that can be wrong.",
}
OPERATION_FAILED = 1
WRONG_USAGE = 2


class _Commands(click.Group):
    """Commands by name, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"noetl_mcp.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
def commands() -> None:
    """Compile playbooks with an mcp: section, and see everything they will do."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code: 0 fine, 1 wrong, 2 wrong usage."""
    try:
        code = commands.main(arguments, prog_name="noetl-mcp", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except NotReadable as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(OPERATION_FAILED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(OPERATION_FAILED)
    sys.exit(code if isinstance(code, int) else 0)
