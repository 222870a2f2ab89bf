"""Bind SQL text: every `{{ }}` becomes a parameter. Renders nothing itself and opens nothing.

A value never becomes a part of the text. A literal with templates in it becomes one parameter, so
that it keeps meaning what a literal means to the database: a date, a number or a text. Only names
are pasted: what stands in double quotes or comes out of the filter `ident`, and only if it is a
plain name. Refuses `{% %}`, a value in place of a name, and places where no value can be sent.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from noetl_mcp.playbook.rendering.secret import Secret, atoms_of, shown, uncovered
from noetl_mcp.playbook.rendering.spelling import sections
from noetl_mcp.tasks.calls import Statement
from noetl_mcp.tasks.sql_pieces import MARKS, Token, content, refused, statements, tokens

Render = Callable[[str], object]

_REMARK = re.compile(r"\{#.*?#\}", re.DOTALL)
_OPEN = re.compile(r"\{[{%#]")
_IDENT = re.compile(r"\|\s*ident\s*(?:\(\s*\))?\s*[-+]?\}\}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
_QUOTED = re.compile(rf'"{_NAME.pattern}"(?:\."{_NAME.pattern}")*')
_WORDLIKE = frozenset(("word", "number", "name", "text", "escaped", "dollar", "coded", "place"))
_NAMED_BY = frozenset(("INTO", "JOIN", "TABLE", "UPDATE"))
_SORTED_BY = frozenset(("GROUP", "ORDER", "PARTITION"))
_PLAIN_TYPES = ("BIGINT", "INT", "INTEGER", "NUMERIC", "DOUBLE", "FLOAT", "REAL", "BOOLEAN")
_TIMES = ("DATE", "INTERVAL", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMETZ")
_TYPES = frozenset((*_PLAIN_TYPES, *_TIMES, "INET", "JSON", "JSONB", "TEXT", "UUID", "VARCHAR"))
_ZONED = re.compile(r"(?:TIME|TIMESTAMP) (?:WITH|WITHOUT) TIME ZONE")
_UNITS = frozenset(("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"))
_BODIES = frozenset(("CREATE", "DO"))


def bind(text: str, render: Render) -> tuple[Statement, ...]:
    """Return the statements of a template of SQL; `render` gives the value of one `{{ }}`."""
    if not _OPEN.search(text):
        return split(text)
    mark = unused_mark(text)
    sql, templates = _cut(text, mark)
    rest = iter(templates)
    made = []
    for part in statements(tokens(sql, mark)):
        spots = [(token, tuple(islice(rest, token.text.count(mark)))) for token in part]
        if any(token.says for token in part):
            made.append(_Bound(spots, mark, render).made())
    return tuple(made)


def split(text: str) -> tuple[Statement, ...]:
    """Return the statements of a script in which nothing is rendered."""
    return tuple(
        Statement("".join(token.text for token in part).strip())
        for part in statements(tokens(text, unused_mark(text)))
        if any(token.says for token in part)
    )


def unused_mark(text: str) -> str:
    """Return a character that can stand for a template because the text does not have it."""
    mark = next((one for one in MARKS if one not in text), None)
    if mark is None or "\0" in text:
        raise refused("the SQL holds characters that no text should hold")
    return mark


def put_together(pieces: Sequence[str | None], values: Sequence[object]) -> Statement:
    """Return the statement of some pieces; where one is None a value is bound."""
    if not values:
        return Statement("".join(piece or "" for piece in pieces).strip())
    text = "".join("%s" if piece is None else piece.replace("%", "%%") for piece in pieces)
    return Statement(text.strip(), tuple(values))


def parts(statement: Statement) -> list[str]:
    """Return the text before, between and after the places of a statement."""
    if not statement.values:
        return [statement.text]
    # No text holds a NUL, so one can stand for a percent sign that was doubled.
    return [part.replace("\0", "%") for part in statement.text.replace("%%", "\0").split("%s")]


def numbered(statement: Statement) -> str:
    """Return the text with $1, $2 … in place of `%s`."""
    first, *rest = parts(statement)
    return first + "".join(f"${at}{part}" for at, part in enumerate(rest, 1))


def spoken(value: object) -> str:
    """Return the text of a value inside a literal: true, null, lists and maps as JSON has them."""
    value = uncovered(value)
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        raise refused("a value inside a literal has no JSON form") from None


def secrets_of(values: Iterable[object]) -> frozenset[str]:
    """Return the secret texts among some values, however deep."""
    found, waiting = set[str](), list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Secret):
            found.add(value.reveal())
        elif isinstance(value, Mapping):
            waiting += (*value.keys(), *value.values())
        elif isinstance(value, (list, tuple)):
            waiting += value
    return frozenset(found)


def _cut(text: str, mark: str) -> tuple[str, list[str]]:
    """Return the text with a mark for each template, and the templates."""
    pieces, templates, done = list[str](), list[str](), 0
    for start, end in sections(text):
        tag = text[start:end]
        if tag.startswith("{%"):
            raise refused(f"'{_short(tag)}' cannot stand in SQL: only values can, in {{{{ }}}}")
        pieces += (_plain(text[done:start]), mark)
        templates.append(tag)
        done = end
    return "".join((*pieces, _plain(text[done:]))), templates


def _plain(gap: str) -> str:
    """Return the text between two templates; remarks of the template language go."""
    gap = _REMARK.sub("", gap)
    if found := _OPEN.search(gap):
        raise refused(f"'{_short(gap[found.start() :])}' is never closed, or cannot stand in SQL")
    return gap


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


class _Bound:
    """One statement being put together; a piece that is None is where a value is bound."""

    def __init__(
        self, spots: Sequence[tuple[Token, tuple[str, ...]]], mark: str, render: Render
    ) -> None:
        self.spots = spots
        self.mark = mark
        self.render = render
        self.pieces: list[str | None] = []
        self.values: list[object] = []
        self.words: list[tuple[str, int]] = []  # said so far, each with the number of its piece
        self.depth = 0

    def made(self) -> Statement:
        """Return the statement."""
        said = [spot for spot in self.spots if spot[0].says]
        if [token.kind for token, _ in said] == ["place"]:
            raise refused(f"{said[0][1][0]} cannot be a whole statement: it would be a value")
        for at, (token, templates) in enumerate(self.spots):
            self._take(at, token, templates)
            if token.says:
                self.depth += {"(": 1, ")": -1}.get(token.text, 0)
                self.words.append((token.upper, len(self.pieces) - 1))
        return put_together(self.pieces, self.values)

    def _take(self, at: int, token: Token, templates: tuple[str, ...]) -> None:
        if not templates:
            self.pieces.append(token.text)
        elif token.kind == "comment":
            self.pieces.append(token.text.replace(self.mark, ""))
        elif token.kind == "place" and _IDENT.search(templates[0]):
            self._keep_whole(at, templates[0])
            self.pieces.append(self._name(templates[0]))
        elif token.kind == "place":
            self._refuse_name(at, templates[0])
            self._put_value(at, self.render(templates[0]))
        elif token.kind == "name":
            self.pieces.append(self._quoted(token, templates))
        elif token.kind == "coded":
            raise refused(f"{templates[0]} cannot stand in a literal that begins {token.text[:2]}")
        else:
            self._put_literal(at, token, templates)

    def _touching(self, at: int) -> list[Token]:
        """Return what stands right beside a place, without a blank."""
        return [self.spots[n][0] for n in (at - 1, at + 1) if 0 <= n < len(self.spots)]

    def _keep_whole(self, at: int, template: str) -> None:
        if any(token.kind in _WORDLIKE for token in self._touching(at)):
            raise refused(f"{template} stands against a word: the template must give a whole name")

    def _refuse_name(self, at: int, template: str) -> None:
        """Refuse a value where SQL wants a name, or a piece of a word."""
        said = [one for one, _ in self.words[-2:]]
        touching = self._touching(at)
        reads_from = said[-1:] == ["FROM"] and not self.depth and said[0] != "DISTINCT"
        if (
            any(token.kind in _WORDLIKE or token.text == "." for token in touching)
            or reads_from
            or _NAMED_BY.intersection(said[-1:])
            or (len(said) == 2 and said[0] in _SORTED_BY and said[1] == "BY")
        ):
            raise refused(f"{template} stands where SQL wants a name: write {{{{ … | ident }}}}")

    def _name(self, template: str) -> str:
        value = shown(self.render(template))
        if not isinstance(value, str) or not _QUOTED.fullmatch(value):
            raise refused(f"{template} gives no plain name; the filter must come last and alone")
        return value

    def _quoted(self, token: Token, templates: tuple[str, ...]) -> str:
        """Return a name in double quotes; what the templates give must make it a plain one."""
        if token.text == f'"{self.mark}"' and _IDENT.search(templates[0]):
            return self._name(templates[0])
        parts = token.text[1:-1].split(self.mark)
        texts = [spoken(self.render(template)) for template in templates]
        name = parts[0] + "".join(a + b for a, b in zip(texts, parts[1:], strict=True))
        if not _NAME.fullmatch(name):
            raise refused(f"{', '.join(templates)} in double quotes gives no plain name")
        return f'"{name}"'

    def _put_value(self, at: int, value: object) -> None:
        self.values.append(value)
        said = [one for one, _ in self.words[-2:]]
        if isinstance(value, list) and "IN" in said and self._is_all_of_it(at, said):
            self._compare_with_any()
        # DuckDB takes INTERVAL (n) DAY, and no bare parameter there.
        needs = said[-1:] in (["INTERVAL"], ["IN"])
        self.pieces += ("(", None, ")") if needs else (None,)

    def _is_all_of_it(self, at: int, said: Sequence[str]) -> bool:
        """Whether a place is what IN looks into: `IN {{ }}` or `IN ({{ }})`."""
        follows = next((one.upper for one, _ in self.spots[at + 1 :] if one.says), "")
        return said[-1] == "IN" or (said[-2:] == ["IN", "("] and follows == ")")

    def _compare_with_any(self) -> None:
        """Turn IN into = ANY, and NOT IN into <> ALL, which take a list of any length."""
        at = next(n for n in (-1, -2) if self.words[n][0] == "IN")
        negated = len(self.words) + at > 0 and self.words[at - 1][0] == "NOT"
        self.pieces[self.words[at][1]] = "<> ALL" if negated else "= ANY"
        if negated:
            self.pieces[self.words[at - 1][1]] = ""

    def _put_literal(self, at: int, token: Token, templates: tuple[str, ...]) -> None:
        if token.kind == "dollar" and self.words and self.words[0][0] in _BODIES:
            raise refused(
                f"{templates[0]} cannot stand in the body of a routine: pass it as a value"
            )
        self.values.append(self._text(content(token), templates))
        typed = self._type_before(at)
        spaces = [" " if one.kind in _WORDLIKE else "" for one in self._touching(at)]
        before, after = (*spaces, "", "")[:2]
        self.pieces += (None, f" AS {typed})") if typed else (before, None, after)

    def _text(self, literal: str, templates: tuple[str, ...]) -> object:
        """Return what a literal says; as in SQL, a part that is null makes all of it null."""
        parts, found = literal.split(self.mark), [self.render(template) for template in templates]
        if len(parts) != len(found) + 1:
            raise refused(f"{templates[0]} cannot stand behind a backslash")
        if any(value is None for value in found):
            return None
        said = parts[0]
        for template, value, after in zip(templates, found, parts[1:], strict=True):
            said = (said.rstrip() if template.startswith("{{-") else said) + spoken(value)
            said += after.lstrip() if template.endswith("-}}") else after
        return Secret(said, atoms_of(*found)) if secrets_of(found) else said

    def _type_before(self, at: int) -> str:
        """Take back a type that stands before the literal, and begin a cast to it instead."""
        last = self.words[-4:]
        if not last:
            return ""
        if not _ZONED.fullmatch(" ".join(one for one, _ in last)):
            last = last[-1:]
            if last[0][0] not in _TYPES:
                return ""
        follows = next((one.upper for one, _ in self.spots[at + 1 :] if one.says), "")
        if last[0][0] == "INTERVAL" and follows in _UNITS:
            raise refused(f"write INTERVAL '{{{{ … }}}} {follows.lower()}s' with the unit inside")
        for _, piece in last:
            self.pieces[piece] = ""
        self.pieces[last[0][1]] = "CAST("
        return " ".join(one for one, _ in last)


__all__ = [
    "Render",
    "bind",
    "numbered",
    "parts",
    "put_together",
    "secrets_of",
    "split",
    "spoken",
    "unused_mark",
]
