"""`model fetch | serve`: a small model on this machine, for turns without a network."""

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from types import FrameType

PORT = 8643


@click.group("model")
def command() -> None:
    """Run a small model on this machine, to try turns without a network.

    It speaks the wire of OpenAI on a loopback address. A model of 135 million parameters answers in
    a second and knows next to nothing: it shows whether a playbook works, not what is true.
    """


@command.command("fetch")
def fetch() -> None:
    """Download the weights (93 MB, Apache-2.0), and check them."""
    from noetl_mcp.settings import Settings
    from noetl_mcp.tasks.models.local import NoModel
    from noetl_mcp.tasks.models.local import fetch as fetched

    try:
        click.echo(fetched(Settings.load(os.environ).home))
    except NoModel as problem:
        raise click.ClickException(str(problem)) from None


@command.command("serve")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, help="0 takes a free one.")
@click.option(
    "--weights", type=click.Path(path_type=Path), help="A GGUF file; else the one that was fetched."
)
@click.option("--context", type=click.IntRange(256, 1_048_576), default=8_192, help="In tokens.")
def serve(port: int, weights: Path | None, context: int) -> None:
    """Serve a model until told to stop; the first line is the `endpoint` for playbooks."""
    from noetl_mcp.settings import Settings
    from noetl_mcp.tasks.models.local import NoModel, place
    from noetl_mcp.tasks.models.local import serve as served

    over = threading.Event()

    def stop(number: int, frame: "FrameType | None") -> None:
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    where = weights or place(Settings.load(os.environ).home)
    try:
        server = served(where, port, context, click.echo)
    except NoModel as problem:
        raise click.ClickException(str(problem)) from None
    while not over.wait(1.0):
        pass
    del server


__all__ = ["PORT", "command"]
