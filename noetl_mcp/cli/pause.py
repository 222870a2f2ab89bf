"""`pause ID`: let nothing further of an execution begin."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value


@click.command("pause")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, reason: str | None, as_json: bool) -> None:
    """Let nothing further of an execution and its children begin.

    What runs comes to its end, and clocks run on.
    """
    with at_desk("pause") as desk:
        from noetl_mcp.broker.operate import pause

        found = pause(desk, execution, by=by(), reason=reason)
    if as_json:
        print_value({"execution_id": str(execution), "executions": [str(one) for one in found]})
        return
    click.echo(f"execution {execution} is paused; go on with: noetl-mcp resume {execution}")
