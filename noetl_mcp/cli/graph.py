"""`graph FILE`: the steps as a picture."""

import shutil
import sys

import click

from noetl_mcp.cli.files import write_out
from noetl_mcp.cli.reading import load_argument, or_what_is_wrong
from noetl_mcp.language import FORMS, WIDTH, Form, drawn


@click.command("graph")
@click.argument("file")
@click.option("--format", "form", type=click.Choice(FORMS), help="What to draw; text by default.")
@click.option("-o", "--output", help="Where to write; its ending decides the format.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw the text with ASCII only.")
def command(file: str, form: Form | None, output: str | None, ascii_only: bool) -> None:
    """Draw the steps of a playbook as Mermaid, text, SVG or PNG."""
    chosen = form or _by_ending(output)
    if chosen == "png" and output is None and sys.stdout.isatty():
        raise click.UsageError("A PNG is not for a terminal; write it with -o FILE.")
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    with or_what_is_wrong():
        picture = drawn(load_argument(file), chosen, width=width, ascii_only=ascii_only)
    write_out(picture, output)


def _by_ending(output: str | None) -> Form:
    ending = (output or "").rpartition(".")[2].lower()
    known: dict[str, Form] = {
        "svg": "svg",
        "png": "png",
        "mmd": "mermaid",
        "mermaid": "mermaid",
        "txt": "text",
    }
    if output is None or output == "-":
        return "text"
    if ending not in known:
        endings = ", ".join(f".{one}" for one in known)
        raise click.UsageError(f"What is '{output}'? Name a --format, or end it in {endings}.")
    return known[ending]
