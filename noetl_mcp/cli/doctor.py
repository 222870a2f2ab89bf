"""`doctor`: look for everything that could be wrong, and say what to do about it."""

import click

_MARKS = {"fine": "ok  ", "doubtful": "hm  ", "wrong": "BAD "}
_COLOURS = {"fine": "green", "doubtful": "yellow", "wrong": "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Look for everything that could be wrong with the installation.

    Starts the embedded database when it does not run. Exits with 1 when something is wrong, with 3
    when the database cannot be reached.
    """
    from noetl_mcp.checking import every_check
    from noetl_mcp.cli.printing import in_colour

    found, colour = [], in_colour()
    for one in every_check():
        found.append(one)
        if not as_json:
            mark = click.style(_MARKS[one.state], fg=_COLOURS[one.state]) if colour else None
            click.echo(f"{mark or _MARKS[one.state]}{one.what}: {one.says}", color=colour)
            if one.advice:
                click.echo(f"      {one.advice}")
    if as_json:
        import orjson  # only here: every other use of the command does without it

        told = [one._asdict() for one in found]
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
    unreachable = any(one.what == "database" and one.state == "wrong" for one in found)
    wrong = any(one.state == "wrong" for one in found)
    raise click.exceptions.Exit(3 if unreachable else 1 if wrong else 0)
