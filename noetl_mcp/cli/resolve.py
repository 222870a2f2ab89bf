"""`resolve ID STEP --retry | --accept JSON | --abort`: settle a step in doubt."""

from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned

if TYPE_CHECKING:
    from noetl_mcp.broker.resolve import How

_HOWS = {
    "accept": "it was done, and what you gave is its result",
    "retry": "it is done again",
    "abort": "it failed",
}


@click.command("resolve")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step")
@click.option("--accept", metavar="JSON", help="It was done, and this is its result.")
@click.option("--retry", "again", is_flag=True, help="It was not done; do it again.")
@click.option("--abort", is_flag=True, help="It failed.")
@click.option("--reason", help="Why; it is written into the log.")
@click.option("--force", is_flag=True, help="Do it again although the first may still arrive.")
@click.option("--lease", type=click.IntRange(1), help="The number of the doubt that is meant.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    execution: int,
    step: str,
    accept: str | None,
    again: bool,
    abort: bool,
    reason: str | None,
    force: bool,
    lease: int | None,
    as_json: bool,
) -> None:
    """Settle a step in doubt, after looking whether it was done.

    `each[3]` is item 3 of the iterator `each`. A step that may still arrive is not done again.
    """
    how, value = _decision(accept, again, abort)
    if force and how != "retry":
        raise click.UsageError("--force is for --retry.")
    with at_desk("resolve") as desk:
        from noetl_mcp.broker.resolve import resolve
        from noetl_mcp.broker.show import show_step
        from noetl_mcp.queue.lease import Status

        more: dict[str, Any] = {"reason": reason, "force": force, "lease": lease}
        resolve(desk, execution, step, how, by=by(), value=value, **more)
        state = show_step(desk, execution, step)["state"]
        if as_json:
            print_value({"execution_id": str(execution), "step": step, "state": state})
            return
        click.echo(f"'{step}' is no longer in doubt: {_HOWS[how]}")
        if desk.standing(execution).status == Status.RUNNING:
            tell_unmanned(desk, execution)


def _decision(accept: str | None, again: bool, abort: bool) -> "tuple[How, Any]":
    if (accept is not None) + again + abort != 1:
        raise click.UsageError("Say one of --accept JSON, --retry and --abort.")
    if accept is None:
        return ("retry" if again else "abort"), None
    import orjson  # only here: every other use of the command does without it

    try:
        return "accept", orjson.loads(accept)
    except ValueError as error:
        raise click.UsageError(f"--accept takes JSON, and this is none: {error}") from None
