"""Open the desk for a command; what is not allowed becomes a sentence. Decides nothing."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.columns import echo, say, table
from noetl_mcp.cli.connecting import opened_home

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.broker.desk import By, Desk


class ExecutionId(click.ParamType[int]):
    """The number of an execution."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number that was written."""
        text = str(value).strip()
        if not (text.isascii() and text.isdigit()) or not 0 < int(text[:20]) < 2**63:
            self.fail(f"'{value}' is not the number of an execution", param, ctx)
        return int(text)


EXECUTION = ExecutionId()


@contextmanager
def at_desk(purpose: str) -> "Iterator[Desk]":
    """Yield a desk on the installation's database."""
    with opened_home() as home, desk_of(home, purpose) as desk:
        yield desk


@contextmanager
def desk_of(home: "Home", purpose: str) -> "Iterator[Desk]":
    """Yield a desk; a refusal becomes a sentence and the exit code 1."""
    from noetl_mcp.broker.desk import Desk
    from noetl_mcp.broker.refusals import NotAllowed, Unknown

    with home.connect(purpose) as connection:
        desk = Desk(connection, world=home.world, lease=home.settings.lease)
        try:
            yield desk
        except (NotAllowed, Unknown) as refusal:
            raise click.ClickException(str(refusal)) from None
        if desk.has_decided and home.settings.broker != "postgres":
            from noetl_mcp.starting import awaken_sleepers

            awaken_sleepers(home.settings.broker, desk)


def by() -> "By":
    """Return who asks: the user of this machine."""
    from noetl_mcp.broker.desk import By

    try:
        return By(getpass.getuser(), "cli")
    except (KeyError, OSError):  # a user without a name
        return By("somebody", "cli")


def tell_unmanned(desk: "Desk", execution_id: int) -> None:
    """Say how to go on when no worker is up that would do anything of an execution."""
    from noetl_mcp.broker.typed import typed
    from noetl_mcp.looking import HEARD
    from noetl_mcp.worker.living import PASSING, living

    for one in living(desk.connection, max(HEARD, desk.lease)):
        if one.name == f"{PASSING}{execution_id}" or (one.stays and "" in one.pools):
            return
    say(
        f"no worker is up, so nothing of it is done now; do it here with: "
        f"{typed('watch', execution_id)}",
        err=True,
    )


def print_value(value: Any) -> None:
    """Print a value as JSON."""
    import orjson  # only here: every other use of the command does without it

    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def short_time(moment: str | None) -> str:
    """Return a time as it stands in a table: without fractions, in UTC."""
    return "" if moment is None else moment[:19].replace("T", " ")


def seconds_between(begin: str | None, end: str | None) -> str:
    """Return how long something took."""
    if begin is None or end is None:
        return ""
    from datetime import datetime

    passed = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
    return f"{max(0.0, passed.total_seconds()):.2f} s"


__all__ = [
    "EXECUTION",
    "ExecutionId",
    "at_desk",
    "by",
    "desk_of",
    "print_value",
    "say",
    "seconds_between",
    "short_time",
    "table",
    "tell_unmanned",
]
