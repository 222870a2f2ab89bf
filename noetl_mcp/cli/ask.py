"""`ask [QUESTION | SQL]`: questions about the log, answered by DuckDB over a copy of it."""

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import print_value
from noetl_mcp.cli.columns import tamed
from noetl_mcp.cli.connecting import opened_home

if TYPE_CHECKING:
    from noetl_mcp.events.ask import Answer, Copy

_WIDE = 100_000
_MOST_QUESTION = 2**20


class Since(click.ParamType[datetime]):
    """A time, or how long ago it was."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the time that was written: `2h`, `7d`, `2026-01-31`, `2026-01-31T08:00`."""
        from noetl_mcp.events.since import since

        try:
            return since(str(value), datetime.now(UTC))
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


@click.command("ask")
@click.argument("question", nargs=-1, metavar="[QUESTION | SQL]")
@click.option("--since", type=Since(), help="Look only at what is newer: 30m, 12h, 7d or a time.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=1_000, help="So many rows at most."
)
@click.option("--sql", "only_sql", is_flag=True, help="Print the SQL of QUESTION, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    question: tuple[str, ...], since: datetime | None, limit: int, only_sql: bool, as_json: bool
) -> None:
    """Ask the log: a question by its name, or a select of your own; '-' reads one.

    Without a question the names are listed. A select sees the tables 'events', 'attempts', 'steps'
    and 'executions'; all times are UTC.
    """
    if not question:
        _list(as_json)
        return
    sql = _sql(" ".join(question))
    if only_sql:
        click.echo(sql)
        return
    from noetl_mcp.events.ask import NotAnswered, names_results
    from noetl_mcp.events.memory import bounded_memory
    from noetl_mcp.events.questions import questions

    results = " ".join(question) not in questions() and names_results(sql)
    _tidy_when_ended()
    with opened_home() as home, _copy(home.dsn, since, limit, results) as copy:
        try:
            with bounded_memory():
                answer = copy.ask(sql)
        except NotAnswered as problem:
            raise click.ClickException(str(problem)) from None
        events = copy.events
    if as_json:
        print_value(answer.as_json())
    else:
        _tell(answer)
    count = len(answer.rows)
    said = f"{count} row{'s' * (count != 1)} from {events:,} events"
    if answer.is_cut:
        said = f"only the first {said}; --limit gives more"
    if answer.is_cut or not as_json:
        times = f"{copy.seconds:.1f} s to read, {answer.seconds:.2f} s to answer"
        click.echo(f"{said} ({times})", err=True)


def _list(as_json: bool) -> None:
    from noetl_mcp.events.questions import questions

    named = questions().values()
    if as_json:
        print_value([{"name": one.name, "says": one.says, "sql": one.sql} for one in named])
        return
    width = max(len(one.name) for one in named)
    for one in named:
        click.echo(f"{one.name:<{width}}  {one.says}")


def _sql(asked: str) -> str:
    """Return the SQL behind a name, or what was written when it is SQL."""
    from noetl_mcp.events.questions import questions

    named = questions()
    if asked == "-":
        return _read()
    if asked in named:
        return named[asked].sql
    if re.search(r"\s", asked.strip()):
        return asked
    from noetl_mcp.diagnostics import closest

    near = closest(asked, named)
    more = f" Did you mean '{near}'?" if near else " 'ask' alone lists them."
    raise click.UsageError(f"There is no question '{asked}'.{more}")


def _read() -> str:
    """Return what standard input asks."""
    raw = sys.stdin.buffer.read(_MOST_QUESTION + 1)
    if len(raw) > _MOST_QUESTION:
        raise click.UsageError(f"A question has {_MOST_QUESTION:,} bytes at most.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError("The question is not text in UTF-8.") from None


def _tidy_when_ended() -> None:
    """Take the copy away when this process is told to end, too."""
    with suppress(ValueError):  # only the first thread may say what a signal does
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def _copy(dsn: str, since: datetime | None, limit: int, results: bool) -> "Iterator[Copy]":
    from rich.console import Console

    from noetl_mcp.events.ask import Bounds, copied
    from noetl_mcp.events.copied import EVERYTHING

    waiting = Console(stderr=True).status("reading the log")
    if sys.stderr.isatty():
        waiting.start()
    try:
        bounds, since = Bounds(rows=limit), since or EVERYTHING
        with copied(dsn, since=since, results=results, bounds=bounds) as copy:
            waiting.stop()
            yield copy
    finally:
        waiting.stop()


def _tell(answer: "Answer") -> None:
    """Print rows as a table that is as wide as it must be, or as the terminal is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(answer.columns):
        is_number = all(isinstance(row[number], int | float | None) for row in answer.rows)
        table.add_column(
            Text(tamed(name)), justify="right" if is_number else "left", no_wrap=not is_terminal
        )
    for row in answer.rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console(width=None if is_terminal else _WIDE).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, str):
        return tamed(value)
    from noetl_mcp.events.ask import plain

    return tamed(str(plain(value)))
