"""`explain FILE | RULE`: what a playbook will do, or what a rule means."""

from pathlib import Path

import click

from noetl_mcp.cli.reading import load_argument, or_what_is_wrong
from noetl_mcp.diagnostics import closest
from noetl_mcp.language import explained
from noetl_mcp.rules.catalogue import BY_NAME, page_of, rule_called


@click.command("explain")
@click.argument("what")
def command(what: str) -> None:
    """Say what the playbook in a file will do, or what a rule (by name or code) means."""
    rule = rule_called(what)
    if rule is not None and not Path(what).is_file():
        click.echo(page_of(rule), nl=False)
        return
    looks_like_rule = "." not in what and "/" not in what and what != "-"
    if looks_like_rule and not Path(what).exists():
        near = closest(what, BY_NAME)
        more = f" Did you mean '{near}'?" if near else " 'noetl-mcp rules' lists the rules."
        raise click.UsageError(f"'{what}' is neither a file nor a rule.{more}")
    with or_what_is_wrong():
        text = explained(load_argument(what))
    click.echo(text, nl=False)
