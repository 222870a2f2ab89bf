"""`revit serve MODEL`: a building model, answered for as a Revit server does."""

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.files import demand_file
from noetl_mcp.errors import NotReadable

if TYPE_CHECKING:
    from socket import socket

PORT = 5210


@click.group("revit")
def command() -> None:
    """Answer as a Revit server does, without Revit."""


@command.command("serve")
@click.argument("model")
@click.option("--host", default="127.0.0.1", help="The address; of this machine alone.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    help="5210 when missing, as Revit servers have; 0 takes a free one.",
)
@click.option("--allow-host", "allowed", multiple=True, metavar="NAME", help="A name of this one.")
def serve(model: str, host: str, port: int, allowed: tuple[str, ...]) -> None:
    """Open MODEL, an IFC file, and answer the calls of Revit clients.

    It reads only: the file is never changed, and calls that would change it are refused. Ends when
    it is told to leave. docs/how-to/headless-revit.md says what can be asked.
    """
    from noetl_mcp.wire.addresses import NotServed, bound, is_local

    if not is_local(host):
        raise click.UsageError(
            f"Others can reach {host}, and this server has no tokens yet; "
            "it is served on addresses of this machine alone, such as 127.0.0.1."
        )
    _demand_model(model)
    if find_spec("ifcopenshell") is None:
        raise click.ClickException(
            "a building model needs the extra 'bim': pip install 'noetl-mcp[bim]'"
        )
    try:
        listening = bound(host, port)
    except NotServed as problem:
        raise click.ClickException(str(problem)) from None
    with listening:
        file = str(Path(model).absolute())
        code = _supervise(listening, {"host": host, "allowed": allowed, "file": file})
    raise click.exceptions.Exit(1 if code else 0)


def _demand_model(model: str) -> None:
    """Refuse what is no file that can be read."""
    demand_file(model)
    try:
        with Path(model).open("rb"):
            pass
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise NotReadable(f"cannot read '{model}': {said}") from None


def _supervise(listening: "socket", told: Mapping[str, object]) -> int:
    """Look after the process that has the model open; what a model can break is only that."""
    from noetl_mcp.worker.placed import command, say
    from noetl_mcp.worker.supervisor import Orders, Supervisor

    hears, tells = os.pipe()
    os.set_blocking(hears, False)

    def order(number: int) -> dict[str, object]:
        return {**told, "socket": listening.fileno(), "opened": tells}

    def descriptors(number: int) -> tuple[int, ...]:
        return (listening.fileno(), tells)

    def hopeless(number: int) -> str | None:
        with suppress(BlockingIOError):
            os.read(hears, 1)
            return None
        return "the model was not open yet, and opening it is not tried again"

    def process(number: int) -> list[str]:
        return command("noetl_mcp.web.headless.process")

    return Supervisor(Orders(process, 1, order, descriptors, hopeless), say).run()


__all__ = ["command"]
