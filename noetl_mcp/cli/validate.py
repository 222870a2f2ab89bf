"""`validate FILE…`: everything that is wrong, at once."""

import click

from noetl_mcp.cli.printing import counts, print_json, print_report
from noetl_mcp.cli.reading import check_argument


@click.command("validate")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="How to print."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", is_flag=True, help="Warnings and hints count as errors.")
@click.pass_context
def command(
    ctx: click.Context, files: tuple[str, ...], form: str, as_json: bool, strict: bool
) -> None:
    """Tell everything that is wrong with playbooks.

    Exits with 1 when there is an error (with --strict: any finding), else with 0. `-` reads
    standard input.
    """
    checked = [check_argument(file) for file in files]
    found = [one for loaded in checked for one in loaded.report]
    if as_json or form == "json":
        print_json(found)
    else:
        for loaded in checked:
            print_report(loaded)
        said = counts(loaded.report for loaded in checked)
        what = files[0] if len(files) == 1 else f"{len(files)} files"
        click.echo(f"{what}: {said or 'nothing wrong'}")
    is_wrong = any(loaded.report.has() for loaded in checked) or (strict and found)
    ctx.exit(1 if is_wrong else 0)
