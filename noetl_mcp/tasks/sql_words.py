"""Tell from its words whether SQL writes. Reads Postgres and DuckDB; parses neither.

Comments, strings, dollar quotes, quoted names and templates are no words. What a function does
inside is not seen. One pass over the text; nothing raises, and what is no SQL does not write.
"""

import re
from collections.abc import Iterator

CHANGES = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE"))
_OTHER_WRITERS = """
CREATE DROP ALTER TRUNCATE GRANT REVOKE COMMENT CALL DO VACUUM ANALYZE ANALYSE REINDEX CLUSTER
REFRESH REASSIGN SECURITY IMPORT EXPORT REPLACE UPSERT RENAME
"""
WRITERS = CHANGES | set(_OTHER_WRITERS.split())
_MAIN = CHANGES | frozenset(("SELECT", "VALUES", "TABLE", "FROM", "PIVOT", "UNPIVOT"))
_NAMING = frozenset(("WITH", "RECURSIVE", ",", "SET", "BY", "USING"))
_FALSE = frozenset(("FALSE", "OFF"))
_OTHER = "?"  # a value or a quoted name: nothing that could be a keyword

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<word>[^\W\d][\w$]*)
      | (?P<line>--[^\r\n]*)
      | (?P<number>\d[\w.]*)
      | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
      | (?P<open>/\*|\{\{|\{%|\{\#|['"])
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_COMMENT = re.compile(r"/\*|\*/")
_IN_QUOTE = {
    "'": re.compile(r"'|\{\{|\{%"),
    '"': re.compile(r'"|\{\{|\{%'),
    "\\": re.compile(r"'|\\|\{\{|\{%"),
}
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}


def looks_like_writing(sql: str) -> bool:
    """Whether any statement of the text changes something, going by its words."""
    statement: list[str] = []
    for token in _tokens(sql):
        if token != ";":
            statement.append(token)
            continue
        if _writes(statement):
            return True
        statement = []
    return _writes(statement)


def _tokens(sql: str) -> Iterator[str]:
    """Yield words in capitals, marks, `?` for values and `;` between statements."""
    reader, at, before = _Reader(sql), 0, ""
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        kind, text = (found.lastgroup, found[0]) if found else ("mark", sql[at])
        at += len(text)
        token = ""
        if kind == "word" and text in ("e", "E") and sql.startswith("'", at):
            at, token = reader.quote(at + 1, "\\"), _OTHER
        elif kind == "word":
            token = _OTHER if before == "." else text.upper()
        elif kind == "mark":
            token = text
        elif kind == "number":
            token = _OTHER
        elif kind == "dollar":
            at, token = reader.past(text, at), _OTHER
        elif kind == "open":
            at, token = reader.opened(text, at)
        if token:
            yield token
            before = token


class _Reader:
    """Finds where a quote, a comment or a template ends; one that does not end takes the rest."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.unclosed: set[str] = set()

    def opened(self, text: str, at: int) -> tuple[int, str]:
        """Return the place after what was opened, and the token it counts as."""
        if text == "/*":
            return self.comment(at), ""
        if text in _IN_QUOTE:
            return self.quote(at, text), _OTHER
        end = self.template(text, at)
        # Text after a {% %} may be the start of another statement.
        return end, {"{{": _OTHER, "{%": ";", "{#": ""}[text]

    def past(self, text: str, at: int) -> int:
        """Return the place after the next `text`."""
        end = self.sql.find(text, at)
        return len(self.sql) if end < 0 else end + len(text)

    def template(self, text: str, at: int) -> int:
        """Return the place after a template; one that is never closed is no template."""
        close = _CLOSING[text]
        end = -1 if close in self.unclosed else self.sql.find(close, at)
        if end < 0:
            self.unclosed.add(close)
            return at
        return end + len(close)

    def quote(self, at: int, quote: str) -> int:
        """Return the place after a quoted text, whose templates may hold quotes."""
        while found := _IN_QUOTE[quote].search(self.sql, at):
            at = found.end()
            if found[0] == "\\":
                at += 1
            elif found[0] in _CLOSING:
                at = self.template(found[0], at)
            else:
                return at
        return len(self.sql)

    def comment(self, at: int) -> int:
        """Return the place after a comment, which may hold others."""
        depth = 1
        while depth and (found := _IN_COMMENT.search(self.sql, at)):
            depth += 1 if found[0] == "/*" else -1
            at = found.end()
        return len(self.sql) if depth else at


def _writes(statement: list[str]) -> bool:
    """Whether one statement writes."""
    words = _carried_out(statement)
    first = next((token for token in words if token != "("), "")
    if first in WRITERS:
        return True
    if first == "COPY" and _copies_in_or_out(words):
        return True
    return _fills_a_table(words) or _changes_inside(words)


def _carried_out(statement: list[str]) -> list[str]:
    """Return what is really done: nothing for a bare EXPLAIN, what a PREPARE prepares."""
    first = statement[0] if statement else ""
    if first == "PREPARE":
        return statement[statement.index("AS") + 1 :] if "AS" in statement else []
    if first not in ("EXPLAIN", "DESCRIBE", "SUMMARIZE"):
        return statement
    start, analyzes = 1, False
    while start < len(statement) and statement[start] in ("ANALYZE", "ANALYSE", "VERBOSE"):
        analyzes = analyzes or statement[start] != "VERBOSE"
        start += 1
    if statement[start : start + 1] == ["("] and ")" in statement:
        end = statement.index(")")
        analyzes = analyzes or _asks_to_analyze(statement[start:end])
        start = end + 1
    return statement[start:] if analyzes and first == "EXPLAIN" else []


def _asks_to_analyze(options: list[str]) -> bool:
    """Whether the options of an EXPLAIN say that the statement is carried out."""
    followed = zip(options, [*options[1:], ""], strict=True)
    return any(o in ("ANALYZE", "ANALYSE") and then not in _FALSE for o, then in followed)


def _copies_in_or_out(words: list[str]) -> bool:
    """Whether a COPY fills a table or a file; only one to the client does not."""
    depth, after = 0, ""
    for token in words:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token == "FROM":
            return True
        if depth == 0 and after == "TO":
            return token != "STDOUT"
        after = token if depth == 0 else after
    return True


def _fills_a_table(words: list[str]) -> bool:
    """Whether a SELECT … INTO, or an INSERT INTO inside, stands here."""
    before, unpivots = "", False
    for token in words:
        unpivots = unpivots or token == "UNPIVOT"
        if token == "INTO" and before != "AS" and not unpivots:
            return True
        before = token
    return False


def _changes_inside(words: list[str]) -> bool:
    """Whether a WITH leads to a change, in one of its parts or as a whole.

    Each parenthesis is a level; on the outermost one and after `AS (` a statement begins.
    """
    levels, before = ["start"], ""
    for token in words:
        state = levels[-1]
        if token == "(":
            begins = before in ("AS", "MATERIALIZED", "COPY") or state == "start"
            levels.append("start" if begins else "inside")
        elif token == ")":
            if len(levels) > 1:
                levels.pop()
        elif state == "start" and (token in CHANGES or (token == "COPY" and len(levels) > 1)):
            return True
        elif state == "start":
            levels[-1] = "with" if token == "WITH" else "inside"
        elif state == "with" and token in _MAIN and before not in _NAMING:
            if token in CHANGES:
                return True
            levels[-1] = "inside"
        before = token
    return False


__all__ = [
    "CHANGES",
    "WRITERS",
    "looks_like_writing",
]
