"""Walk the block lines of a YAML text and find the values that only quotes can make readable.

Follows quotes, flow collections, block scalars and comments far enough to know what is none of
its business; does not judge, resolve or build anything. Lines break at "\\n" only. A text whose
quote or bracket is never closed is left to the parser from there on.
"""

import re
from functools import lru_cache

from noetl_mcp.playbook.unquoted import MARKER, OPENERS, measure

Span = tuple[int, int]

_ANYWHERE = -1  # the column of the document: its value may be indented as it likes
_NOWHERE = -2  # no block waits for a value: only keys and items make sense here

_DOUBLE = r'"(?:[^"\\]++|\\.)*+"'
_SINGLE = r"'(?:[^']++|'')*+'"
_KEY = r"[A-Za-z_][\w.-]*+:"
_QUOTED = re.compile(rf"{_DOUBLE}|{_SINGLE}", re.DOTALL)
_QUOTED_HERE = r"""(?:"[^"\\\n]*+"|'[^'\n]*+')"""
_SKIPPED = r"(?:[ \t]*+(?:\#[^\n]*+)?+\n)*+"
_TEMPLATE = r"""\{\{(?:[^{}'"\n\\]++|'[^'{}\n\\]*+'|"[^"{}\n\\]*+")*+\}\}"""
# The next line that says something is not more indented than `key` in `key: …` or `- key: …`.
_NO_DEEPER = rf"\n (?!{_SKIPPED}\1[ ])"
_NO_DEEPER_THAN_KEY = rf"\n (?!{_SKIPPED}\2[ ]{{3}})"

_DULL_VALUE = rf"""
    (?:
        (?: {_QUOTED_HERE} | \[[^][{{}}"'#\n]*+\] | \{{[^][{{}}"'#%\n]*+\}} ) [ ]*+
      | [\w/.+] (?: [^:#{{\n] | :(?![ \t\n]) | \{{\{{[^{{}}'":#\n\\]*+\}}\}} )*+
    )
"""
# Lines that neither hold nor open anything of interest; most of a playbook passes here.
_DULL_LINES = re.compile(
    rf"""
    (?:
        [ \t]*+ (?:\#[^\n]*+)?+ \n
      | [ ]*+ (?:-[ ])?+ {_KEY} [ ]*+ \n (?=[ ]*+ (?:-[ ]|{_KEY}[ \n]))
      | ([ ]*+) (?:{_KEY}|-) [ ]++ {_DULL_VALUE} {_NO_DEEPER}
      | ([ ]*+) -[ ] {_KEY} [ ]++ {_DULL_VALUE} {_NO_DEEPER_THAN_KEY}
    )*+
    """,
    re.VERBOSE,
)
_BARE_VALUE = rf"""
    ( {_TEMPLATE} (?: [ \t]*+ (?: {_TEMPLATE} | [^ \t:#{{\n]++ | :(?![ \t\n]) ) )*+ )
    [ \t]*+ (?:(?<=[ \t])\#[^\n]*+)?+
"""
# `key: {{ name }}/rest` and `- {{ name }}`, with nothing more indented below.
_USUAL = re.compile(
    rf"""
    ([ ]*+) (?:{_KEY}|"[^"\\\n]*+":|-) [ ]++ {_BARE_VALUE} {_NO_DEEPER}
    """,
    re.VERBOSE,
)
# The same as the first key of an item; the empty group keeps the numbers of `_DULL_LINES`.
_USUAL_ITEM = re.compile(
    rf"() ([ ]*+) -[ ] (?:{_KEY}|\"[^\"\\\n]*+\":) [ ]++ {_BARE_VALUE} {_NO_DEEPER_THAN_KEY}",
    re.VERBOSE,
)
_HEAD = re.compile(
    rf"[ ]*+((?:[-?:](?:[ \t]++|(?![^\n])))*+)[ \t]*+({_KEY}(?:[ \t]++|(?![^\n])))?+"
)
_EMPTY_LINES = re.compile(_SKIPPED)
_INDENTATION = re.compile(r"[ ]*+")
_PROPERTY = re.compile(r"[&!][^ \t\n]*+(?:[ \t]++|(?![^\n]))")
_ALIAS = re.compile(r"\*[^ \t\n:]*+")
_KEY_IS_OVER = re.compile(r"[ \t]*+:(?:[ \t]++|(?![^\n]))")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*+[ \t]*+(?:#[^\n]*+)?+(?:\n|\Z)")
_FLOW_FILLING = re.compile(
    rf"""
    (?:
        [ \t\n,:?]++
      | \#[^\n]*+
      | {_DOUBLE} | {_SINGLE}
      | [&!*][^ \t\n,\[\]{{}}]*+
      | \[[^][{{}}"'#]*+\] | \{{[^][{{}}"'#]*+\}}
      | [^][ \t\n,{{}}:?#&!*"']
        (?:
            [^][ \t\n,{{}}:]++
          | :(?![][ \t\n,{{}}]|\Z)
          | [ \t\n]++(?=[^][ \t\n#,{{}}:]|:(?![][ \t\n,{{}}]|\Z))
        )*+
    )*+
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(r"[\[{]++|[\]}]++")


def values_to_quote(text: str, start: int = 0) -> list[Span]:
    """Return where the values (and keys) stand that must be quoted, in the order of the text."""
    return _Walk(text, start).spans()


class _Walk:
    """Goes from line to line; `parent` is the column of the block that waits for a value here."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = _EMPTY_LINES.match(text, start).end()  # type: ignore[union-attr] # always matches
        self.parent = _ANYWHERE
        self.line_start = start
        self.found: list[Span] = []

    def spans(self) -> list[Span]:
        """Walk to the last template of the text."""
        text = self.text
        last = max(text.rfind(opener) for opener in OPENERS)
        dull, usual, item = _DULL_LINES.match, _USUAL.match, _USUAL_ITEM.match
        found = self.found
        while self.at <= last:
            line = usual(text, self.at) or item(text, self.at)
            if line is not None:
                found.append(line.span(line.lastindex or 0))
                self.at = line.end()
                self.parent = _NOWHERE
                continue
            skipped = dull(text, self.at)
            assert skipped is not None
            if skipped.end() > self.at:
                self.at = skipped.end()
                self.parent = _NOWHERE
                continue
            self._line()
        return found

    def _line(self) -> None:
        """Read the line at hand, and with it the value that begins there."""
        self.line_start = self.at
        marker = MARKER.match(self.text, self.at)
        if marker is not None or self.text.startswith("%", self.at):
            self.parent = _ANYWHERE
            if marker is None or marker[0] == "...":
                self._wait_for_value(self.at)
                return
        head = _HEAD.match(self.text, marker.end() if marker else self.at)
        assert head is not None
        marks = head[1].rstrip(" \t")
        if marks:
            self.parent = head.start(1) + len(marks) - 1 - self.line_start
        start, may_be_key = head.end(), marker is None
        if head[2] and may_be_key:
            self.parent = head.start(2) - self.line_start
            may_be_key = False
        elif head[2]:
            start = head.start(2)
        self._value(start, may_be_key=may_be_key, quotable="?" not in marks)

    def _value(self, start: int, *, may_be_key: bool, quotable: bool) -> None:
        """Go past one value; if it turns out to be a key, past the key's value too."""
        at = start
        first = self.text[at : at + 1]
        while first in ("&", "!") and (one := _PROPERTY.match(self.text, at)):
            at = one.end()
            first = self.text[at : at + 1]
        if first in ("", "\n", "#"):
            self._wait_for_value(at)
            return
        end = self._fenced(at, first)
        is_key = may_be_key and end >= 0 and "\n" not in self.text[at:end]
        found: Span | None = None
        if end == at:
            value = measure(self.text, at, self.parent, may_be_key=may_be_key)
            found = (at, value.end) if value.needs_quotes and quotable else None
            end, is_key = value.stop, value.is_key
        over = _KEY_IS_OVER.match(self.text, end) if is_key else None
        if over is None and self.parent == _NOWHERE:
            self._give_up()
            return
        if found is not None:
            self.found.append(found)
        if over is None:
            self._next_line(end)
            return
        self.parent = start - self.line_start
        self._value(over.end(), may_be_key=False, quotable=quotable)

    def _fenced(self, at: int, first: str) -> int:
        """Return where a value with an evident end is over, -1 if never, `at` if it is plain."""
        if first in "'\"":
            quoted = _QUOTED.match(self.text, at)
            return quoted.end() if quoted else -1
        if first in "|>":
            return self._block_scalar_end(at)
        if first == "*":
            alias = _ALIAS.match(self.text, at)
            return alias.end() if alias else -1
        if first == "[" or (first == "{" and not self.text.startswith(OPENERS, at)):
            return _flow_end(self.text, at)
        return at

    def _block_scalar_end(self, at: int) -> int:
        """Return the end of its last line; what stands in the header's way is no YAML."""
        header = _BLOCK_HEADER.match(self.text, at)
        if header is None or self.parent == _NOWHERE:
            return -1
        body = _deeper_lines(max(self.parent, 0)).match(self.text, header.end())
        return max(header.end(), body.end() if body else 0) - 1

    def _wait_for_value(self, at: int) -> None:
        """The value stands on a line below: go there and remember which block it belongs to."""
        line_end = self.text.find("\n", at)
        below = _EMPTY_LINES.match(self.text, line_end + 1) if line_end >= 0 else None
        self.at = below.end() if below else len(self.text)

    def _next_line(self, at: int) -> None:
        """Leave the rest of the line alone, and all the text if it cannot go on like this."""
        line_end = self.text.find("\n", at)
        below = _EMPTY_LINES.match(self.text, line_end + 1) if line_end >= 0 else None
        if at < 0 or below is None:
            self._give_up()
            return
        self.at = below.end()
        column = _INDENTATION.match(self.text, self.at).end() - self.at  # type: ignore[union-attr]
        if column > self.parent and MARKER.match(self.text, self.at) is None:
            self._give_up()
        self.parent = _NOWHERE

    def _give_up(self) -> None:
        """Leave the rest to the parser, which gets no further than this line."""
        self.at = len(self.text)


@lru_cache(maxsize=256)
def _deeper_lines(column: int) -> re.Pattern[str]:
    """Match the blank lines and those that are indented by more than `column`."""
    return re.compile(rf"(?:[ ]{{{column + 1}}}[^\n]*+(?:\n|\Z)|[ \t]*+\n)*+")


def _flow_end(text: str, start: int) -> int:
    """Return where the flow collection at `start` is closed, -1 if it never is."""
    depth = 0
    at = start
    while brackets := _BRACKETS.match(text, at):
        at = brackets.end()
        count = at - brackets.start()
        if text[at - 1] in "[{":
            depth += count
        elif count >= depth:
            return brackets.start() + depth
        else:
            depth -= count
        filling = _FLOW_FILLING.match(text, at)
        assert filling is not None
        at = filling.end()
    return -1
