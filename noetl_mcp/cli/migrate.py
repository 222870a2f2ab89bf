"""`migrate FILE`: the playbook in the v2 form, whatever dialect it is written in.

Writes nothing unless the new text compiles to the very same plan.
"""

import click

from noetl_mcp.cli.files import write_whole
from noetl_mcp.cli.printing import print_report, told
from noetl_mcp.cli.reading import load_argument
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import Loaded, load
from noetl_mcp.playbook.writing import write_playbook
from noetl_mcp.rules import dialect
from noetl_mcp.tasks.registry import known_tasks

_LOSSES = (dialect.DROPPED_KEY, dialect.KEYCHAIN, dialect.SEVERAL_INPUTS)


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
    text = migrated(loaded)
    for found in loaded.report:
        if found.rule in _LOSSES:
            click.echo(told(found, loaded.source, colour=False) + "\n", err=True)
    write_whole(text.encode(), output)


def migrated(loaded: Loaded) -> str:
    """Return the v2 text of what was loaded; when there is none, tell why and leave with 1."""
    tasks = known_tasks()
    plan = compile_playbook(loaded, tasks)
    if plan is None:
        print_report(loaded, err=True)
        raise click.exceptions.Exit(1)
    text = write_playbook(loaded.source)
    again = compile_playbook(load(text, loaded.source.file), tasks)
    if again is None or again.digest != plan.digest:
        raise click.ClickException(
            f"'{loaded.source.file}' cannot be written in the v2 form without a change of its "
            "plan; nothing was written. Please report this."
        )
    return text
