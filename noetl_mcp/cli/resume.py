"""`resume ID`: let a paused execution go on."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned


@click.command("resume")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, as_json: bool) -> None:
    """Let a paused execution go on, and the children that were paused with it."""
    with at_desk("resume") as desk:
        from noetl_mcp.broker.operate import resume

        found = resume(desk, execution, by=by())
        if as_json:
            print_value({"execution_id": str(execution), "executions": [str(one) for one in found]})
            return
        click.echo(f"execution {execution} goes on")
        tell_unmanned(desk, execution)
