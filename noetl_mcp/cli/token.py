"""`token create | list | revoke | signing-key`: who may use the web face, and how we sign."""

import re
from datetime import timedelta

import click

from noetl_mcp.cli.columns import table
from noetl_mcp.cli.connecting import opened_home

MOST_SECONDS = 36_525 * 86_400
_UNITS = {"h": 3600, "d": 86_400, "m": 60, "s": 1}


@click.group("token")
def command() -> None:
    """Make tokens for programs and people that use the server from elsewhere.

    A viewer looks, an operator starts and decides, an admin keeps keys. A token goes into the
    header 'Authorization: Bearer TOKEN'.
    """


@command.command("create")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(("viewer", "operator", "admin")), default="viewer", help="May what."
)
@click.option("--lasts", metavar="TIME", help="How long: 12h, 30d; for ever when not said.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(name: str, role: str, lasts: str | None, as_json: bool) -> None:
    """Make a token for NAME and print it, this once."""
    from noetl_mcp.catalog.access import Tokens, WrongToken

    duration = _duration(lasts)
    with opened_home() as home, home.connect("token") as connection:
        try:
            token = Tokens(connection).create(name, role, duration)
        except WrongToken as problem:
            raise click.ClickException(str(problem)) from None
    if as_json:
        _print_json({"name": name, "role": role, "token": token})
        return
    click.echo(token)
    click.echo("it is not shown again", err=True)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the tokens; none is shown itself."""
    from noetl_mcp.catalog.access import Tokens

    with opened_home() as home, home.connect("token") as connection:
        found = Tokens(connection).list()
    if as_json:
        _print_json([one._asdict() for one in found])
        return
    if not found:
        click.echo("there are none; make one with 'noetl-mcp token create'", err=True)
        return
    rows = [["NAME", "ROLE", "HOLDS"]]
    for one in found:
        until = f"until {one.expires_at:%Y-%m-%d %H:%M} UTC" if one.expires_at else "for ever"
        word = until if one.holds else "revoked" if one.revoked_at else "expired"
        rows.append([one.name, one.role, word])
    table(rows)


@command.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Let the token of NAME hold no longer."""
    from noetl_mcp.catalog.access import Tokens

    with opened_home() as home, home.connect("token") as connection:
        if not Tokens(connection).revoke(name):
            raise click.ClickException(f"there is no token '{name}' that holds")
    click.echo(f"revoked '{name}'")


@command.command("signing-key")
def signing_key() -> None:
    """Print the key that signs the calls at the end of executions, for whoever is called.

    It is another one in each database, and opens nothing.
    """
    from noetl_mcp.broker.records import Records
    from noetl_mcp.broker.tokens import signing_key as key_of
    from noetl_mcp.starting import seal_of

    with opened_home() as home, home.connect("token") as connection:
        click.echo(key_of(seal_of(Records(connection).seal())))


def _duration(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = re.fullmatch(r"0*([1-9][0-9]{0,9})([smhd])", text)
    if found is None and not re.fullmatch(r"0*[1-9][0-9]*[smhd]", text):
        raise click.UsageError(
            f"--lasts is a number and h or d, such as 12h or 30d, not '{text[:40]}'."
        )
    seconds = int(found[1]) * _UNITS[found[2]] if found is not None else MOST_SECONDS + 1
    if seconds > MOST_SECONDS:
        raise click.UsageError("--lasts is a hundred years at most; leave it out for ever.")
    return timedelta(seconds=seconds)


def _print_json(value: object) -> None:
    import orjson  # only here: every other use of the command does without it

    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
