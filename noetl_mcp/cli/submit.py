"""`submit FILE…`: keep playbooks in the catalog. The same as `catalog submit`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import print_value

if TYPE_CHECKING:
    from noetl_mcp.catalog.catalog import Catalog


@click.command("submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(files: tuple[str, ...], as_json: bool) -> None:
    """Keep playbooks in the catalog; a text that is there already is no new version.

    What does not compile is not kept: everything wrong is told, and the command exits with 1.
    """
    submit(files, as_json=as_json)


def submit(files: Iterable[str], *, as_json: bool) -> None:
    """Keep the playbooks of some files, and leave with 1 when one of them is not kept."""
    from noetl_mcp.catalog.catalog import Catalog
    from noetl_mcp.cli.connecting import opened_home
    from noetl_mcp.tasks.registry import known_tasks

    with opened_home() as home, home.connect("catalog") as connection:
        catalog = Catalog(connection, known_tasks())
        told = [_keep(catalog, file, as_json) for file in files]
    if as_json:
        print_value(told)
    if any("diagnostics" in one for one in told):
        raise click.exceptions.Exit(1)


def _keep(catalog: "Catalog", file: str, as_json: bool) -> dict[str, Any]:
    """Keep one playbook; return what came of it."""
    from noetl_mcp.cli.printing import print_report
    from noetl_mcp.cli.reading import load_argument
    from noetl_mcp.compiler.compile import Broken

    loaded = load_argument(file)
    try:
        kept = catalog.submit(loaded)
    except Broken as broken:
        if not as_json:
            print_report(broken.loaded, err=True)
            click.echo(f"{file}: not kept", err=True)
        return {"file": file, "diagnostics": [one.as_json() for one in broken.report]}
    if not as_json:
        print_report(loaded, err=True)
        new = "" if kept.is_new else " (it is there already)"
        click.echo(f"{kept.path} version {kept.version}{new}")
    return {
        "file": file,
        "path": kept.path,
        "version": kept.version,
        "plan": kept.digest,
        "is_new": kept.is_new,
    }
