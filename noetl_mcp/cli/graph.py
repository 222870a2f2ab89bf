"""`graph FILE`: the steps as a picture."""

import shutil
import sys
from typing import Literal

import click

from noetl_mcp.cli.files import write_out
from noetl_mcp.cli.reading import plan_of
from noetl_mcp.compiler.picture.drawing import Picture
from noetl_mcp.compiler.pictured import picture_of

Form = Literal["mermaid", "text", "svg", "png"]
FORMS: tuple[Form, ...] = ("mermaid", "text", "svg", "png")


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
    picture = picture_of(plan_of(file))
    write_out(_drawn(picture, chosen, ascii_only), output)


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


def _drawn(picture: Picture, form: Form, ascii_only: bool) -> bytes:
    if form == "mermaid":
        from noetl_mcp.compiler.picture.mermaid import mermaid_of

        return mermaid_of(picture).encode()
    if form == "text":
        from noetl_mcp.compiler.picture.text_graph import text_of

        width = shutil.get_terminal_size((100, 24)).columns
        text = text_of(picture, width=width, ascii_only=ascii_only)
        return text.rstrip("\n").encode() + b"\n"
    if form == "svg":
        from noetl_mcp.compiler.picture.svg import svg_of

        return svg_of(picture).encode()
    from noetl_mcp.compiler.picture.png import png_of

    return png_of(picture)
