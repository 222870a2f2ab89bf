"""`catalog submit | list | show | diff`: the playbooks that are kept, and their versions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.at_desk import print_value, table
from noetl_mcp.cli.columns import echo

if TYPE_CHECKING:
    from datetime import datetime

    from noetl_mcp.catalog.catalog import Catalog, Entry


@click.group("catalog")
def command() -> None:
    """Keep playbooks, and look at those that are kept."""


@command.command("submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def submit_(files: tuple[str, ...], as_json: bool) -> None:
    """Keep playbooks in the catalog; a text that is there already is no new version."""
    from noetl_mcp.cli.submit import submit

    submit(files, as_json=as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the playbooks, each with its latest version."""
    with _opened() as catalog:
        found = catalog.paths()
    if as_json:
        names = ("path", "version", "name", "description", "created_at")
        rows = [dict(zip(names, row, strict=True)) for row in found]
        print_value([{**row, "created_at": _moment(row["created_at"])} for row in rows])
        return
    if not found:
        echo("there are none; keep one with 'noetl-mcp submit FILE'", err=True)
        return
    rows_ = [["PATH", "VERSION", "SINCE (UTC)", "WHAT"]]
    for path, version, name, description, created_at in found:
        what = (description or name or "").partition("\n")[0]
        rows_.append([path, str(version), f"{created_at:%Y-%m-%d %H:%M}", what[:60]])
    table(rows_)


@command.command("show")
@click.argument("path")
@click.option("--version", type=click.IntRange(1), help="Which one; the latest else.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the list of versions.")
def show_(path: str, version: int | None, as_json: bool) -> None:
    """Print the text of a playbook as it was submitted."""
    with _opened() as catalog:
        entry = _entry(catalog, path, version)
        versions = catalog.versions(path)
    if not as_json:
        echo(entry.content, nl=not entry.content.endswith("\n"))
        return
    print_value(
        {
            "path": entry.path,
            "version": entry.version,
            "name": entry.name,
            "description": entry.description,
            "plan": entry.plan_digest,
            "created_at": _moment(entry.created_at),
            "content": entry.content,
            "versions": [
                {"version": number, "created_at": _moment(created_at), "plan": plan}
                for number, created_at, _, plan in versions
            ],
        }
    )


@command.command("diff")
@click.argument("path")
@click.argument("old", type=click.IntRange(1), metavar="A")
@click.argument("new", type=click.IntRange(1), metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff_(path: str, old: int, new: int, as_json: bool) -> None:
    """Print what changed between two versions of a playbook."""
    from difflib import unified_diff

    with _opened() as catalog:
        one, other = _entry(catalog, path, old), _entry(catalog, path, new)
    lines = list(
        unified_diff(
            one.content.splitlines(),
            other.content.splitlines(),
            f"{path} version {old}",
            f"{path} version {new}",
            lineterm="",
        )
    )
    is_same = one.plan_digest == other.plan_digest
    if as_json:
        print_value({"path": path, "from": old, "to": new, "same_plan": is_same, "diff": lines})
        return
    for line in lines:
        echo(line)
    if is_same:
        echo("both have the same plan", err=True)


def _entry(catalog: "Catalog", path: str, version: int | None) -> "Entry":
    """Return a version of a playbook; tell which there are when it is none of them."""
    found = catalog.find(path, version)
    if found is not None:
        return found
    versions = [str(row[0]) for row in reversed(catalog.versions(path))]
    if versions:
        listed = ", ".join(versions[-20:])
        raise click.ClickException(f"'{path}' has no version {version}, only {listed}")
    from noetl_mcp.diagnostics import closest

    near = closest(path, [row[0] for row in catalog.paths()])
    more = f"; did you mean '{near}'?" if near else ""
    raise click.ClickException(f"the catalog has no playbook '{path}'{more}")


def _moment(at: "datetime") -> Any:
    from noetl_mcp.broker.show import moment

    return moment(at)


@contextmanager
def _opened() -> "Iterator[Catalog]":
    from noetl_mcp.catalog.catalog import Catalog
    from noetl_mcp.cli.connecting import opened_home

    with opened_home() as home, home.connect("catalog") as connection:
        yield Catalog(connection, {})
