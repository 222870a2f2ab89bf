"""Cuts a plan's text into its signs: words, numbers, strings, punctuation. It refuses nothing.

A sign that the language does not have is cut out alone; whoever meets it says what belongs there.
One expression does the work, twice, and both runs are linear in any text: what was read is never
read again, and strings and comments that never end take the rest with them at once.

Two things that fill most of a plan are cut out as one sign each: a list of walls that says nothing
but their kinds, `[top: solid, left: door]`, and two plain numbers, `(10 x 12)` or `(0, 4)`. Lists
and pairs with anything else in them, comments too, come sign by sign.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, chain, repeat
from typing import NamedTuple

from noetl_mcp.bim.floorplan.words import Words

# What ECMAScript calls white space, with the two that plans are pasted with: NBSP and BOM.
SPACE = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_COMMENT = r"\#[^\n\r]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/"
_GAP = rf"[{SPACE}]*+(?:(?:{_COMMENT})[{SPACE}]*+)*+"
# How far a reader may look ahead without asking whether there is anything.
AHEAD = 6
_PLAIN = r"[0-9]{1,9}+(?:\.[0-9]{1,9}+)?+"
# What stands within the large signs: no comments, which nearly nobody writes there.
_BLANK = r"[ \t\n\r]*+"
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"


class Tokens(NamedTuple):
    """The signs of a text and where each ends; some empty ones stand behind the last.

    A sign begins at its end minus its length, so nothing else has to be kept.
    """

    texts: list[str]
    ends: list[int]


class Scanner(NamedTuple):
    """The expressions: one gives the signs, one how far each reaches, two look into large signs."""

    signs: re.Pattern[str]
    spans: re.Pattern[str]
    entry: re.Pattern[str]
    pair: re.Pattern[str]

    def scanned(self, text: str, start: int = 0, stop: int | None = None) -> Tokens:
        """Return all signs between two offsets."""
        stop = len(text) if stop is None else stop
        texts = self.signs.findall(text, start, stop)
        lengths = map(len, self.spans.findall(text, start, stop))
        ends = list(accumulate(chain((start,), lengths)))
        del ends[0]
        texts += [""] * AHEAD
        ends.extend(repeat(stop, AHEAD))
        return Tokens(texts, ends)


@cache
def scanner_of(words: Words) -> Scanner:
    """Build the scanner of a language.

    A word with a hyphen needs no border behind it (`right-ofA` is `right-of A`), all others do
    (`topmost` is a name), hence the look ahead for a hyphen before a word is taken for a whole one.
    """
    hyphened = sorted((word for word in words.keywords if "-" in word), key=len, reverse=True)
    side, kind = _any(words.sides), _any(words.wall_kinds)
    entry = rf"(?:{side}){_BLANK}:{_BLANK}(?:{kind}){_BLANK}"
    cross = r"x(?![A-Za-z0-9_])"
    sign = "|".join(
        (
            rf"\[{_BLANK}{entry}(?:,{_BLANK}{entry})*+\]",
            rf"\({_BLANK}{_PLAIN}{_BLANK}(?:,|{cross}){_BLANK}{_PLAIN}{_BLANK}\)",
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
    return Scanner(
        re.compile(rf"{_GAP}({sign})"),
        re.compile(rf"{_GAP}(?:{sign})"),
        re.compile(rf"({side}){_BLANK}:{_BLANK}({kind})"),
        re.compile(rf"\({_BLANK}({_PLAIN}){_BLANK}([,x]){_BLANK}({_PLAIN})"),
    )


def _any(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


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
