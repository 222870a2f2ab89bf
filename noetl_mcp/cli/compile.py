"""`compile FILE`: the plan as JSON."""

import click

from noetl_mcp.cli.files import write_out
from noetl_mcp.cli.reading import load_argument, or_what_is_wrong
from noetl_mcp.language import planned


@click.command("compile")
@click.argument("file")
@click.option("-o", "--output", help="Where to write; standard output when missing.")
def command(file: str, output: str | None) -> None:
    """Write the plan of a playbook as JSON."""
    with or_what_is_wrong():
        plan = planned(load_argument(file))
    write_out(plan.to_json(pretty=True) + b"\n", output)
