"""Cuts a plan's text into its signs: words, numbers, strings, punctuation. It refuses nothing.

A sign that the language does not have is cut out alone; whoever meets it says what belongs there.
One expression does the work, twice, and both runs are linear in any text: what was read is never
read again, and strings and comments that never end take the rest with them at once.

What fills most of a plan is cut out as one sign each: a list of walls that says nothing but their
kinds, `[top: solid, left: door]`; two plain numbers, `(10 x 12)` or `(0, 4)`; all of a plain room
behind `room `, all of a plain connection behind `connect `. Whatever has anything else in it, a
comment too, comes sign by sign.
"""

import re
from collections.abc import Iterable, Mapping
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
_SOME = r"[ \t\n\r]++"
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"


class Tokens(NamedTuple):
    """The signs of a text and where each ends; some empty ones stand behind the last.

    A sign begins at its end minus its length, so nothing else has to be kept.
    """

    texts: list[str]
    ends: list[int]


class Scanner(NamedTuple):
    """The expressions: one gives the signs, one how far each reaches, the others look into them."""

    signs: re.Pattern[str]
    spans: re.Pattern[str]
    entry: re.Pattern[str]
    pair: re.Pattern[str]
    room: re.Pattern[str]
    connection: re.Pattern[str]

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
    plain = _plain(words)
    sign = "|".join(
        (
            plain["list"],
            plain["pair"],
            r"[][(),:{]",
            rf"(?<=room ){plain['room']}",
            rf"(?<=connect ){plain['connection']}",
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
        re.compile(rf"{_GAP}({_ungrouped(sign)})"),
        re.compile(rf"{_GAP}(?:{_ungrouped(sign)})"),
        re.compile(plain["entry"]),
        re.compile(plain["pair"]),
        re.compile(plain["room"]),
        re.compile(plain["connection"]),
    )


def _plain(words: Words) -> Mapping[str, str]:
    """Return the expressions of what is cut out as one sign, with groups for their parts."""
    side, number = _any(words.sides), f"({_PLAIN})"
    length = rf"{number}(?:({_any(words.units)})(?![A-Za-z0-9_]))?+"
    taken = rf"(?:{_any(words.reserved)})(?![A-Za-z0-9_])"
    name, place = rf"(?!{taken})({_NAME})", rf"(?!(?!outside){taken})({_NAME})"
    entry = rf"({side}){_BLANK}:{_BLANK}({_any(words.wall_kinds)})"
    bare = rf"{_ungrouped(entry)}{_BLANK}"
    entries = rf"\[{_BLANK}{bare}(?:,{_BLANK}{bare})*+\]"
    cross = r"x(?![A-Za-z0-9_])"
    pair = rf"\({_BLANK}{number}{_BLANK}(,|{cross}){_BLANK}{number}{_BLANK}\)"
    point = rf"\({_BLANK}{length}{_BLANK},{_BLANK}{length}{_BLANK}\)"
    size = rf"size{_BLANK}\({_BLANK}{length}{_BLANK}{cross}{_BLANK}{length}{_BLANK}\)"
    relation = (
        rf"({_any(words.directions)}){_SOME}{name}(?:{_SOME}gap{_SOME}{length})?+"
        rf"(?:{_SOME}align{_SOME}({_any(words.alignments)})(?![A-Za-z0-9_]))?+"
    )
    wall = rf"({place}(?:\.({side})(?![A-Za-z0-9_]))?+)"
    return {
        "entry": entry,
        "list": entries,
        "pair": pair,
        "room": rf"{name}(?:{_SOME}(at{_BLANK}{point}))?+{_SOME}({size})"
        rf"(?:{_SOME}height{_SOME}{length})?+{_SOME}(walls{_BLANK}({entries}))"
        rf"(?:{_SOME}({relation}))?+"
        rf"(?:{_SOME}(label{_BLANK}(\"[^\"]*+\"|'[^']*+')))?+(?:{_SOME}(style{_SOME}{name}))?+"
        rf"(?={_GAP}(?:(?:room|sub-room|stair|lift)[ \t\n\r]|[\]}}]))",
        "connection": rf"{wall}{_SOME}to{_SOME}{wall}{_SOME}({_any(words.connection_kinds)})"
        rf"(?:{_SOME}at{_SOME}{number}%)?+(?:{_SOME}({size}))?+"
        rf"(?:{_SOME}opens{_SOME}into{_SOME}{place})?+"
        rf"(?:{_SOME}swing{_BLANK}:{_BLANK}({_any(words.hands)}))?+"
        rf"(?={_GAP}(?:(?:connect|vertical|floor)[ \t\n\r]|\Z))",
    }


def _ungrouped(expression: str) -> str:
    """Return an expression whose groups keep nothing."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", expression)


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


def is_whole(sign: str) -> bool:
    """Say whether a sign is a whole plain room or connection; no other has spaces but strings."""
    return sign[:1].isidentifier() and len(sign.split(maxsplit=1)) == 2
