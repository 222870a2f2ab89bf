"""`signal ID NAME`: tell the steps of an execution that wait for an event that it happened."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned
from noetl_mcp.cli.given import value_of


@click.command("signal")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("name", metavar="EVENT")
@click.option("--value", metavar="JSON", help="What comes with it; the steps' result.")
@click.option("--payload", metavar="FILE", help="A file with that; '-' is standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    execution: int, name: str, value: str | None, payload: str | None, as_json: bool
) -> None:
    """Tell an execution that an event happened: every step goes on that waits for it.

    When none waits so far it is kept for those that will.
    """
    if value is not None and payload is not None:
        raise click.UsageError("Say one of --value JSON and --payload FILE.")
    said = value_of(value, payload)
    with at_desk("signal") as desk:
        from noetl_mcp.broker.answers import send_event

        steps = send_event(desk, execution, name, said, by=by())
        if as_json:
            print_value({"execution_id": str(execution), "event": name, "steps": steps})
            return
        click.echo(f"the event '{name}' was told to {', '.join(map(repr, steps))}")
        tell_unmanned(desk, execution)
