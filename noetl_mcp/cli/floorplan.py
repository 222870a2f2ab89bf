"""`floorplan render|validate|modify|analyze|convert|watch FILE`: floor plans from a shell."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.tool_arguments import LONGEST_TEXT, WrongArguments
from noetl_mcp.bim.floorplan.words import AREA_UNITS, THEMES, UNITS
from noetl_mcp.cli.files import read_text, write_whole
from noetl_mcp.cli.floorplan_findings import printable, told
from noetl_mcp.errors import NotReadable

PICTURES = ("png", "svg", "dxf")
EXPORTS = ("json", "dxf", "ifc")
_OBEYED = re.compile("[\x7f-\x9f]")
_RAW = click.option("--raw", is_flag=True, help="Ignore units; take numbers as they stand.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print what the tool answers.")


@click.group("floorplan")
def command() -> None:
    """Draw, check, change, measure and export floor plans.

    FILE is a plan's text; `-` reads standard input. The language stands in
    docs/reference/floorplan-language.md.
    """


def look_options(function: Any) -> Any:
    """Add the options that say how a plan is drawn."""
    for option in reversed(_LOOK):
        function = option(function)
    return function


_LOOK = (
    click.option("-o", "--output", help="Where to write; its ending decides the format."),
    click.option("--format", "form", type=click.Choice(PICTURES), help="What to draw."),
    click.option("--width", type=click.IntRange(16, 8_000), default=800, help="In pixels."),
    click.option("--floor", type=click.IntRange(min=0), help="Which floor, from 0."),
    click.option("--all-floors", is_flag=True, help="Draw every floor."),
    click.option(
        "--layout",
        type=click.Choice(("sideBySide", "stacked")),
        default="sideBySide",
        help="How several floors stand on one drawing.",
    ),
    click.option("--area", is_flag=True, help="Write the area into each room."),
    click.option(
        "--dimensions/--no-dimensions", default=None, help="Draw dimension chains or leave them."
    ),
    click.option("--summary", is_flag=True, help="Draw a panel with the sums of each floor."),
    click.option("--theme", type=click.Choice(THEMES), help="Colours; else the plan's own."),
    click.option("--area-unit", type=click.Choice(AREA_UNITS), help="Unit of areas."),
    click.option("--length-unit", type=click.Choice(UNITS), help="Unit of dimensions."),
    _RAW,
)


@command.command("render")
@click.argument("file")
@look_options
def render(file: str, output: str | None, form: str | None, **look: Any) -> None:
    """Draw a plan as PNG, SVG or DXF."""
    chosen = form or by_ending(output, PICTURES, "png")
    refuse_odd(file, output, look)
    if chosen == "png" and output in (None, "-") and sys.stdout.isatty():
        raise click.UsageError("A PNG is not for a terminal; write it with -o FILE.")
    write_whole(drawn(file, chosen, look), output)


@command.command("validate")
@click.argument("files", nargs=-1, required=True)
@_JSON
@_RAW
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.pass_context
def validate(
    ctx: click.Context, files: tuple[str, ...], as_json: bool, raw: bool, strict: bool
) -> None:
    """Tell everything that is wrong with plans.

    Exits with 1 when there is an error (with --strict: a warning, too), else with 0.
    """
    if files.count("-") > 1:
        raise click.UsageError("Standard input can be read once only.")
    found = [(file, *_checked(file, raw)) for file in files]
    if as_json:
        say_json([facts for _, _, facts in found] if len(found) > 1 else found[0][2])
    else:
        for file, text, facts in found:
            click.echo(told(file, text, facts))
    is_wrong = any(not facts["valid"] or (strict and facts.get("warnings")) for *_, facts in found)
    ctx.exit(1 if is_wrong else 0)


def _checked(file: str, raw: bool) -> tuple[str, Mapping[str, Any]]:
    """Return a plan's text and what is wrong with it; that it cannot be read is wrong with it."""
    try:
        text = read(file)
        return text, called("validate", dsl=text, raw=raw).facts
    except NotReadable as problem:
        return "", {"valid": False, "errors": [{"type": "parse", "message": str(problem)}]}


@command.command("modify")
@click.argument("file")
@click.argument("operations")
@click.option("-o", "--output", help="Where to write the plan; standard output when missing.")
@click.option("--in-place", is_flag=True, help="Write the plan back to FILE.")
@click.option("--atomic", is_flag=True, help="When one operation fails, apply none.")
@_JSON
@click.pass_context
def modify(
    ctx: click.Context,
    file: str,
    operations: str,
    output: str | None,
    in_place: bool,
    atomic: bool,
    as_json: bool,
) -> None:
    """Change a plan by OPERATIONS: JSON, or @FILE with JSON in it.

    \b
    noetl-mcp floorplan modify flat.floorplan \\
      '[{"action": "resize_room", "target": "Office", "params": {"width": 15, "height": 15}}]'

    What became of each operation goes to standard error. Nothing is written where one fails, but
    with --json.
    """
    if in_place and (output is not None or file == "-"):
        raise click.UsageError("--in-place needs a FILE, and no --output.")
    text = read(file)
    answer = called("modify", dsl=text, operations=operations_of(operations), atomic=atomic)
    if as_json:
        say_json(answer.facts)
    else:
        _say_changes(answer.facts)
    if answer.facts["success"] and (not as_json or in_place or output is not None):
        write_whole(answer.facts["dsl"].encode(), file if in_place else output)
    ctx.exit(0 if answer.facts["success"] else 1)


@command.command("analyze")
@click.argument("file")
@click.option("--area-unit", type=click.Choice(AREA_UNITS), help="Unit of areas.")
@click.option("--rooms/--no-rooms", default=True, help="List every room, or not.")
@_RAW
@_JSON
def analyze(file: str, area_unit: str | None, rooms: bool, raw: bool, as_json: bool) -> None:
    """Measure a plan: areas of floors and rooms, bounding boxes, efficiency."""
    text = read(file)
    answer = called("analyze", dsl=text, areaUnit=area_unit, includeRoomDetails=rooms, raw=raw)
    demand_good(file, text, answer.facts)
    if as_json:
        say_json(answer.facts)
        return
    from noetl_mcp.cli.floorplan_findings import measured

    click.echo(measured(answer.facts))


@command.command("convert")
@click.argument("file")
@click.option("-o", "--output", help="Where to write; its ending decides the format.")
@click.option("--format", "form", type=click.Choice(EXPORTS), help="What to make; JSON else.")
@click.option(
    "--storey-height",
    type=click.FloatRange(0, 1_000, min_open=True),
    help="In metres, for IFC, of floors that name none.",
)
@_RAW
def convert(
    file: str, output: str | None, form: str | None, storey_height: float | None, raw: bool
) -> None:
    """Turn a plan into JSON, DXF or IFC."""
    chosen = form or by_ending(output, EXPORTS, "json")
    refuse_odd(file, output, {})
    text = read(file)
    answer = called("export", dsl=text, format=chosen, storeyHeight=storey_height, raw=raw)
    demand_good(file, text, answer.facts)
    made = answer.text if answer.text is not None else as_text(answer.facts["plan"]) + "\n"
    write_whole(made.encode(), output)


@command.command("watch")
@click.argument("file")
@look_options
def watch(file: str, output: str | None, form: str | None, **look: Any) -> None:
    """Draw a plan anew whenever its file is saved, until stopped.

    What is wrong with the plan is told; the last good drawing stays.
    """
    from noetl_mcp.cli.floorplan_watching import watched

    chosen = form or by_ending(output, PICTURES, "png")
    where = output or str(Path(file).with_suffix(f".{chosen}"))
    if file == "-" or where == "-":
        raise click.UsageError("A FILE is watched, and drawn to another.")
    refuse_odd(file, where, look)
    watched(file, where, lambda: drawn(file, chosen, look))


def read(file: str) -> str:
    """Return a plan's text; a mark at its begin stays, so that it is written back."""
    return read_text(file, LONGEST_TEXT * 4)


def refuse_odd(file: str, output: str | None, look: Mapping[str, Any]) -> None:
    """Refuse to write over the plan itself, and to draw one floor and every floor."""
    if output not in (None, "-") and file != "-" and Path(str(output)).resolve() == _there(file):
        raise click.UsageError(f"'{output}' is the plan itself; it would be lost.")
    if look.get("all_floors") and look.get("floor") is not None:
        raise click.UsageError("Say --floor or --all-floors, not both.")


def _there(file: str) -> Path:
    return Path(file).resolve()


def called(name: str, **given: Any) -> Answer:
    """Return what a tool answers; what is not said is left out."""
    from noetl_mcp.bim.floorplan.tools import tool

    found = tool(f"{name}_floorplan")
    assert found is not None
    try:
        return found.call({key: value for key, value in given.items() if value is not None})
    except WrongArguments as wrong:
        raise click.ClickException(printable(str(wrong))) from None


def drawn(file: str, form: str, look: Mapping[str, Any]) -> bytes:
    """Return a drawing of a plan; leave with what is wrong when there is none."""
    text = read(file)
    answer = called(
        "render",
        dsl=text,
        format=form,
        width=look["width"],
        floorIndex=look["floor"],
        renderAllFloors=look["all_floors"],
        multiFloorLayout=look["layout"],
        showArea=look["area"],
        showDimensions=look["dimensions"],
        showFloorSummary=look["summary"],
        theme=look["theme"],
        areaUnit=look["area_unit"],
        lengthUnit=look["length_unit"],
        raw=look["raw"],
    )
    demand_good(file, text, answer.facts)
    return answer.picture if answer.picture is not None else (answer.text or "").encode()


def demand_good(file: str, text: str, facts: Mapping[str, Any]) -> None:
    """Leave with 1, and with everything that is wrong, when a tool had no success."""
    if facts.get("success"):
        return
    click.echo(told(file, text, {"valid": False, **facts}), err=True)
    raise click.exceptions.Exit(1)


def by_ending(output: str | None, known: tuple[str, ...], otherwise: str) -> str:
    """Return the format that the ending of a file's name stands for."""
    if output is None or output == "-":
        return otherwise
    ending = Path(output).suffix.lower().removeprefix(".")
    if ending not in known:
        endings = ", ".join(f".{one}" for one in known)
        raise click.UsageError(f"What is '{output}'? Name a --format, or end it in {endings}.")
    return ending


def operations_of(given: str) -> Any:
    """Return the operations that were given as JSON, or as the name of a file behind an @."""
    said = given
    if given.startswith("@"):
        said = read(given[1:])
    try:
        found = json.loads(said)
    except ValueError as wrong:
        raise click.UsageError(f"OPERATIONS are no JSON: {wrong}") from None
    return [found] if isinstance(found, dict) else found


def as_text(facts: object) -> str:
    """Return facts as JSON; what a terminal would obey is escaped."""
    said = json.dumps(facts, ensure_ascii=False, indent=2)
    return _OBEYED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", said)


def say_json(facts: object) -> None:
    """Print facts as JSON."""
    click.echo(as_text(facts))


def _say_changes(facts: Mapping[str, Any]) -> None:
    for change in facts.get("changes", ()):
        mark = "✓" if change["result"] == "applied" else "✗"
        more = f": {change['message']}" if change.get("message") else ""
        said = f"{mark} {change['action']} {change.get('target') or ''}{more}"
        click.echo(printable(said), err=True)
    if not facts.get("changes"):
        for error in facts.get("errors", ()):
            click.echo(printable(f"✗ {error['message']}"), err=True)


__all__ = ["command"]
