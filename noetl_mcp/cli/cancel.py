"""`cancel ID`: end an execution and all that it started."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value
from noetl_mcp.cli.columns import echo


@click.command("cancel")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--force", is_flag=True, help="End the `finally` steps too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, reason: str | None, force: bool, as_json: bool) -> None:
    """End an execution and all that it started.

    What only reads is stopped; `finally` steps still run; a step in doubt is waited for.
    """
    with at_desk("cancel") as desk:
        from noetl_mcp.broker.operate import cancel

        found = cancel(desk, execution, by=by(), reason=reason, force=force)
    if as_json:
        print_value(
            {
                "execution_id": str(execution),
                "executions": [str(one) for one in found.executions],
                "is_over": found.is_over,
                "waits_for": list(found.waits_for),
            }
        )
        return
    if found.is_over:
        echo(f"execution {execution} is cancelled")
        return
    echo(f"execution {execution} is being cancelled")
    for one in found.waits_for:
        echo(f"it waits: {one}")
