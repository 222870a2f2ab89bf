"""`retry ID`: go on with an execution that failed or was cancelled."""

from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, say, tell_unmanned

if TYPE_CHECKING:
    from noetl_mcp.broker.desk import Desk
    from noetl_mcp.broker.retry import Retried


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
        from noetl_mcp.broker.refusals import NotAllowed
        from noetl_mcp.broker.retry import retry
        from noetl_mcp.broker.typed import typed

        _demand_steps(desk, execution, confirmed)
        try:
            said: dict[str, Any] = {
                "from_step": from_step,
                "confirm_writes": confirmed,
                "reason": reason,
            }
            found = retry(desk, execution, by=by(), **said)
        except NotAllowed as refusal:
            if desk.standing(execution).word != "running":
                raise
            raise NotAllowed(f"{refusal}; see it go on: {typed('watch', execution)}") from None
        if not waits and not as_json:
            _tell(found, execution)
            tell_unmanned(desk, execution)
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


def _demand_steps(desk: "Desk", execution: int, names: tuple[str, ...]) -> None:
    """Refuse names that no step has."""
    from noetl_mcp.broker.places import place

    program = desk.program(desk.context(execution).plan)
    for name in names:
        place(program, name)


def _tell(found: "Retried", execution: int) -> None:
    names = ", ".join(found.steps[:10]) + (", …" if len(found.steps) > 10 else "")
    begins = f" with {names}" if names else ""
    say(f"execution {execution} goes on{begins} (round {found.round})")
