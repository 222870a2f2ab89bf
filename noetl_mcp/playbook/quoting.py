"""Put quotes around templates that stand bare, so that YAML reads them as text.

    dsn: {{ secrets.pg_dsn }}      becomes      dsn: '{{ secrets.pg_dsn }}'

Moves no line, changes nothing inside quotes, block scalars, flow collections or comments, and
never fails: what is not YAML is left for the parser to refuse.
"""

import re
from collections.abc import Iterator

from noetl_mcp.playbook.block_lines import Span, values_to_quote
from noetl_mcp.playbook.unquoted import OPENERS

Shifts = dict[int, list[tuple[int, int]]]

_BYTE_ORDER_MARK = "\ufeff"
_OTHER_BREAKS = (("\r\n", " \n"), ("\r", "\n"), ("\x85", "\n"), ("\u2028", "\n"), ("\u2029", "\n"))

_HARMLESS = r"""\{\{(?:[^{}'":#\\\n]|'[^'{}:#\\\n]*+'|"[^"{}:#\\\n]*+")*+\}\}"""
_NO_OPENER = r"(?:[^{\n]++|\{(?![{%]))*+"
# Text, then templates that are closed and have nothing in them that means something to YAML.
_TEXT = rf"""
    (?![&!\t]|---|[-?][\ \t]) (?:[^{{\n:]++|:(?![\ \t\n]))++
    (?: {_HARMLESS} (?:[^{{\n:]++|:(?![\ \t\n]))*+ )++
    {_NO_OPENER}
"""
# Lines that hold nothing to quote, wherever they stand: for nearly all texts that settles it.
_SAFE_LINES = re.compile(
    rf"""
    (?:
        {_NO_OPENER} \n
      | [ ]*+ (?:-[ ]++)*+
        (?:
            (?:[A-Za-z_][\w.-]*+|"[^"\\{{\n]*+"): [ ]++
            (?: (?:["'\[]|\{{(?![{{%])) [^\n]*+ | {_TEXT} )
          | \#[^\n]*+
          | {_TEXT}
        )
        (?:\n|\Z)
    )*+
    """,
    re.VERBOSE,
)


def quote_templates(text: str) -> tuple[str, Shifts]:
    """Return the text with bare templates quoted, and what was inserted where.

    For each line that changed (from 0, as the parser counts them) stand the columns of the new
    text that got a character more, so that `new - sum(n for at, n in … if at < new)` is the old
    column. Columns count as the parser counts them: a byte order mark has none.
    """
    plain_breaks = text
    for other, same in _OTHER_BREAKS:
        plain_breaks = plain_breaks.replace(other, same)
    start = 1 if text.startswith(_BYTE_ORDER_MARK) else 0
    if not _may_need_quotes(plain_breaks, start):
        return text, {}
    spans = values_to_quote(plain_breaks, start)
    return _quoted(text, spans), _shifts(plain_breaks, spans, start)


def _may_need_quotes(text: str, start: int) -> bool:
    """Whether some line holds a template that is not evidently fine."""
    last = max(text.rfind(opener) for opener in OPENERS)
    if last < 0:
        return False
    safe = _SAFE_LINES.match(text, start)
    return safe is None or safe.end() <= last


def _quoted(text: str, spans: list[Span]) -> str:
    parts = []
    last = 0
    for start, end in spans:
        parts.append(text[last:start])
        parts.append("'" + text[start:end].replace("'", "''") + "'")
        last = end
    parts.append(text[last:])
    return "".join(parts)


def _shifts(text: str, spans: list[Span], line_start: int) -> Shifts:
    """Note the column of every quote that was put in."""
    shifts: Shifts = {}
    count, find_last = text.count, text.rfind
    columns: list[tuple[int, int]] = []
    seen, line = line_start, -1
    for place in _insertions(text, spans):
        breaks = count("\n", seen, place)
        if breaks or line < 0:
            line = max(line, 0) + breaks
            line_start = max(find_last("\n", seen, place) + 1, line_start)
            columns = shifts[line] = []
        seen = place
        columns.append((place - line_start + len(columns), 1))
    return shifts


def _insertions(text: str, spans: list[Span]) -> Iterator[int]:
    for start, end in spans:
        yield start
        inner = text.find("'", start, end)
        while inner >= 0:
            yield inner
            inner = text.find("'", inner + 1, end)
        yield end
