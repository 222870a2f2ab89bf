"""`executions`: which there are and how they stand, the newest first."""

import click

from noetl_mcp.cli.at_desk import (
    EXECUTION,
    at_desk,
    print_value,
    seconds_between,
    short_time,
    table,
)

STATUS = ("running", "paused", "completed", "failed", "cancelled")


@click.command("executions")
@click.option("--status", type=click.Choice(STATUS), help="Only those that stand so.")
@click.option("--path", help="Only those of a playbook; with '/' at the end, of a folder.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="Only those with a label.")
@click.option("--parent", type=EXECUTION, metavar="ID", help="Only those that another started.")
@click.option("--roots", is_flag=True, help="Leave out those that others started.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, help="So many at most.")
@click.option("--before", type=EXECUTION, metavar="ID", help="Go on below this one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    status: str | None,
    path: str | None,
    labels: tuple[str, ...],
    parent: int | None,
    roots: bool,
    limit: int,
    before: int | None,
    as_json: bool,
) -> None:
    """List executions, the newest first."""
    wanted = dict(_label(text) for text in labels)
    with at_desk("executions") as desk:
        from noetl_mcp.broker.listing import Filter, executions

        said = Filter(status, path, wanted, parent, roots)
        found = executions(desk, said, before=before, most=limit)
    if as_json:
        print_value(found)
        return
    if not found:
        click.echo("there are none", err=True)
        return
    rows = [["ID", "STATUS", "PLAYBOOK", "STARTED (UTC)", "TOOK", "WHY"]]
    for one in found:
        error = one["error"] or {}
        where = f"{error['step']}: " if error.get("step") else ""
        why = f"{where}{error.get('message') or ''}"
        rows.append(
            [
                one["execution_id"],
                one["status"],
                f"{one['playbook'] or '-'} v{one['version'] or '-'}",
                short_time(one["started"]),
                seconds_between(one["started"], one["ended"]),
                why if len(why) <= 80 else why[:79] + "…",
            ]
        )
    table(rows)
    if len(found) == limit:
        click.echo(f"more: --before {found[-1]['execution_id']}", err=True)


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.UsageError(f"'{text}' is not of the form NAME=VALUE")
    return key, value
