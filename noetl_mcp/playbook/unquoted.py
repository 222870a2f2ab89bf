"""Measure one unquoted value that may hold `{{ … }}` or `{% … %}`. Looks at nothing around it.

Lines break at "\\n" only: the caller has made all other breaks equal. Every part of a text is
looked at a bounded number of times, closed templates or not.
"""

import re
from typing import NamedTuple

OPENERS = ("{{", "{%")
MARKER = re.compile(r"(?:---|\.\.\.)(?![^ \t\n])")

_OPENER = re.compile(r"\{[{%]")
_TEXT = re.compile(r"(?:[^:\n{#]++|:(?![ \t\n]|\Z)|\{(?![{%])|(?<![ \t\n])#)*+")
_NEXT_LINE = re.compile(r"\n(?:[ \t]*+\n)*+([ ]*+)[ \t]*+(?=[^\n#])")
_SIMPLE = re.compile(r"""\{\{[^{}'"\n\\]*+\}\}|\{%[^{}%'"\n\\]*+%\}""")
_TOKEN = re.compile(
    r"""
    "(?:[^"\\\n]|\\.)*+"
    | '(?:[^'\\\n]|\\.)*+'
    | \\["'\\]
    | [{}%]
    | \n(?:[ \t]*+\n)*+[ ]*+
    """,
    re.VERBOSE,
)
_CLOSING_LINE = re.compile(r"[-+]?(?:\}\}|%\})")
_BREAKS_YAML = re.compile(r":[ \t\n]|[ \t\n]#|\n[ ]*+[-+]?(?:\}\}|%\})")


class Unquoted(NamedTuple):
    """An unquoted value: where its text ends, where it stopped (-1: not YAML), what it is."""

    end: int
    stop: int
    needs_quotes: bool
    is_key: bool = False


def measure(text: str, start: int, parent: int, *, may_be_key: bool) -> Unquoted:
    """Measure the unquoted value at `start`, inside a block that is indented by `parent`."""
    needs = text.startswith(OPENERS, start)
    above: Unquoted | None = None
    at = start
    while True:
        at = _TEXT.match(text, at).end()  # type: ignore[union-attr] # it matches the empty text
        stopper = text[at : at + 1]
        if stopper == "{":
            close = template_end(text, at, parent)
            may_be_key = may_be_key and (at > start if close < 0 else "\n" not in text[at:close])
            needs = needs or (close > 0 and _BREAKS_YAML.search(text, at, close) is not None)
            at = close if close > 0 else at + 2
            continue
        if stopper == ":" and above is None and needs and not may_be_key:
            at += 1
            continue
        if stopper == ":" and not may_be_key:
            return (above or Unquoted(at, at, needs))._replace(stop=-1)
        here = Unquoted(_trimmed(text, start, at), at, needs, stopper == ":")
        below = _continuation(text, at, parent) if stopper == "\n" else -1
        if below < 0:
            return here
        above, may_be_key, at = here, False, below


def template_end(text: str, start: int, parent: int) -> int:
    """Return where the template at `start` is over, -1 if it is not closed inside its value.

    No template holds the beginning of another, not even in a string: so none is read twice.
    """
    simple = _SIMPLE.match(text, start)
    if simple is not None:
        return simple.end()
    close = "}}" if text[start + 1] == "{" else "%}"
    another = _OPENER.search(text, start + 2)
    limit = another.start() if another else len(text)
    depth = 0
    for token in _TOKEN.finditer(text, start + 2, limit):
        word, at = token[0], token.start()
        if word[0] == "\n" and not _goes_on(text, token, parent):
            break
        if depth == 0 and text.startswith(close, at):
            return at + 2
        if word == "{":
            depth += 1
        elif word == "}":
            depth = max(depth - 1, 0)
    line_end = text.find("\n", start, limit)
    roughly = text.find(close, start + 2, limit if line_end < 0 else line_end)
    return roughly + 2 if roughly >= 0 else -1


def _goes_on(text: str, line: re.Match[str], parent: int) -> bool:
    """Whether an open template goes on in the line whose break and indentation are given."""
    column = line.end() - line[0].rfind("\n") - 1 - line.start()
    if column <= parent:
        return _CLOSING_LINE.match(text, line.end()) is not None
    return column > 0 or MARKER.match(text, line.end()) is None


def _continuation(text: str, at: int, parent: int) -> int:
    """Return where an unquoted value goes on after the line break at `at`, -1 if it does not."""
    line = _NEXT_LINE.match(text, at)
    if line is None or len(line[1]) <= parent:
        return -1
    if not line[1] and MARKER.match(text, line.start(1)):
        return -1
    return line.end()


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in " \t\n":
        end -= 1
    return end
