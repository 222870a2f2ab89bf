"""`run FILE`: until there is a runtime, the plan and a sentence."""

import click

from noetl_mcp.cli.reading import plan_of
from noetl_mcp.compiler.explain import explain


@click.command("run")
@click.argument("file")
def command(file: str) -> None:
    """Say what a playbook will do; running it comes with the runtime."""
    click.echo(explain(plan_of(file)), nl=False)
    click.echo("\nNothing was run: this version compiles playbooks and has no runtime yet.")
