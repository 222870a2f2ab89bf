"""Cuts a plan's text into its signs: words, numbers, strings, punctuation. It refuses nothing.

A sign that the language does not have is cut out alone; whoever meets it says what belongs there.
One expression does the work, twice, and both runs are linear in any text: what was read is never
read again, and strings and comments that never end take the rest with them at once.
"""

import re
from functools import cache
from itertools import accumulate, chain, repeat
from typing import NamedTuple

from noetl_mcp.bim.floorplan.words import Words

# What ECMAScript calls white space, with the two that plans are pasted with: NBSP and BOM.
SPACE = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_COMMENT = r"\#[^\n\r]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/"
_GAP = rf"[{SPACE}]*+(?:(?:{_COMMENT})[{SPACE}]*+)*+"
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"


class Tokens(NamedTuple):
    """The signs of a text and where each ends; two empty ones stand behind the last.

    A sign begins at its end minus its length, so nothing else has to be kept.
    """

    texts: list[str]
    ends: list[int]


class Scanner(NamedTuple):
    """The two expressions: one gives the signs, the other how far each reaches."""

    signs: re.Pattern[str]
    spans: re.Pattern[str]

    def scanned(self, text: str, start: int = 0, stop: int | None = None) -> Tokens:
        """Return all signs between two offsets."""
        stop = len(text) if stop is None else stop
        texts = self.signs.findall(text, start, stop)
        lengths = map(len, self.spans.findall(text, start, stop))
        ends = list(accumulate(chain((start,), lengths)))
        del ends[0]
        texts += ["", ""]
        ends.extend(repeat(stop, 2))
        return Tokens(texts, ends)


@cache
def scanner_of(words: Words) -> Scanner:
    """Build the scanner of a language.

    A word with a hyphen needs no border behind it (`right-ofA` is `right-of A`), all others do
    (`topmost` is a name), hence the look ahead for a hyphen before a word is taken for a whole one.
    """
    hyphened = sorted((word for word in words.keywords if "-" in word), key=len, reverse=True)
    sign = "|".join(
        (
            r"[][(),:{]",
            rf"{_NAME}(?!-)",
            r"[0-9]++(?:\.[0-9]++)?+",
            *map(re.escape, hyphened),
            _NAME,
            r"\"[^\"]*\"",
            r"'[^']*'",
            r"---|%%\{|\}%%",
            r"/\*[\s\S]*+",
            rf"[^{SPACE}#]",
            r"\Z",
        )
    )
    return Scanner(re.compile(rf"{_GAP}({sign})"), re.compile(rf"{_GAP}(?:{sign})"))


_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def unquoted(sign: str) -> str:
    """Return what a string says: without its quotes, with its escapes carried out."""
    inner = sign[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), inner)


def is_string(sign: str) -> bool:
    """Say whether a sign is a string that has both its quotes."""
    return len(sign) > 1 and sign[0] in "\"'"


def is_number(sign: str) -> bool:
    """Say whether a sign is a number; only numbers begin with a digit."""
    return "0" <= sign < ":"
