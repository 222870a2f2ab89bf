"""`rules`: everything that can be wrong."""

import click
import orjson

from noetl_mcp.rules.catalogue import CATALOGUE, row_of


@click.command("rules")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List everything that can be wrong; 'explain RULE' tells more."""
    if as_json:
        rows = [row_of(rule) for rule in CATALOGUE]
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    width = max(len(rule.name) for rule in CATALOGUE)
    for rule in CATALOGUE:
        click.echo(f"{rule.code}  {rule.name:<{width}}  {rule.severity}")
