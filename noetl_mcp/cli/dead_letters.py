"""`dead-letters [requeue | drop ID]`: steps that ended every worker that ran them."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, short_time, table
from noetl_mcp.cli.columns import echo


@click.group("dead-letters", invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, help="So many at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List the steps that ended every worker that ran them, the newest first."""
    if ctx.invoked_subcommand is not None:
        return
    with at_desk("dead letters") as desk:
        from noetl_mcp.broker.dead_letters import dead_letters

        found = dead_letters(desk, most=limit)
    if as_json:
        print_value(found)
        return
    if not found:
        echo("there are none", err=True)
        return
    rows = [["ID", "PLAYBOOK", "STEP", "CRASHES", "ENDED (UTC)"]]
    rows += [
        [
            one["execution_id"],
            one["playbook"] or "-",
            one["step"],
            str(one["crashes"]),
            short_time(one["ended"]),
        ]
        for one in found
    ]
    table(rows)


@command.command("requeue")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def requeue_(execution: int, reason: str | None, as_json: bool) -> None:
    """Do the dead steps of an execution again, in a further round of it."""
    with at_desk("dead letters") as desk:
        from noetl_mcp.broker.dead_letters import requeue

        found = requeue(desk, execution, by=by(), reason=reason)
    if as_json:
        told = {"execution_id": str(execution), "round": found.round, "steps": list(found.steps)}
        print_value(told)
        return
    echo(f"execution {execution} goes on with {', '.join(found.steps)}")


@command.command("drop")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def drop_(execution: int, reason: str | None, as_json: bool) -> None:
    """Let the dead letters of an execution go; it stays failed."""
    with at_desk("dead letters") as desk:
        from noetl_mcp.broker.dead_letters import drop

        found = drop(desk, execution, by=by(), reason=reason)
    if as_json:
        print_value({"execution_id": str(execution), "steps": found})
        return
    echo(f"dropped {', '.join(found)} of execution {execution}")
