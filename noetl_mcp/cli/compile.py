"""`compile FILE`: the plan as JSON."""

import click

from noetl_mcp.cli.files import write_out
from noetl_mcp.cli.reading import plan_of


@click.command("compile")
@click.argument("file")
@click.option("-o", "--output", help="Where to write; standard output when missing.")
def command(file: str, output: str | None) -> None:
    """Write the plan of a playbook as JSON."""
    write_out(plan_of(file).to_json(pretty=True) + b"\n", output)
