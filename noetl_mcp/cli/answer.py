"""`answer ID STEP`: give a step of type `callback` what it waits for."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned
from noetl_mcp.cli.given import value_of


@click.command("answer")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step")
@click.option("--value", metavar="JSON", help="The answer.")
@click.option("--payload", metavar="FILE", help="A file with the answer; '-' is standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    execution: int, step: str, value: str | None, payload: str | None, as_json: bool
) -> None:
    """Answer a step of type `callback`, which then goes on with that as its result.

    The first answer counts. One that comes before the step waits is kept for it. `each[3]` is item
    3 of the iterator `each`.
    """
    if (value is None) == (payload is None):
        raise click.UsageError("Say one of --value JSON and --payload FILE.")
    said = value_of(value, payload)
    with at_desk("answer") as desk:
        from noetl_mcp.broker.answers import answer

        answer(desk, (execution, step), said, by=by())
        if as_json:
            print_value({"execution_id": str(execution), "step": step, "answered": True})
            return
        click.echo(f"'{step}' has its answer")
        tell_unmanned(desk, execution)
