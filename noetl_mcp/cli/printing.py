"""Print diagnostics: with excerpt and caret for people, as JSON for programs."""

import os
import re
import sys
from collections.abc import Iterable

import click

from noetl_mcp.cli.columns import tamed
from noetl_mcp.diagnostics import Diagnostic, Report, shorten
from noetl_mcp.playbook.load import Loaded
from noetl_mcp.playbook.source import Source

_COLOURS = {"error": "red", "warning": "yellow", "hint": "cyan"}
_WIDEST = 160
_MOST_MENTIONS = 200


def in_colour() -> bool:
    """Whether standard output is a terminal that wants colour."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def print_json(found: Iterable[Diagnostic]) -> None:
    """Print findings as one JSON array."""
    import orjson  # only here: every other use of the command does without it

    text = orjson.dumps([one.as_json() for one in found], option=orjson.OPT_INDENT_2)
    click.echo(text.decode())


def print_report(loaded: Loaded, *, err: bool = False) -> None:
    """Print the findings of one file for a person."""
    colour = in_colour()
    for found in loaded.report:
        click.echo(told(found, loaded.source, colour=colour), err=err, color=colour)
        click.echo(err=err)
    if loaded.report.dropped:
        click.echo(f"… and {loaded.report.dropped} more", err=err)


def told(found: Diagnostic, source: Source, *, colour: bool) -> str:
    """Return one finding with the line it is about."""
    tint = _COLOURS[found.severity]
    head = _paint(f"{found.rule.code} {found.rule.name}", colour, fg=tint, bold=True)
    place = found.place
    number = str(place.line)
    gutter = " " * len(number)
    lines = [
        f"{head}: {_paint(tamed(found.message), colour, bold=True)}",
        f"{gutter}--> {shorten(found.file)}:{place.line}:{place.column}",
    ]
    excerpt = source.line(place.line)
    if excerpt.strip():
        shown, column, length = _window(excerpt, found)
        bar = _paint("|", colour, fg="blue")
        lines += [
            f"{gutter} {bar}",
            f"{_paint(number, colour, fg='blue')} {bar} {shown}",
            f"{gutter} {bar} {' ' * column}{_paint('^' * length, colour, fg=tint, bold=True)}",
        ]
    mark = _paint("=", colour, fg="blue")
    if found.suggestion is not None:
        at = _declared_at(found.suggestion, source.text)
        where = f" (line {at})" if at is not None and at != place.line else ""
        lines.append(f"{gutter} {mark} did you mean '{shorten(found.suggestion)}'{where}?")
    lines += [
        f"{gutter} {mark} {found.help}",
        f"{gutter} {mark} more: noetl-mcp explain {found.rule.name}",
    ]
    return "\n".join(lines)


def _paint(text: str, colour: bool, *, fg: str | None = None, bold: bool = False) -> str:
    return click.style(text, fg=fg, bold=bold) if colour else text


def _window(line: str, found: Diagnostic) -> tuple[str, int, int]:
    """Return the part of a line to show, and where the caret stands below it and how wide."""
    place = found.place
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    length = max(1, min(end, len(line)) - start)
    cut = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[cut : cut + _WIDEST]
    before = line[cut:start]
    printable = "".join(c if c.isprintable() else " " for c in shown)
    return printable, len(before), max(1, min(length, _WIDEST - len(before)))


def _declared_at(name: str, text: str) -> int | None:
    """Return the line that declares a name, to point a person there."""
    word = re.escape(name)
    blank, at = "[ \\t]*", -1
    declaring = re.compile(
        rf"(?m){blank}(?:-{blank})?\{{?{blank}"
        rf"(?:(?:name|step){blank}:{blank}['\"]?{word}['\"]?{blank}(?:[,}}#].*)?$|{word}{blank}:)"
    )
    for _ in range(_MOST_MENTIONS):
        at = text.find(name, at + 1)
        if at < 0:
            return None
        if declaring.match(text, text.rfind("\n", max(0, at - _WIDEST), at) + 1):
            return text.count("\n", 0, at) + 1
    return None


def counts(reports: Iterable[Report]) -> str:
    """Say how many findings of each severity there are."""
    every = [found.severity for report in reports for found in report]
    words = []
    for severity in ("error", "warning", "hint"):
        count = every.count(severity)
        if count:
            words.append(f"{count} {severity}{'s' if count > 1 else ''}")
    return ", ".join(words)
