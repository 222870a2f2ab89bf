"""Say what is wrong with a floor plan, and how large it is, to a person at a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from noetl_mcp.bim.floorplan.findings import Lines
from noetl_mcp.cli.printing import in_colour

_WIDEST = 160


def told(file: str, text: str, facts: Mapping[str, Any]) -> str:
    """Return every finding with the line it is about, and how many there are."""
    lines = Lines(text)
    file = "<stdin>" if file == "-" else printable(file)
    colour = in_colour()
    errors, warnings = facts.get("errors") or [], facts.get("warnings") or []
    shown = [_finding(file, text, lines, one, "error", colour) for one in errors]
    shown += [_finding(file, text, lines, one, "warning", colour) for one in warnings]
    counts = [
        f"{len(found)} {name}{'s' if len(found) > 1 else ''}"
        for name, found in (("error", errors), ("warning", warnings))
        if found
    ]
    return "\n\n".join([*shown, f"{file}: {', '.join(counts) or 'nothing wrong'}"])


def _finding(
    file: str, text: str, lines: Lines, one: Mapping[str, Any], severity: str, colour: bool
) -> str:
    tint = {"error": "red", "warning": "yellow"}[severity]
    code = f" {one['code']}" if one.get("code") else ""
    head = _paint(f"{severity}{code}", colour, fg=tint, bold=True)
    said = [f"{head}: {_paint(printable(one['message']), colour, bold=True)}"]
    number, column = one.get("line"), one.get("column") or 1
    if number is None:
        return said[0]
    gutter, bar = " " * len(str(number)), _paint("|", colour, fg="blue")
    line = _line(text, lines, number)
    excerpt, at = _window(line, _index(line, column))
    said += [
        f"{gutter}--> {file}:{number}:{column}",
        f"{gutter} {bar}",
        f"{_paint(str(number), colour, fg='blue')} {bar} {excerpt}",
        f"{gutter} {bar} {' ' * at}{_paint('^', colour, fg=tint, bold=True)}",
    ]
    return "\n".join(said)


def _line(text: str, lines: Lines, number: int) -> str:
    begins = lines.starts[number - 1]
    ends = lines.starts[number] if number < len(lines.starts) else len(text)
    return text[begins:ends].rstrip("\r\n")


def _index(line: str, column: int) -> int:
    """Return which sign of a line stands at a column, which counts UTF-16 units from 1."""
    return len(line.encode("utf-16-le")[: 2 * (column - 1)].decode("utf-16-le", errors="ignore"))


def _window(line: str, at: int) -> tuple[str, int]:
    """Return the part of a long line around a place, and where the place is in it."""
    cut = max(0, at - _WIDEST // 2) if len(line) > _WIDEST else 0
    return printable(line[cut : cut + _WIDEST]), at - cut


def printable(text: str) -> str:
    """Return a text without signs that a terminal would obey."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _paint(text: str, colour: bool, *, fg: str | None = None, bold: bool = False) -> str:
    return click.style(text, fg=fg, bold=bold) if colour else text


def measured(facts: Mapping[str, Any]) -> str:
    """Return the measures of a plan as tables."""
    summary = facts["summary"]
    unit = {"sqm": "m²", "sqft": "sq ft"}.get(summary["areaUnit"], summary["areaUnit"])
    rows = [("floor", "rooms", f"area {unit}", "efficiency")]
    rows += [
        (str(one["id"]), str(one["roomCount"]), f"{one['netArea']:g}", f"{one['efficiency']:.0%}")
        for one in facts["floors"]
    ]
    parts = [*_table(rows)]
    if facts.get("rooms"):
        rooms = [("room", "floor", f"area {unit}")]
        rooms += [(one["name"], str(one["floor"]), f"{one['area']:g}") for one in facts["rooms"]]
        parts += ["", *_table(rooms)]
    total = f"{summary['grossFloorArea']:g} {unit}"
    parts += ["", f"{summary['totalRooms']} rooms, {total} in all"]
    return "\n".join(parts)


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    every = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(every[0]))]
    return [
        "  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in every
    ]
