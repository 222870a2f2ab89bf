"""`approve ID STEP`: say yes, or no, to a step that asks."""

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value


@click.command("approve")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step")
@click.option("--reject", is_flag=True, help="Say no: the step fails.")
@click.option("--comment", help="What is to be kept with the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, step: str, reject: bool, comment: str | None, as_json: bool) -> None:
    """Say yes to a step of type `approve`, or no.

    The first answer counts. `each[3]` is item 3 of the iterator `each`.
    """
    with at_desk("approve") as desk:
        from noetl_mcp.broker.answers import approve

        approve(desk, execution, step, by=by(), approved=not reject, comment=comment)
    if as_json:
        print_value({"execution_id": str(execution), "step": step, "approved": not reject})
        return
    click.echo(f"'{step}' was {'rejected' if reject else 'approved'}")
