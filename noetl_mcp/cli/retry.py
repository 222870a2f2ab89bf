"""`retry ID`: go on with an execution that failed or was cancelled."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value


@click.command("retry")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--from", "from_step", metavar="STEP", help="Do this step and all behind it again.")
@click.option(
    "--confirm-write",
    "confirmed",
    multiple=True,
    metavar="STEP",
    help="A step behind it that wrote already, and is to write again.",
)
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--wait", "waits", is_flag=True, help="Wait for its end; work here if nobody does.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    execution: int,
    from_step: str | None,
    confirmed: tuple[str, ...],
    reason: str | None,
    waits: bool,
    as_json: bool,
) -> int:
    """Go on with an execution that failed or was cancelled, from where it stopped.

    What is done stays done and is not done again. A failed child is retried in place.
    """
    with at_desk("retry") as desk:
        from noetl_mcp.broker.retry import retry

        found = retry(
            desk,
            execution,
            by=by(),
            from_step=from_step,
            confirm_writes=confirmed,
            reason=reason,
        )
    if waits:
        from noetl_mcp.cli.waiting import await_end

        return await_end(execution, as_json=as_json)
    if as_json:
        print_value(
            {
                "execution_id": str(execution),
                "status": "running",
                "round": found.round,
                "steps": list(found.steps),
                "children": [str(one) for one in found.children],
            }
        )
        return 0
    names = ", ".join(found.steps[:10]) + (", …" if len(found.steps) > 10 else "")
    begins = f" with {names}" if names else ""
    click.echo(f"execution {execution} goes on{begins} (round {found.round})")
    return 0
