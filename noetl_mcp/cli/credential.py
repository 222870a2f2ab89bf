"""`credential set | list | delete`: what steps make themselves known with. Shows no value."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.columns import table

if TYPE_CHECKING:
    from noetl_mcp.catalog.credentials import Credentials
    from noetl_mcp.playbook.node import Json


@click.group("credential")
def command() -> None:
    """Store what steps make themselves known with, sealed; values are never shown again."""


@command.command("set")
@click.argument("name")
@click.option("--type", "kind", help="What it is: bearer, basic, api_key, header, postgres, …")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="A value; without '=' it is asked for, or read from a line of standard input.",
)
@click.option(
    "--from", "source", metavar="FILE", help="A map in JSON or YAML; '-' is standard input."
)
def set_(name: str, kind: str | None, fields: tuple[str, ...], source: str | None) -> None:
    """Store a credential under NAME, in place of one that is there.

    A field that its type does not know, or one that is missing, is refused. A type that is not
    known takes any fields, for 'python' steps.

    A value on the command line can be seen by other users of the machine while the command runs,
    and stays in the history of the shell: leave it out to be asked for it.
    """
    if not fields and source is None:
        raise click.UsageError("There is nothing to store; give --field KEY or --from FILE.")
    asked = [one for one in fields if "=" not in one]
    if asked and source == "-":
        raise click.UsageError("Standard input cannot give both the map and a field.")
    values = _read(source) if source is not None else {}
    told = values.pop("type", None)
    if told is not None and kind is not None and told != kind:
        raise click.UsageError("--type is another one than 'type' in the map.")
    kind = kind or (told if isinstance(told, str) else None)
    if kind is None:
        raise click.UsageError("What is it? Give --type.")
    values.update(_field(one) for one in fields)
    with _opened(may_make_key=True) as store:
        store.set(name, kind, values)
    click.echo(f"stored '{name}'")
    from noetl_mcp.catalog.credential_types import is_listed

    if not is_listed(kind):
        said = f"only 'python' steps take a credential of type '{kind}'; they get it as it is"
        click.echo(said, err=True)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the credentials: names, types and when they were set; no values."""
    with _opened() as store:
        found = store.names()
    if as_json:
        import orjson  # only here: every other use of the command does without it

        click.echo(orjson.dumps(list(found), option=orjson.OPT_INDENT_2).decode())
        return
    if not found:
        click.echo("there are none; store one with 'noetl-mcp credential set'", err=True)
        return
    rows = [["NAME", "TYPE", "SET (UTC)"]]
    rows += [[one.name, one.type, f"{one.updated_at:%Y-%m-%d %H:%M}"] for one in found]
    table(rows)


@command.command("delete")
@click.argument("name")
def delete(name: str) -> None:
    """Remove the credential NAME; steps that use it fail from now on."""
    with _opened() as store:
        is_gone = store.delete(name)
        names = [one.name for one in store.names()]
    if not is_gone:
        from noetl_mcp.diagnostics import closest

        near = closest(name, names)
        more = f"; did you mean '{near}'?" if near else ""
        raise click.ClickException(f"there is no credential '{name}'{more}")
    click.echo(f"deleted '{name}'")


def _field(text: str) -> "tuple[str, Json]":
    key, sign, value = text.partition("=")
    if sign:
        return key, value
    if sys.stdin.isatty():
        return key, str(click.prompt(f"{key} (not shown)", hide_input=True, err=True))
    line = sys.stdin.readline()
    if not line:
        raise click.UsageError(f"Standard input has no line for '{key}'.")
    return key, line.rstrip("\r\n")


def _read(source: str) -> "dict[str, Json]":
    """Read a map; what is said of a wrong one names the place and never what stands there."""
    from noetl_mcp.compiler.payload import WrongPayload, read_payload

    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return read_payload(raw.decode())
    except OSError as error:
        raise click.ClickException(f"cannot read '{source}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"'{source}' is not text in UTF-8") from None
    except WrongPayload:
        what = "standard input" if source == "-" else f"'{source}'"
        raise click.ClickException(f"{what} is no map in JSON or YAML") from None


@contextmanager
def _opened(*, may_make_key: bool = False) -> "Iterator[Credentials]":
    """Yield the credentials of the database; what is wrong with them becomes one sentence."""
    from noetl_mcp.assembly import open_database
    from noetl_mcp.catalog.credentials import WrongCredential, credentials_at
    from noetl_mcp.catalog.keys import KEY_VARIABLE, BadKey
    from noetl_mcp.cli.connecting import told
    from noetl_mcp.settings import Settings

    try:
        with told():
            home, key = Settings.load().home, os.environ.get(KEY_VARIABLE)
            with open_database() as connection:
                yield credentials_at(connection, home, key, may_make_key=may_make_key)
    except (BadKey, WrongCredential) as error:
        raise click.ClickException(str(error)) from None
