"""`approve ID STEP`: say yes, or no, to a step that asks."""

from collections.abc import Mapping
from typing import Any

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned


@click.command("approve")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step")
@click.option("--reject", is_flag=True, help="Say no: the step fails.")
@click.option("--comment", help="What is to be kept with the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, step: str, reject: bool, comment: str | None, as_json: bool) -> None:
    """Say yes to a step of type `approve`, or no.

    The first answer counts. Whoever has the database may answer, whoever is asked; the answer is
    kept with the name of who gave it. `each[3]` is item 3 of the iterator `each`.
    """
    with at_desk("approve") as desk:
        from noetl_mcp.broker.answers import approve
        from noetl_mcp.broker.show import show_step

        me, asked = by(), _asked(show_step(desk, execution, step))
        approve(desk, execution, step, by=me, approved=not reject, comment=comment)
        if as_json:
            print_value({"execution_id": str(execution), "step": step, "approved": not reject})
            return
        who = f" (asked of {' or '.join(asked)}; answered as {me.who})" if asked else ""
        click.echo(f"'{step}' was {'rejected' if reject else 'approved'}{who}")
        tell_unmanned(desk, execution)


def _asked(shown: Mapping[str, Any]) -> list[str]:
    """Return who is asked by a step, as it is shown."""
    note = shown.get("note")
    said = note.get("approve") if isinstance(note, dict) else None
    return list(said.get("who") or []) if isinstance(said, dict) else []
