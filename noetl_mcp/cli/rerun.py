"""`rerun ID`: start the same once more, as a new execution."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.at_desk import EXECUTION, at_desk, by, print_value, tell_unmanned

if TYPE_CHECKING:
    from noetl_mcp.playbook.node import Json


@click.command("rerun")
@click.argument("execution", type=EXECUTION, metavar="ID")
@click.option("--set", "sets", multiple=True, metavar="K=V", help="A value; K:=JSON is JSON.")
@click.option("--payload", metavar="FILE", help="Values in JSON or YAML; '-' is standard input.")
@click.option("--wait", "waits", is_flag=True, help="Wait for its end; work here if nobody does.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    execution: int, sets: tuple[str, ...], payload: str | None, waits: bool, as_json: bool
) -> int:
    """Start an execution once more: the same plan, and the same values but for those set here."""
    from noetl_mcp.broker import starts
    from noetl_mcp.broker.typed import typed
    from noetl_mcp.cli.run import refuse
    from noetl_mcp.compiler.payload import WrongPayload

    try:
        given = {} if payload is None else _read(payload)
        with at_desk("rerun") as desk:
            from noetl_mcp.broker.rerun import rerun

            number = rerun(desk, execution, by=by(), payload=given, sets=sets)
            if not waits and not as_json:
                click.echo(number)
                said = f"started; see how it goes on with: {typed('watch', number)}"
                click.echo(said, err=True)
                tell_unmanned(desk, number)
    except (starts.WrongPayload, WrongPayload) as problem:
        refuse(problem.problems, as_json)
    if waits:
        from noetl_mcp.cli.waiting import await_end

        return await_end(number, as_json=as_json)
    if as_json:
        print_value({"execution_id": str(number), "status": "running", "rerun_of": str(execution)})
    return 0


def _read(source: str) -> "dict[str, Json]":
    from noetl_mcp.compiler.payload import read_payload

    try:
        with click.open_file(source, "rb") as file:
            return read_payload(file.read().decode())
    except OSError as error:
        raise click.ClickException(f"cannot read '{source}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"'{Path(source).name}' is not text in UTF-8") from None
