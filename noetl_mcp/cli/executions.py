"""`executions`: which there are and how they stand, the newest first."""

from typing import Any

import click

from noetl_mcp.cli.at_desk import (
    EXECUTION,
    at_desk,
    print_value,
    seconds_between,
    short_time,
    table,
)
from noetl_mcp.cli.columns import GAP, echo, folded, line, width, widths_of

STATUS = ("running", "paused", "completed", "failed", "cancelled")


@click.command("executions")
@click.option("--status", type=click.Choice(STATUS), help="Only those that stand so.")
@click.option("--path", help="Only those of a playbook; with '/' at the end, of a folder.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="Only those with a label.")
@click.option("--parent", type=EXECUTION, metavar="ID", help="Only those that another started.")
@click.option("--roots", is_flag=True, help="Leave out those that others started.")
@click.option("--attention", is_flag=True, help="Only those in which somebody is to decide.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, help="So many at most.")
@click.option("--before", type=EXECUTION, metavar="ID", help="Go on below this one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    status: str | None,
    path: str | None,
    labels: tuple[str, ...],
    parent: int | None,
    roots: bool,
    attention: bool,
    limit: int,
    before: int | None,
    as_json: bool,
) -> None:
    """List executions, the newest first.

    With --attention those with a step in doubt, one that waits for an approval or an answer, or
    one whose worker is gone while no other is up.
    """
    wanted = dict(_label(text) for text in labels)
    with at_desk("executions") as desk:
        from noetl_mcp.broker.listing import Filter, executions

        said = Filter(status, path, wanted, parent, roots, attention)
        found = executions(desk, said, before=before, most=limit)
    if as_json:
        print_value(found)
        return
    if not found:
        echo("there are none", err=True)
        return
    _tell(found)
    if len(found) == limit:
        echo(f"more: --before {found[-1]['execution_id']}", err=True)


def _tell(found: list[dict[str, Any]]) -> None:
    """Print a table; why one stands so gets a line of its own where there is no room beside it."""
    rows = [["ID", "STATUS", "PLAYBOOK", "STARTED (UTC)", "TOOK"]]
    for one in found:
        rows.append(
            [
                one["execution_id"],
                one["status"],
                f"{one['playbook'] or '-'} v{one['version'] or '-'}",
                short_time(one["started"]),
                seconds_between(one["started"], one["ended"]),
            ]
        )
    whys = ["WHY", *map(why, found)]
    wide, widths = width(), widths_of(rows)
    left = None if wide is None else wide - sum(widths) - GAP * len(widths)
    if left is None or left >= max(map(len, whys)):
        table([[*row, text] for row, text in zip(rows, whys, strict=True)])
        return
    assert wide is not None
    rows, widths = _narrowed(rows, widths, max(_LEAST_NAME, widths[_PLAYBOOK] + min(0, left + GAP)))
    indent = " " * (widths[0] + GAP)
    echo(line(rows[0], widths))
    for row, text in zip(rows[1:], whys[1:], strict=True):
        echo(line(row, widths))
        for part in folded(text, wide - len(indent)) if text else ():
            echo(f"{indent}{part}")


_PLAYBOOK, _LEAST_NAME = 2, 12


def _narrowed(
    rows: list[list[str]], widths: list[int], most: int
) -> tuple[list[list[str]], list[int]]:
    """Return the rows with names of playbooks that are no longer than that; their ends count."""
    cut = [
        [name if number != _PLAYBOOK else _end_of(name, most) for number, name in enumerate(row)]
        for row in rows
    ]
    return cut, widths_of(cut)


def _end_of(name: str, most: int) -> str:
    return name if len(name) <= most else f"…{name[len(name) - most + 1 :]}"


_WANTS = {
    "in_doubt": "is in doubt",
    "approval": "waits for a yes or no",
    "callback": "waits for an answer",
    "worker_gone": "has no worker",
}
_HALTS = {"paused": "paused", "failing": "it is failing", "cancelled": "it is being cancelled"}


def why(one: dict[str, Any]) -> str:
    """Say what is wrong with an execution, or who is to do what about it."""
    parts = []
    if one["halted"] is not None:
        by = f" by {one['halted']['by']}" if one["halted"]["by"] else ""
        message = one["halted"]["message"]
        how = _HALTS[one["halted"]["how"]]
        parts.append(f"{how}: {message}" if message else f"{how}{by}")
    for wanted in one["attention"][:1]:
        who = f" of {' or '.join(wanted['who'])}" if wanted.get("who") else ""
        message = f": {wanted['message']}" if wanted["message"] else ""
        parts.append(f"'{wanted['step']}' {_WANTS[wanted['what']]}{who}{message}")
    if one["attention_total"] > 1:
        parts.append(f"{one['attention_total'] - 1} more like that")
    error = one["error"]
    if error is not None and error.get("code") == "cancelled" and one["status"] == "running":
        parts.append(f"{_HALTS['cancelled']}: {error.get('message') or ''}")
    elif error is not None:
        where = f"{error['step']}: " if error.get("step") else ""
        parts.append(f"{where}{error.get('message') or ''}")
    return " ".join("; ".join(parts).split())


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.UsageError(f"'{text}' is not of the form NAME=VALUE")
    return key, value
