"""Say how DuckDB reads a CSV: by rules, for its guesses take rows for comments and headers.

Only the types of columns are guessed. Reads no more of a file than its first line.
"""

import os
import stat
from pathlib import Path

_LONGEST_LINE = 1_048_576
_RULES = "quote = '\"', escape = '\"', header = true, comment = '', skip = 0, null_padding = false"


def csv_rules(path: Path) -> str:
    """Return the options of `read_csv`: commas, or semicolons where the first line has no comma."""
    delimiter = "\t" if path.name.lower().endswith(".tsv") else _delimiter(path)
    return f"delim = '{delimiter}', {_RULES}"


def _delimiter(path: Path) -> str:
    line = _first_line(path)
    return ";" if b";" in line and b"," not in line else ","


def _first_line(path: Path) -> bytes:
    """Return how a file begins; whoever reads it then says what is wrong with it."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(number, "rb") as file:
        return file.readline(_LONGEST_LINE) if stat.S_ISREG(os.fstat(number).st_mode) else b""


__all__ = ["csv_rules"]
