"""`schema [NAME]`: the JSON Schema of playbooks, plans or diagnostics."""

import click

from noetl_mcp.cli.files import write_out
from noetl_mcp.compiler.schema import SCHEMAS, schema_text
from noetl_mcp.tasks.registry import known_tasks


@click.command("schema")
@click.argument("name", type=click.Choice(tuple(SCHEMAS)), default="playbook")
@click.option("-o", "--output", help="Where to write; standard output when missing.")
def command(name: str, output: str | None) -> None:
    """Print the JSON Schema of playbooks, plans or diagnostics.

    An editor with a YAML language server completes and checks a playbook that begins with
    '# yaml-language-server: $schema=PATH', where PATH is the file written with -o. The schema knows
    the task types that installed packages bring.
    """
    write_out(schema_text(name, known_tasks()), output)
