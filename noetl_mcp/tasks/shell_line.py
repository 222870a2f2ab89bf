"""Command lines in which values stand: each value becomes a variable of the environment. Pure.

The shell reads the line as its author wrote it, with `"${NOETL_VALUE_1}"` where a value stood, so
no value is ever read as code. Values are refused where a shell would still look into them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from noetl_mcp.tasks.pieces import Pieces

PREFIX = "NOETL_VALUE_"
_MARK = "\0"  # no command line has one
_HERE = re.compile(r"<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;&|<>()'\"\\]+))")
_PLAIN, _DOUBLE, _OPEN_BRACE, _SUMS, _BACKTICK = range(5)
_REFUSED = {
    _OPEN_BRACE: "a value cannot stand inside ${ }; name it in 'env'",
    _SUMS: "a value cannot stand inside (( )), where shells run what is in it; name it in 'env'",
    _BACKTICK: "a value cannot stand inside backticks; write $( )",
}
_BEHIND_BACKSLASH = "a value cannot stand behind a backslash"
_IN_HERE_DOCUMENT = "a value cannot stand inside a here-document; use 'stdin'"


class _Refused(Exception):
    """A value stands where it cannot."""


def line_problem(pieces: Pieces) -> str | None:
    """Say why the values of a line cannot be passed; None when they can."""
    try:
        line(pieces.literals)
    except _Refused as refused:
        return str(refused)
    return None


def line(literals: Sequence[str]) -> str:
    """Return the line with a variable in place of every value."""
    return _Line(_MARK.join(one.replace(_MARK, "") for one in literals)).written()


@dataclass(slots=True)
class _Line:
    """A line while it is read: where in it we are, and what is open."""

    text: str
    at: int = 0
    values: int = 0
    inside: list[int] = field(default_factory=lambda: [_PLAIN])
    here: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def written(self) -> str:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        return "".join(self.made)

    def _step(self, sign: str) -> None:
        if sign == _MARK:
            self._value()
        elif sign == "\\":
            if self.text.startswith(_MARK, self.at + 1):
                raise _Refused(_BEHIND_BACKSLASH)
            self._take(2)
        elif sign == "$":
            self._dollar()
        elif sign == "`":
            self._toggle(_BACKTICK)
        elif sign == '"':
            self._toggle(_DOUBLE)
        elif sign == "}" and self.inside[-1] == _OPEN_BRACE:
            self._close(1)
        elif self.inside[-1] in (_DOUBLE, _OPEN_BRACE):
            self._take(1)
        else:
            self._bare(sign)

    def _bare(self, sign: str) -> None:
        """Read a sign outside of double quotes."""
        if sign == "'":
            self._single()
        elif sign == "#" and self._begins_a_word():
            self._comment()
        elif sign == "\n" and self.here:
            self._here_document()
        elif self.text.startswith("<<<", self.at):
            self._take(3)
        elif _SUMS not in self.inside and (found := _HERE.match(self.text, self.at)):
            self.here.append(next(word for word in found.groups() if word is not None))
            self._take(len(found[0]))
        elif self.text.startswith("((", self.at):
            self._open(_SUMS, 2)
        elif sign == "(":
            self._open(_PLAIN, 1)
        elif sign == ")":
            self._close(2 if self.inside[-1] == _SUMS else 1)
        else:
            self._take(1)

    def _value(self) -> None:
        for what, why in _REFUSED.items():
            if what in self.inside:
                raise _Refused(why)
        self.values += 1
        named = f"${{{PREFIX}{self.values}}}"
        self.made.append(named if self.inside[-1] == _DOUBLE else f'"{named}"')
        self.at += 1

    def _dollar(self) -> None:
        for opening, what in (("$((", _SUMS), ("${", _OPEN_BRACE), ("$(", _PLAIN)):
            if self.text.startswith(opening, self.at):
                self._open(what, len(opening))
                return
        self._take(1)

    def _single(self) -> None:
        """Read a text in single quotes; a value in it stands between two such texts."""
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        first, *rest = self.text[self.at + 1 : end].split(_MARK)
        self.made.append("'" + first)
        for part in rest:
            self.values += 1
            self.made.append(f"'\"${{{PREFIX}{self.values}}}\"'{part}")
        self.made.append(self.text[end : end + 1])
        self.at = end + 1

    def _comment(self) -> None:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        comment = self.text[self.at : end]
        self.values += comment.count(_MARK)
        self.made.append(comment.replace(_MARK, ""))
        self.at = end

    def _here_document(self) -> None:
        """Take the documents that begin on the next line."""
        for word in self.here:
            ending = re.compile(rf"\n\t*{re.escape(word)}(?=\n|\Z)")
            found = ending.search(self.text, self.at)
            end = found.end() if found else len(self.text)
            if _MARK in self.text[self.at : end]:
                raise _Refused(_IN_HERE_DOCUMENT)
            self._take(end - self.at)
        self.here = []

    def _begins_a_word(self) -> bool:
        return self.at == 0 or self.text[self.at - 1] in " \t\n;&|("

    def _toggle(self, what: int) -> None:
        if self.inside[-1] == what:
            self._close(1)
        else:
            self._open(what, 1)

    def _open(self, what: int, length: int) -> None:
        self.inside.append(what)
        self._take(length)

    def _close(self, length: int) -> None:
        if len(self.inside) > 1:
            self.inside.pop()
        self._take(length)

    def _take(self, length: int) -> None:
        self.made.append(self.text[self.at : self.at + length])
        self.at += length


__all__ = ["PREFIX", "line", "line_problem"]
