"""`events ID`: what happened in an execution, or what happens in it from now on."""

import sys
from collections.abc import Iterable, Sequence
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import EXECUTION
from noetl_mcp.cli.columns import echo
from noetl_mcp.cli.connecting import opened_home

if TYPE_CHECKING:
    from noetl_mcp.database import Connection, TupleRow
    from noetl_mcp.events.event import Event
    from noetl_mcp.events.log import Log

_WIDEST = 160
_STEP = 12


@click.command("events")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on until the execution has ended.")
@click.option("--step", metavar="STEP", help="Only those of a step; 'each[3]' is one item.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only those of a kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --follow a line for each.")
def command(
    execution: int, follow: bool, step: str | None, kinds: tuple[str, ...], as_json: bool
) -> None:
    """List the events of an execution in their order.

    With --follow those that come, too, until the execution has ended.
    """
    with opened_home() as home, home.connect("events") as connection:
        from noetl_mcp.events.log import Following, Log
        from noetl_mcp.events.log import follow as events_as_they_come

        log = Log(connection)
        _demand_kinds(log, kinds)
        if log.status(execution) is None:
            raise click.ClickException(f"there is no execution {execution}")
        steps = (None,) if step is None else _names(connection, execution, step)
        if follow:
            only = steps[0] if len(steps) == 1 else None
            following = Following(log, execution, step=only, kinds=kinds)
            for some in events_as_they_come(following):
                _tell_lines((one for one in some if only or _is_of(one, steps)), as_json)
            return
        listed = (log.events(execution, step=one, kinds=kinds) for one in steps)
        found = merge(*listed, key=attrgetter("id"))
        if as_json:
            _tell_json(found)
        elif not _tell_lines(found, as_json=False):
            echo("there are none", err=True)


def _demand_kinds(log: "Log", kinds: Sequence[str]) -> None:
    known = log.kinds()
    for kind in kinds:
        if kind not in known:
            from noetl_mcp.diagnostics import closest

            near = closest(kind, known)
            more = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"There is no kind '{kind}'.{more}")


def _names(connection: "Connection[TupleRow]", execution: int, step: str) -> tuple[str, ...]:
    from noetl_mcp.broker.progress import Progress, names_in_log
    from noetl_mcp.broker.refusals import Unknown

    try:
        return names_in_log(Progress(connection, execution), step)
    except Unknown as problem:
        raise click.ClickException(str(problem)) from None


def _is_of(event: "Event", steps: Sequence[str | None]) -> bool:
    """Whether an event is about one of these steps; about any when none is named."""
    return steps == (None,) or event.step in steps or event.where in steps


def _tell_json(events: "Iterable[Event]") -> None:
    """Print one array, event by event: there may be many."""
    import orjson  # only here: every other use of the command does without it

    sign = "["
    for event in events:
        echo(f"{sign}\n  {orjson.dumps(event.as_json()).decode()}", nl=False)
        sign = ","
    echo("[]" if sign == "[" else "\n]")


def _tell_lines(events: "Iterable[Event]", as_json: bool) -> int:
    """Print a line for each event; return how many there were."""
    count = 0
    for event in events:
        count += 1
        echo(_json_line(event) if as_json else line(event))
    sys.stdout.flush()
    return count


def _json_line(event: "Event") -> str:
    import orjson  # only here: every other use of the command does without it

    return orjson.dumps(event.as_json()).decode()


def line(event: "Event") -> str:
    """Return an event on one line, for people."""
    when = event.ts.isoformat(sep=" ", timespec="milliseconds")[:23]
    attempt = f" #{event.attempt}" if event.attempt and event.attempt > 1 else ""
    said = _said(event.data)
    told = f"  {said}" if said else ""
    where = f"{event.where}{attempt}" or "-"
    return f"{when}  {event.kind:<20}  {where:<{_STEP}}{told}".rstrip()


def _said(data: Any) -> str:
    """Return what an event tells, cut visibly when it is long."""
    import orjson  # only here: every other use of the command does without it

    if data.get("text") is not None:
        return _short(str(data["text"]).rstrip("\n"))
    if isinstance(data.get("error"), dict):
        error = data["error"]
        return _short(f"{error.get('message')} [{error.get('code')}]")
    shown = {key: one for key, one in data.items() if key not in ("ready_at", "leased_at", "extra")}
    return _short(orjson.dumps(shown).decode()) if shown else ""


def _short(text: str) -> str:
    text = " ".join(text.splitlines())
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
