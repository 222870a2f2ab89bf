"""`watch ID`: see how an execution goes on, and work on it here when no worker is up."""

import click

from noetl_mcp.cli.at_desk import EXECUTION


@click.command("watch")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def command(execution: int, as_json: bool) -> int:
    """Watch an execution until its end, as `run` does.

    Progress goes to standard error and the result to standard output. When no worker is up, the
    work is done in this process. Exits with 1 when it failed or was cancelled.
    """
    from noetl_mcp.cli.waiting import await_end

    return await_end(execution, as_json=as_json)
