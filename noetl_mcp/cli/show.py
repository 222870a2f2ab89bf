"""`show ID [STEP]`: how an execution stands, or everything about one of its steps."""

from collections.abc import Mapping
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

_WIDEST = 2_000


@click.command("show")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step", required=False)
@click.option("--items", is_flag=True, help="List what is done for items of iterators, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(execution: int, step: str | None, items: bool, as_json: bool) -> None:
    """Show how an execution stands: status, steps, result.

    With STEP everything about that step: its result, its error, what it waits for, its items.
    `each[3]` is item 3 of the iterator `each`.
    """
    with at_desk("show") as desk:
        from noetl_mcp.broker.show import show, show_step

        if step is None:
            told = show(desk, execution, items=items)
        else:
            told = show_step(desk, execution, step, items=items)
    if as_json:
        print_value(told)
    elif step is None:
        _tell(told)
    else:
        _tell_step(told)


def _tell(told: Mapping[str, Any]) -> None:
    took = seconds_between(told["started"], told["ended"])
    click.echo(
        f"execution {told['execution_id']}  {told['playbook'] or '-'} v{told['version'] or '-'}"
        f"  {told['status']}  started {short_time(told['started'])} UTC"
        + (f", took {took}" if took else "")
        + (f", round {told['round']}" if told["round"] > 1 else "")
    )
    error = told["error"]
    if error is not None:
        where = f"step '{error['step']}': " if error["step"] else ""
        click.echo(f"{where}{error['message']} [{error['code']}]")
    for one in told["attention"]:
        what = "is in doubt" if one["what"] == "in_doubt" else "waits for a yes or no"
        click.echo(f"! '{one['step']}' {what}: {one['message']}")
    click.echo()
    rows = [["STEP", "STATE", "TYPE", "ATTEMPTS", "WORKER", "TOOK"]]
    for one in told["steps"]:
        rows.append(
            [
                one["name"],
                one["state"],
                one["type"],
                str(one["attempts"]),
                "" if one["worker"] is None else str(one["worker"]),
                seconds_between(one["started"], one["ended"]),
            ]
        )
    table(rows)
    if told["result"] is not None:
        click.echo()
        _tell_value("result", told["result"])


def _tell_step(told: Mapping[str, Any]) -> None:
    shown = {
        key: value
        for key, value in told.items()
        if value is not None and value not in ({}, []) and key not in ("steps",)
    }
    width = max(map(len, shown))
    for key, value in shown.items():
        label = key.replace("_", " ")
        if isinstance(value, dict | list):
            _tell_value(f"{label:<{width}}", value)
        else:
            click.echo(f"{label:<{width}}  {value}")


def _tell_value(label: str, value: Any) -> None:
    """Print a value on one line if it is short; a very long one is cut, visibly."""
    import orjson  # only here: every other use of the command does without it

    text = orjson.dumps(value).decode()
    if len(text) > 80:
        text = "\n" + orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    if len(text) > _WIDEST:
        text = f"{text[:_WIDEST]}\n… {len(text):,} characters; --json prints all of them"
    click.echo(f"{label}  {text}")
