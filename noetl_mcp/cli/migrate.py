"""`migrate FILE`: the playbook in the v2 form, whatever dialect it is written in.

Writes nothing unless the new text compiles to the very same plan.
"""

import click

from noetl_mcp.cli.files import write_whole
from noetl_mcp.cli.printing import told
from noetl_mcp.cli.reading import load_argument, or_what_is_wrong
from noetl_mcp.language import NotTheSame, migrated


@click.command("migrate")
@click.argument("file")
@click.option(
    "-o", "--output", help="Where to write, FILE itself perhaps; standard output when missing."
)
def command(file: str, output: str | None) -> None:
    """Write a playbook of any dialect in the v2 form.

    The result compiles to the same plan. Comments are kept; anchors are written out. What the v2
    form has no place for is told on standard error. With errors in FILE nothing is written.
    """
    loaded = load_argument(file)
    try:
        with or_what_is_wrong():
            done = migrated(loaded)
    except NotTheSame as problem:
        raise click.ClickException(str(problem)) from None
    for found in done.lost:
        click.echo(told(found, loaded.source, colour=False) + "\n", err=True)
    write_whole(done.text.encode(), output)
