"""`show ID [STEP]`: how an execution stands, or what there is to know about one of its steps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.at_desk import (
    EXECUTION,
    at_desk,
    print_value,
    say,
    seconds_between,
    short_time,
    table,
)
from noetl_mcp.cli.columns import echo

if TYPE_CHECKING:
    from noetl_mcp.broker.desk import Desk

_WIDEST = 2_000
_MOST_WAITS = 5
_LABEL = 9


@click.command("show")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.argument("step", required=False)
@click.option("--items", is_flag=True, help="List what is done for items of iterators, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with everything that is kept.")
def command(execution: int, step: str | None, items: bool, as_json: bool) -> None:
    """Show how an execution stands: status, steps, result.

    With STEP that step: when it ran, its result or its error, what it waits for, its items.
    `each[3]` is item 3 of the iterator `each`.
    """
    with at_desk("show") as desk:
        from noetl_mcp.broker.show import show, show_step

        if step is None:
            told = show(desk, execution, items=items)
        else:
            told = show_step(desk, execution, step, items=items)
        waits = [] if as_json else _waits(desk, execution, step, told)
    if as_json:
        print_value(told)
    elif step is None:
        _tell(told, waits)
    else:
        _tell_step(told, waits)


def _waits(desk: "Desk", execution: int, step: str | None, told: Mapping[str, Any]) -> list[str]:
    """Return what a step waits for that is not over, or an execution that is being ended."""
    from noetl_mcp.broker.why import why

    if step is None:
        reasons = why(desk, execution) if told["error"] and _ending(told) else []
        return [one.says for one in reasons[:_MOST_WAITS]]
    if told.get("ended") is None:
        return [one.says for one in why(desk, execution, step)[:1]]
    return []


def _ending(told: Mapping[str, Any]) -> str:
    """Say how an execution that still runs comes to its end; nothing when it just goes on."""
    if told["status"] != "running":
        return ""
    halted = told["halted"]["how"] if told["halted"] else None
    if "cancelled" in (halted, (told["error"] or {}).get("code")):
        return " (being cancelled)"
    return " (failing)" if told["error"] or halted == "failing" else ""


def _tell(told: Mapping[str, Any], waits: list[str]) -> None:
    took = seconds_between(told["started"], told["ended"])
    say(
        f"execution {told['execution_id']}  {told['playbook'] or '-'} v{told['version'] or '-'}"
        f"  {told['status']}{_ending(told)}"
        f"  started {short_time(told['started'])} UTC"
        + (f", took {took}" if took else "")
        + (f", round {told['round']}" if told["round"] > 1 else ""),
        indent="  ",
    )
    if told["error"] is not None:
        _tell_error(told["error"])
    for one in told["attention"]:
        say(f"! {_wanted(told['execution_id'], one)}", indent="  ")
    echo()
    table([_HEAD, *map(_row, told["steps"])])
    if told["result"] is not None:
        echo()
        _tell_value("result", told["result"])
    if waits:
        echo()
    for text in waits:
        say(f"it waits: {text}", indent="  ")
    if told["error"] is not None and told["status"] != "running":
        from noetl_mcp.cli.failing import next_of, next_of_cancelled

        echo()
        number = int(told["execution_id"])
        is_cancelled = told["status"] == "cancelled"
        for line in next_of_cancelled(number) if is_cancelled else next_of(number, told["error"]):
            say(line, indent="  ")


_HEAD = ["STEP", "STATE", "TYPE", "ATTEMPTS", "WORKER", "TOOK"]


def _row(one: Mapping[str, Any]) -> list[str]:
    return [
        one["name"],
        _state(one),
        one["type"],
        str(one["attempts"]),
        "" if one["worker"] is None else str(one["worker"]),
        seconds_between(one["started"], one["ended"]),
    ]


def _state(one: Mapping[str, Any]) -> str:
    """Return how a step stands; what has its answer is no longer open, though it was cancelled."""
    answered = ", answered" if one.get("answered") else ""
    return f"{one['state'].replace('_', ' ')}{answered}"


def _wanted(number: str, one: Mapping[str, Any]) -> str:
    """Say what somebody is to decide about a step, and with which command."""
    name, message = one["step"], f" ({one['message']})" if one["message"] else ""
    if one["what"] == "in_doubt":
        return (
            f"'{name}' is in doubt{message}; look whether it was done, then: "
            f"{typed('resolve', number, name)} --accept JSON, --retry or --abort"
        )
    if one["what"] == "worker_gone":
        return f"'{name}' has no worker{message}"
    if one["what"] == "callback":
        command = typed("answer", number, name)
        return (
            f"'{name}' waits for an answer from outside{message}; "
            f"give it with: {command} --value JSON"
        )
    who = " or ".join(one.get("who") or []) or "a person"
    command = typed("approve", number, name)
    return (
        f"'{name}' waits for {who} to say yes or no{message}; "
        f"answer with: {command}, or with --reject"
    )


def _tell_error(error: Mapping[str, Any]) -> None:
    from noetl_mcp.cli.failing import details_of

    where = f"step '{error['step']}': " if error.get("step") else ""
    say(f"{where}{error['message']} [{error['code']}]", indent="  ")
    for line in details_of(error):
        say(f"  {line}", indent="    ")


def _tell_step(told: Mapping[str, Any], waits: list[str]) -> None:
    number, state = told["execution_id"], _state(told)
    hidden = ", added by the compiler" if told.get("hidden") and "[" not in told["name"] else ""
    writes = ", writes" if told["writes"] else ""
    say(f"step '{told['name']}' of execution {number}: {state} ({told['type']}{writes}{hidden})")
    if told.get("started") is not None:
        took = seconds_between(told["started"], told.get("ended"))
        _line("ran", f"{short_time(told['started'])} UTC" + (f", took {took}" if took else ""))
    if told["attempts"]:
        worker = f", on worker {told['worker']}" if told.get("worker") is not None else ""
        _line("attempts", f"{told['attempts']}{worker}")
    if told.get("crashes"):
        _line("crashes", f"{told['crashes']}: so many workers ended while they did it")
    if told["state"] == "in_doubt":
        _line("lease", f"{told['lease']}, the number of the doubt")
    if "items" in told:
        _tell_items(told["items"])
    if told.get("error") is not None:
        from noetl_mcp.cli.failing import details_of

        _line("error", f"{told['error'].get('message')} [{told['error'].get('code')}]")
        for line in details_of(told["error"]):
            _line("", line)
    if told.get("result") is not None:
        _tell_value(f"{'result':<{_LABEL}}", told["result"])
    if told.get("answered"):
        _tell_value(f"{'answer':<{_LABEL}}", told["answer"])
        _line("", f"'{typed('retry', number)}' takes it and does not do the step again")
    for text in waits:
        _line("waits", text)
    if told["state"] == "failed":
        _line("more", _more(number, told))


def _more(number: str, told: Mapping[str, Any]) -> str:
    """Return what tells more: of an iterator its first item that failed, else the events."""
    from noetl_mcp.cli.failing import first_item

    item = first_item(told["error"] or {})
    if item is not None and list(told.get("items", {}).get("states", {})) == [told["name"]]:
        return typed("show", number, f"{told['name']}[{item}]")
    return typed("events", number, "--step", told["name"])


def _line(label: str, text: str) -> None:
    say(f"{label:<{_LABEL}}  {text}", indent=" " * (_LABEL + 2))


def _tell_items(items: Mapping[str, Any]) -> None:
    """Say how many items stand how; list them when they were asked for."""
    many = ", ".join(
        f"{items[key]} {key.replace('_', ' ')}"
        for key in ("total", "at_work", "failed")
        if items.get(key)
    )
    _line("items", many or "none")
    for name, states in items["states"].items():
        counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in states.items())
        _line("", f"'{name}': {counts or 'none so far'}")
    if items.get("steps"):
        echo()
        table([_HEAD, *map(_row, items["steps"])])
        echo()


def _tell_value(label: str, value: Any) -> None:
    """Print a value on one line if it is short; a very long one is cut, visibly."""
    import orjson  # only here: every other use of the command does without it

    text = orjson.dumps(value).decode()
    if len(text) > 60:
        text = "\n" + orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    if len(text) > _WIDEST:
        text = f"{text[:_WIDEST]}\n… {len(text):,} characters; --json prints all of them"
    echo(f"{label}  {text}")
