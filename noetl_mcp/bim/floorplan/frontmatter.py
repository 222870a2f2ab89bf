"""Reads what stands between two lines `---` at the top of a plan. It refuses to be all of YAML.

It takes `key: value` in lines, quoted or not, comments, texts over several lines behind `|` or `>`,
and one level of keys under `config:`; or the same as signs of the language, several to a line.
Other nested values are passed by.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.reading.cursor import Cursor, Lost
from noetl_mcp.bim.floorplan.reading.properties import Value, config_value
from noetl_mcp.bim.floorplan.scanner import is_number, is_string, scanner_of, unquoted
from noetl_mcp.bim.floorplan.tree import Config, Property, Version
from noetl_mcp.bim.floorplan.words import Words

VERSION = re.compile(r'"[0-9]+\.[0-9]+(?:\.[0-9]+)?"|[0-9]+(?:\.[0-9]+){0,2}')
_FENCE = re.compile(r"[ \t]*---[ \t]*(?=[\r\n]|\Z)")
_LINE = re.compile(r"([ \t]*)([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:(?:[ \t]+|$)")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*(?:\#.*)?""")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_FOLDED = frozenset((">", ">-", ">+"))
_BLOCK = frozenset(("|", "|-", "|+")) | _FOLDED


class Header(NamedTuple):
    """What a frontmatter says, and where the rest of the text begins."""

    end: int = 0
    version: Version | None = None
    properties: tuple[Property, ...] = ()
    config: Config | None = None
    errors: tuple[Finding, ...] = ()


class _Line(NamedTuple):
    """A line that says something: how far it is indented, where its text stands."""

    indent: int
    text: str
    start: int


class _Scalar(NamedTuple):
    """A value as written, without quotes and comments."""

    text: str
    quoted: bool
    start: int
    end: int


def header(text: str, words: Words) -> Header:
    """Read the frontmatter of a text, if it has one."""
    signs = scanner_of(words).signs
    first = signs.match(text)
    if first is None or first[1] != "---":
        return Header()
    in_signs = _in_signs(text, first.end(), signs, words)
    if not in_signs.errors:
        return in_signs
    begin = _FENCE.match(text, first.start(1))
    closing = begin and _closing(text, begin.end())
    if not begin or not closing:
        return in_signs
    return _in_lines(text, begin.end(), closing, words)


def _closing(text: str, start: int) -> re.Match[str] | None:
    """Find the line that ends a frontmatter."""
    for line in _LINE.finditer(text, start):
        if line[2].startswith("---") and (closing := _FENCE.match(text, line.start())):
            return closing
    return None


def _in_signs(text: str, start: int, signs: re.Pattern[str], words: Words) -> Header:
    """Read `version: "1.0" title: "Home" ---`; one error at most, and where it is."""
    found: list[Property] = []

    def sign(at: int) -> tuple[str, int, int]:
        match = signs.match(text, at)
        return (match[1], match.start(1), match.end()) if match else ("", at, at)

    key, key_start, at = sign(start)
    while key != "---" or not found:
        if not key.isidentifier() or not key.isascii() or _reserved(key, words):
            return _broken("a key, or '---'", key, key_start, found)
        colon, colon_start, at = sign(at)
        if colon != ":":
            return _broken("':'", colon, colon_start, found)
        value, value_start, at = sign(at)
        if is_string(value):
            said = Value(unquoted(value), "string")
        elif is_number(value):
            said = Value(value if key == "version" else _finite(value), "number")
        elif value in words.flags:
            said = Value(value == words.flags[0], "flag")
        else:
            return _broken("a text in quotes, a number, true or false", value, value_start, found)
        found.append(Property(key, *said, key_start, at, value_start, at))
        key, key_start, at = sign(at)
    return Header(at, _version(found), tuple(found))


def _reserved(key: str, words: Words) -> bool:
    return key in words.keywords and key not in words.document_keys


def _finite(number: str) -> float:
    return min(float(number), 1e12)


def _broken(expected: str, sign: str, start: int, found: list[Property]) -> Header:
    stands = f"found '{sign[:40]}'" if sign else "the text ends here"
    message = f"Expected {expected} in the frontmatter, but {stands}."
    error = Finding("error", "parse", message, "frontmatter", start, start + len(sign))
    return Header(start, _version(found), tuple(found), None, (error,))


def _version(found: list[Property]) -> Version | None:
    for said in reversed(found):
        if said.key == "version":
            shown = str(said.value).lower() if said.kind == "flag" else str(said.value)
            return Version(shown, "frontmatter", said.value_start, said.value_end)
    return None


def _in_lines(text: str, start: int, closing: re.Match[str], words: Words) -> Header:
    """Read the lines between the fences."""
    lines = [line for line in _lines(text, start, closing.start()) if line.text[:1] != "#"]
    reader = _Lines(text, words, lines)
    reader.read()
    config = None
    if reader.config_start is not None:
        config = Config(tuple(reader.config), reader.config_start, reader.config_end)
    if not lines:
        reader.refuse("The frontmatter is empty.", closing.start(), closing.end())
    found = reader.found
    return Header(closing.end(), _version(found), tuple(found), config, tuple(reader.errors))


def _lines(text: str, start: int, stop: int) -> Iterator[_Line]:
    for line in _LINE.finditer(text, start, stop):
        if shown := line[2].rstrip():
            yield _Line(len(line[1]), shown, line.start(2))


def _scalar(line: _Line, at: int) -> _Scalar:
    """Return what stands in a line from a column on."""
    quoted = _QUOTED.fullmatch(line.text, at)
    start = line.start + at
    if quoted:
        inner = quoted[1]
        plain = unquoted(inner) if inner[0] == '"' else inner[1:-1].replace("''", "'")
        return _Scalar(plain, True, start, start + len(inner))
    shown = line.text[at:]
    if shown.startswith("#"):
        shown = ""
    comment = shown.find(" #")
    shown = shown[:comment] if comment >= 0 else shown
    shown = shown.rstrip()
    return _Scalar(shown, False, start, start + len(shown))


class _Lines:
    """Reads the lines of one frontmatter, from the top."""

    def __init__(self, text: str, words: Words, lines: list[_Line]) -> None:
        self.text = text
        self.words = words
        self.lines = lines
        self.i = 0
        self.keys = {spelling: k for k in words.config_keys for spelling in k.spellings}
        self.found: list[Property] = []
        self.config: list[Property] = []
        self.config_start: int | None = None
        self.config_end = 0
        self.errors: list[Finding] = []

    def refuse(self, message: str, start: int, end: int) -> None:
        """Write an error down."""
        if len(self.errors) < 100:
            self.errors.append(Finding("error", "parse", message, "frontmatter", start, end))

    def read(self) -> None:
        """Read all lines."""
        outer = self.lines[0].indent if self.lines else 0
        while self.i < len(self.lines):
            line = self.lines[self.i]
            self.i += 1
            pair = _PAIR.match(line.text)
            if pair is None or line.indent > outer:
                message = f"Expected 'key: value' in the frontmatter, but found '{line.text[:40]}'."
                self.refuse(message, line.start, line.start + len(line.text))
                continue
            self.entry(line, pair)

    def entry(self, line: _Line, pair: re.Match[str]) -> None:
        """Read one key of the outer level with all that belongs to it."""
        key = pair[1]
        said = _scalar(line, pair.end())
        inner = self.inner(line.indent)
        if key == "config" and not said.text:
            self.config_start = line.start
            self.config_end = line.start + len(line.text)
            for nested in inner:
                self.setting(nested)
            return
        if said.text in _BLOCK and not said.quoted:
            last = inner[-1] if inner else line
            joint = " " if said.text in _FOLDED else "\n"
            shown = joint.join(nested.text for nested in inner)
            said = _Scalar(shown, True, said.start, last.start + len(last.text))
        elif inner and said.text:
            shown = inner[0].text
            message = f"'{key}' has a value already, but deeper lines follow: '{shown[:40]}'."
            self.refuse(message, inner[0].start, inner[0].start + len(shown))
            return
        elif inner and not said.quoted:
            return
        elif not said.text and not said.quoted:
            message = f"Expected a value for '{key}' in the frontmatter."
            self.refuse(message, line.start, line.start + len(line.text))
            return
        value = Value(said.text, "string") if said.quoted or key == "version" else _plain(said.text)
        self.found.append(Property(key, *value, line.start, said.end, said.start, said.end))

    def inner(self, indent: int) -> list[_Line]:
        """Take the lines that are indented deeper, and items of a list, which need not be."""
        first = self.i
        while self.i < len(self.lines) and (
            self.lines[self.i].indent > indent or self.lines[self.i].text.startswith("- ")
        ):
            self.i += 1
        return self.lines[first : self.i]

    def setting(self, line: _Line) -> None:
        """Read one key under `config:`."""
        end = self.config_end = line.start + len(line.text)
        pair = _PAIR.match(line.text)
        if pair is None:
            self.refuse("Expected 'key: value' under 'config:'.", line.start, end)
            return
        key = self.keys.get(pair[1])
        if key is None:
            near = get_close_matches(pair[1][:40], self.keys, 1)
            advice = f" Did you mean '{near[0]}'?" if near else ""
            message = f"Expected a key of the config, but found '{pair[1][:40]}'.{advice}"
            self.refuse(message, line.start, line.start + len(pair[1]))
            return
        said = _scalar(line, pair.end())
        value = Value(said.text, "string") if key.kind == "string" else self.value(said)
        if value is None:
            self.refuse(f"Expected a value for '{pair[1]}' of the config.", line.start, end)
            return
        place = (line.start, said.end, said.start, said.end)
        self.config.append(Property(pair[1], *value, *place))

    def value(self, said: _Scalar) -> Value | None:
        """Read a value as the text's own config would; quotes around it say nothing."""
        c = Cursor(self.text, self.words, {}, said.start + said.quoted, said.end - said.quoted)
        try:
            value = config_value(c)
        except Lost:
            return None
        return None if c.texts[c.i] else value


def _plain(text: str) -> Value:
    if text in ("true", "false"):
        return Value(text == "true", "flag")
    if _PLAIN_NUMBER.fullmatch(text):
        return Value(float(text) if len(text) < 300 else text, "number")
    return Value(text, "string")
