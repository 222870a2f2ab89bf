"""Cut SQL into words, literals, comments and statements, as Postgres and DuckDB read it.

A template stands in the text as one mark, so that its own quotes and semicolons mean nothing here.
Knows no grammar beyond what it takes to find the end of a statement, and changes nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from noetl_mcp.tasks.calls import Failed

Kind = Literal[
    "space", "comment", "text", "escaped", "dollar", "coded", "name", "word", "number", "place",
    "sign",
]  # fmt: skip
MARKS = "\ue000\uf8ff\ufdd0\ufdd1\ufdef"
"""Characters that may stand for a template; nobody writes all of them."""

_BLANK = frozenset(("space", "comment"))
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<line>--[^\r\n]*)
      | (?P<block>/\*)
      | (?P<escaped>[eE]'(?:[^'\\]++|\\.|'')*+')
      | (?P<coded>(?:[bBxX]|[uU]&)'(?:[^']++|'')*+'|[uU]&"(?:[^"]++|"")*+")
      | (?P<text>[nN]?'(?:[^']++|'')*+')
      | (?P<name>"(?:[^"]++|"")*+")
      | (?P<dollar>\$(?P<tag>(?:[^\W\d]\w*)?)\$(?s:.*?)\$(?P=tag)\$)
      | (?P<word>[^\W\d][\w$]*)
      | (?P<number>\d[\w.]*)
      | (?P<unclosed>['"]|\$(?:[^\W\d]\w*)?\$)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_COMMENT = re.compile(r"/\*|\*/")
_TEXTS = ("text", "escaped", "dollar")
_ROUTINES = frozenset(("FUNCTION", "PROCEDURE"))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of SQL. `text` is it as written; a `place` is where a template stood."""

    kind: Kind
    text: str

    @property
    def says(self) -> bool:
        """Whether it is more than a blank or a comment."""
        return self.kind not in _BLANK

    @property
    def upper(self) -> str:
        """The word in capitals, or the sign; nothing of any other kind."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


def refused(message: str) -> Failed:
    """Return the failure of SQL that cannot be sent as it stands; trying again is no use."""
    return Failed("sql-refused", message, retriable=False)


def tokens(sql: str, mark: str) -> Iterator[Token]:
    """Yield the pieces of the text, all of it; refuse what is opened and never closed."""
    at = 0
    while found := _TOKEN.match(sql, at):
        kind, text = str(found.lastgroup), found[0]
        if kind == "block":
            text = sql[at : _comment_end(sql, at)]
        elif kind == "unclosed":
            line = sql.count("\n", 0, at) + 1
            raise refused(f"line {line} of the SQL opens a quote {text} that is never closed")
        at += len(text)
        yield Token(_kind(kind, text, mark), text)


def _kind(group: str, text: str, mark: str) -> Kind:
    match group:
        case "line" | "block":
            return "comment"
        case "space" | "escaped" | "coded" | "text" | "name" | "word" | "number":
            return group
        case "dollar" | "tag":
            return "dollar"
        case _:
            return "place" if text == mark else "sign"


def _comment_end(sql: str, start: int) -> int:
    """Return the place after a comment, which may hold others."""
    depth, at = 1, start + 2
    while depth:
        found = _IN_COMMENT.search(sql, at)
        if found is None:
            line = sql.count("\n", 0, start) + 1
            raise refused(f"line {line} of the SQL opens a comment that is never closed")
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at


def statements(pieces: Iterator[Token]) -> Iterator[list[Token]]:
    """Yield the statements of a script, without the semicolons between them.

    A semicolon inside parentheses, or inside the BEGIN … END of a routine, ends nothing.
    """
    statement: list[Token] = []
    words: list[str] = []
    parentheses = blocks = 0
    for token in pieces:
        said = token.upper
        parentheses = max(0, parentheses + {"(": 1, ")": -1}.get(said, 0))
        if said == ";" and not parentheses and not blocks:
            yield statement
            statement, words = [], []
            continue
        statement.append(token)
        if token.kind != "word" or parentheses:
            continue
        words = words if len(words) == 4 else [*words, said]
        if said == "BEGIN" or (said == "CASE" and blocks):
            blocks += _makes_a_routine(words)
        elif said == "END" and blocks:
            blocks -= 1
    yield statement


def _makes_a_routine(words: Sequence[str]) -> bool:
    """Whether the first words of a statement are CREATE [OR REPLACE] FUNCTION or PROCEDURE."""
    rest = words[3:4] if words[1:3] == ["OR", "REPLACE"] else words[1:2]
    return words[:1] == ["CREATE"] and bool(_ROUTINES.intersection(rest))


def first_words(statement: str, count: int = 4) -> tuple[str, ...]:
    """Return the first words of a statement in capitals, up to something that is no word."""
    found: list[str] = []
    for token in tokens(statement, MARKS[0]):
        if not token.says:
            continue
        if token.kind != "word" or len(found) == count:
            break
        found.append(token.text.upper())
    return tuple(found)


def files_written(statement: str) -> Iterator[str]:
    """Yield the files that COPY … TO and EXPORT DATABASE write, where they are named as texts."""
    said = [token for token in tokens(statement, MARKS[0]) if token.says]
    words, depth = [token.upper for token in said], 0
    if words[:2] == ["EXPORT", "DATABASE"]:
        yield from (content(one) for one in said if one.kind in _TEXTS)
        return
    if words[:1] != ["COPY"]:
        return
    for token, after in pairwise(said):
        depth += (token.upper == "(") - (token.upper == ")")
        if depth == 0 and token.upper == "TO" and after.kind in _TEXTS:
            yield content(after)


_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(
    r"''|\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))",
    re.DOTALL,
)


def content(token: Token) -> str:
    """Return what a literal stands for, with its marks."""
    text = token.text
    if token.kind == "dollar":
        tag = text.index("$", 1) + 1
        return text[tag:-tag]
    if token.kind == "escaped":
        return _ESCAPE.sub(_meant, text[2:-1])
    start = text.index("'") + 1
    return text[start:-1].replace("''", "'")


def _meant(found: re.Match[str]) -> str:
    if found[0] == "''":
        return "'"
    octal, two, four, eight, other = found.groups()
    if other is not None:
        return _SHORT_ESCAPES.get(other, other)
    number = int(octal, 8) & 0xFF if octal else int(two or four or eight, 16)
    if (octal or two) and number > 0x7F:
        raise refused(f"write {found[0]} of a text with a template in it as \\uXXXX")
    try:
        return chr(number)
    except ValueError:
        raise refused(f"{found[0]} is no character") from None


__all__ = [
    "MARKS",
    "Kind",
    "Token",
    "content",
    "files_written",
    "first_words",
    "refused",
    "statements",
    "tokens",
]
