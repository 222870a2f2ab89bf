"""Print rows and sentences so that they fit the terminal; into files and pipes they go whole.

Much of what is printed was written by others: servers, programs, models. Nothing of it may move the
cursor, change the title or turn the direction of a line.
"""

import re
import shutil
import sys
import textwrap

import click

GAP = 2
LEAST = 20
"""No narrower is a last column cut, whatever the terminal is like."""


def width() -> int | None:
    """Return how wide the terminal is that standard output goes to; None when it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_TINT = re.compile(r"\x1b\[[0-9;:]*m")
_MOVING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def tamed(text: str) -> str:
    """Return a text without colours, and with all else that steers a terminal spelt out.

    It is spelt as in JSON, so that JSON stays what it is.
    """
    if text.isprintable():
        return text
    plain = _TINT.sub("", text.replace("\r\n", "\n"))
    return _MOVING.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text that others may have written."""
    click.echo(tamed(text), err=err, nl=nl)


def say(text: str, *, indent: str = "", err: bool = False) -> None:
    """Print a sentence, on several lines when the terminal is narrow; no word is broken."""
    wide = width()
    if wide is None:
        echo(text, err=err)
        return
    for line in folded(text, wide, indent):
        echo(line, err=err)


def folded(text: str, wide: int, indent: str = "") -> list[str]:
    """Return a text as lines that are no wider than that; those after the first are indented.

    A command that is to be typed begins a line of its own, so that it can be copied.
    """
    if len(text) <= wide:
        return [text]
    parts = _COMMAND.split(text)
    lines = _wrapped(parts[0], wide, "", indent)
    for part in parts[1:]:
        lines += _wrapped(part, wide, indent, indent)
    return lines


_COMMAND = re.compile(r"(?<=\S) (?=noetl-mcp )")


def _wrapped(text: str, wide: int, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(LEAST, wide),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shortened(text: str, most: int) -> str:
    """Return a text on one line, cut visibly when it is longer."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: max(1, most) - 1]}…"


def table(rows: list[list[str]]) -> None:
    """Print rows in columns that are as wide as they must be; the last one is cut to fit."""
    rows = [[tamed(cell) for cell in row] for row in rows]
    wide, widths = width(), widths_of(rows)
    if wide is not None:
        left = max(LEAST, wide - sum(widths[:-1]) - GAP * (len(widths) - 1))
        rows = [[*row[:-1], shortened(row[-1], left)] for row in rows]
    for row in rows:
        echo(line(row, widths))


def widths_of(rows: list[list[str]]) -> list[int]:
    """Return how wide the columns of a table must be."""
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def line(row: list[str], widths: list[int]) -> str:
    """Return one row of a table."""
    cells = (f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True))
    return (" " * GAP).join(cells).rstrip()


__all__ = [
    "GAP",
    "LEAST",
    "echo",
    "folded",
    "line",
    "say",
    "shortened",
    "table",
    "tamed",
    "width",
    "widths_of",
]
