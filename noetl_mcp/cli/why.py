"""`why ID [STEP]`: what an execution, or one of its steps, waits for."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, print_value, say


@click.command("why")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, step: str | None, as_json: bool) -> None:
    """Say what an execution waits for: a step, a permit, a time, a person, a worker, a pause.

    With STEP that step alone, and what those wait for that it waits for.
    """
    with at_desk("why") as desk:
        from noetl_mcp.broker.why import why

        found = why(desk, execution, step, tokens=True)
    if as_json:
        print_value([one.as_json() for one in found])
        return
    for one in found:
        say(one.says)
