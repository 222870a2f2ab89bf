"""Read YAML into nodes that remember where they stand. Builds no objects, follows no tags."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import cyaml

from noetl_mcp.diagnostics import Place, Report
from noetl_mcp.errors import Rule
from noetl_mcp.playbook.node import At, Mark, Node, Path, Scalar, find, weight
from noetl_mcp.playbook.quoting import quote_templates
from noetl_mcp.playbook.scalars import YES_AND_NO, read_scalar
from noetl_mcp.playbook.yaml_words import in_plain_words, is_better_at_its_opening
from noetl_mcp.rules import reading

MOST_BYTES = 16 * 1024 * 1024
MOST_DEPTH = 100
MOST_NODES = 1_000_000
MOST_ALIASED = 100_000
_SHORT = 16


@dataclass(slots=True)
class Source:
    """A text, the tree read from it, and the way back from a value to its place."""

    file: str
    text: str
    root: Node | None = None
    shifts: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    _quoted: str = ""
    _starts: "array[int]" = field(default_factory=lambda: array("I"))

    def place(self, path: Path, *, key: bool = False, word: str | None = None) -> Place:
        """Return where the value at `path` stands, its key, or a word inside it."""
        if self.root is None:
            return Place()
        node = find(self.root, path)
        if key and node.key is not None:
            return self.span(node.key)
        return (self._word(node, word) if word else None) or self.span(node)

    def line(self, number: int) -> str:
        """Return a line of the text as it was written (from one), without its end."""
        starts = self._line_starts()
        if number > len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n\x85\u2028\u2029")

    def place_at(self, index: int) -> Place:
        """Return the place of one character of the text as it was written (from zero)."""
        starts = self._line_starts()
        line = bisect_right(starts, index)
        column = index - starts[line - 1] + 1
        return Place(line, column, line, column + 1)

    def _line_starts(self) -> "array[int]":
        if not self._starts:
            self._starts.append(0)
            self._starts.extend(found.end() for found in _BREAK.finditer(self.text))
        return self._starts

    def line_in(self, path: Path, number: int) -> Place:
        """Return a line (from one) of a block of text, without its indentation; else the whole."""
        node = find(self.root, path) if self.root is not None else None
        if node is None or node.style not in ("|", ">") or node.start.line + number > node.end.line:
            return self.place(path)
        line = self.line(node.start.line + 1 + number)
        indent = len(line) - len(line.lstrip())
        first = node.start.line + 1 + number
        return Place(first, indent + 1, first, max(len(line.rstrip()), indent + 1) + 1)

    def span(self, node: Node) -> Place:
        """Return where a node stands; of a block only its first line."""
        start, end = node.start, node.end
        if end.line > start.line and node.style not in ("'", '"', "{"):
            rest = self._quoted[start.index : _line_end(self._quoted, start.index)].rstrip()
            end = At(0, start.line, start.column + max(len(rest), 1))
        return self.between(start, end)

    def between(self, start: Mark, end: Mark) -> Place:
        """Return the place between two marks, in the text as it was written."""
        line, column = start.line, self._unshift(start.line, start.column)
        end_line, end_column = end.line, self._unshift(end.line, end.column)
        if (end_line, end_column) <= (line, column):
            end_line, end_column = line, column + 1
        return Place(line + 1, column + 1, end_line + 1, end_column + 1)

    def _word(self, node: Node, word: str) -> Place | None:
        raw = self._quoted[node.start.index : node.end.index]
        found = _found_word(raw, word)
        if found is None:
            return None
        down, line_start = 0, 0
        for passed in _BREAK.finditer(raw, 0, found.start()):
            down, line_start = down + 1, passed.end()
        line, column = node.start.line + down, found.start() - line_start
        if not down:
            column += node.start.column
        return self.between(At(0, line, column), At(0, line, column + len(word)))

    def _unshift(self, line: int, column: int) -> int:
        return column - bisect_left(self.shifts.get(line, ()), (column, 0))


def _found_word(raw: str, word: str) -> "re.Match[str] | None":
    """Find a word inside the templates of a text, or anywhere when no template holds it."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    opened = raw.find("{")
    while opened >= 0:
        closed = raw.find("}", opened)
        if closed < 0:
            return pattern.search(raw, opened) or pattern.search(raw)
        found = pattern.search(raw, opened, closed)
        if found is not None:
            return found
        opened = raw.find("{", closed)
    return pattern.search(raw)


_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # what ends a line for the parser


_MOST_DIRECTIVES = 100  # the parser compares each with all before it
_DIRECTIVE = re.compile(r"(?:\A|[\n\r\x85\u2028\u2029])%(?=TAG)")


def _line_end(text: str, start: int) -> int:
    found = _BREAK.search(text, start)
    return found.start() if found else len(text)


def read(source: Source, report: Report) -> None:
    """Fill in the tree of a source, or say why there is none."""
    if len(source.text) > MOST_BYTES:
        report.say(reading.TOO_LARGE, Place(), size=len(source.text), most=MOST_BYTES)
        return
    if source.text.count("%TAG") > _MOST_DIRECTIVES:
        found = list(_DIRECTIVE.finditer(source.text))
        if len(found) > _MOST_DIRECTIVES:
            report.say(reading.TAG, source.place_at(found[0].end() - 1), tag="%TAG")
            return
    source._quoted, source.shifts = quote_templates(source.text)
    try:
        source.root = _Reader(source, report).read()
    except _Stop:
        source.root = None
    except UnicodeEncodeError as error:
        _say_strange(source, report, source._quoted[: error.start], "half of a character")
    except yaml.YAMLError as error:
        source.root = None
        _say_yaml(source, report, error)


def _say_yaml(source: Source, report: Report, error: yaml.YAMLError) -> None:
    if isinstance(error, yaml.reader.ReaderError):
        before = source._quoted.encode()[: error.position].decode("utf-8", "replace")
        _say_strange(source, report, before, error.reason)
        return
    mark: Mark = getattr(error, "problem_mark", None) or At()
    if is_better_at_its_opening(error):
        mark = getattr(error, "context_mark", None) or mark
    start = max(mark.index - mark.column, 0)
    line = source._quoted[start : _line_end(source._quoted, start)]
    problem, cure = in_plain_words(error, line)
    report.say(reading.YAML_SYNTAX, source.between(mark, mark), problem=problem, cure=cure)


def _say_strange(source: Source, report: Report, before: str, problem: str) -> None:
    """Report a character by what stands before it."""
    ends = [found.end() for found in _BREAK.finditer(before)]
    mark = At(0, len(ends), len(before) - (ends[-1] if ends else 0))
    report.say(reading.STRANGE_CHARACTER, source.between(mark, mark), problem=problem)


class _Stop(Exception):
    """A limit was passed and reported; nothing more is read."""


class _Reader:
    """Turns the parser's events into nodes with an explicit stack, so that depth costs nothing."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.stack: list[Node] = []
        self.keys: list[Node | None] = []
        self.anchors: dict[str, Node | None] = {}
        self.nodes = 0
        self.aliased = 0
        self.root: Node | None = None

    def read(self) -> Node | None:
        """Read the one document of the text."""
        parser = cyaml.CParser(self.source._quoted)  # type: ignore[attr-defined]  # the stubs miss it
        documents = 0
        next_event: Callable[[], Any] = parser.get_event
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._open(event, {})
            elif kind is yaml.SequenceStartEvent:
                self._open(event, [])
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close(event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self._stop(reading.SEVERAL_DOCUMENTS, event)
            elif kind is yaml.StreamEndEvent:
                return self.root

    def _scalar(self, event: Any) -> None:
        style = event.style or None
        value: Scalar = event.value
        if style is None and event.tag is None:
            value = read_scalar(event.value)
            if value == event.value and event.value in YES_AND_NO and self._is_claim():
                place = self.source.between(event.start_mark, event.end_mark)
                meant = "true" if event.value in ("yes", "on") else "false"
                self.report.say(reading.YES_IS_TEXT, place, text=event.value, meant=meant)
        elif event.tag is not None:
            value = self._tagged(event)
        node = Node(value, event.start_mark, event.end_mark, style)
        if len(event.value) >= _SHORT:
            node.size = weight(event.value)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._add(node)

    def _is_claim(self) -> bool:
        """Whether a value could be meant as true or false; a name or a step cannot."""
        if not self.stack:
            return True
        is_map = isinstance(self.stack[-1].value, dict)
        key = self.keys[-1] if is_map else self.keys[-2] if len(self.keys) > 1 else None
        return (key is not None or not is_map) and (key is None or key.value not in _NAMING)

    def _tagged(self, event: Any) -> Scalar:
        if event.tag == "tag:yaml.org,2002:str":
            return str(event.value)
        if event.tag in _CORE_TAGS:
            return read_scalar(event.value)
        if event.tag == "!":
            return str(event.value)
        self._say(reading.TAG, event, tag=event.tag.replace("tag:yaml.org,2002:", "!!"))
        return str(event.value)

    def _open(self, event: Any, value: "dict[str, Node] | list[Node]") -> None:
        if len(self.stack) >= MOST_DEPTH:
            self._stop(reading.TOO_DEEP, event, most=MOST_DEPTH)
        if event.tag is not None and event.tag not in _CORE_TAGS:
            self._say(reading.TAG, event, tag=event.tag.replace("tag:yaml.org,2002:", "!!"))
        node = Node(value, event.start_mark, event.end_mark, "{" if event.flow_style else None)
        if event.anchor:
            node.anchor = event.anchor
            self.anchors[event.anchor] = None
        self.stack.append(node)
        self.keys.append(None)

    def _close(self, event: Any) -> None:
        node = self.stack.pop()
        self.keys.pop()
        node.end = event.end_mark
        if node.anchor:
            self.anchors[node.anchor] = node
        merged = node.value.get("<<") if isinstance(node.value, dict) else None
        if isinstance(node.value, dict) and merged and merged.key and not merged.key.style:
            self._merge(node, node.value)
        self._add(node)

    def _merge(self, node: Node, entries: "dict[str, Node]") -> None:
        merged = entries.pop("<<")
        for one in merged.items or [merged]:
            if one.mapping is None:
                self._say_at(reading.MERGE, merged.key or merged, kind=one.kind)
            for key, child in (one.mapping or {}).items():
                entries.setdefault(key, child)
                node.size += child.size

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            self._stop(reading.UNKNOWN_ANCHOR, event, anchor=event.anchor)
        target = self.anchors[event.anchor]
        if target is None:
            self._stop(reading.RECURSIVE_ALIAS, event, anchor=event.anchor)
            return
        self.aliased += target.size
        if self.aliased > MOST_ALIASED:
            self._stop(reading.TOO_MANY_ALIASES, event, most=MOST_ALIASED)
        if len(self.stack) + target.height > MOST_DEPTH:
            self._stop(reading.TOO_DEEP, event, most=MOST_DEPTH)
        node = Node(target.value, event.start_mark, event.end_mark, target.style)
        node.size, node.height = target.size, target.height
        self._add(node)

    def _add(self, node: Node) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            self._stop(reading.TOO_MANY_VALUES, node, most=MOST_NODES)
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.size += node.size
        if node.height >= parent.height:
            parent.height = node.height + 1
        if isinstance(parent.value, list):
            parent.value.append(node)
            return
        key = self.keys[-1]
        if key is None:
            self.keys[-1] = self._key(node)
            return
        self.keys[-1] = None
        node.key = key
        assert isinstance(parent.value, dict)
        assert isinstance(key.value, str)
        if key.value in parent.value:
            first = parent.value[key.value].key or key
            self._say_at(reading.DUPLICATE_KEY, key, key=key.value, first=first.start.line + 1)
            return
        parent.value[key.value] = node

    def _key(self, node: Node) -> Node:
        """Make a key of a node: its text as written."""
        if isinstance(node.value, str):
            return node
        raw = self.source._quoted[node.start.index : node.end.index].strip()
        if isinstance(node.value, (dict, list)):
            is_template = raw.startswith("{")
            rule = reading.UNQUOTED_TEMPLATE if is_template else reading.KEY_NOT_TEXT
            self._say_at(rule, node, text=raw)
        return Node(raw, node.start, node.end, node.style)

    def _say(self, rule: Rule, event: Any, **words: Any) -> None:
        place = self.source.between(event.start_mark, event.end_mark)
        self.report.say(rule, place, **words)

    def _say_at(self, rule: Rule, node: Node, **words: Any) -> None:
        self.report.say(rule, self.source.span(node), **words)

    def _stop(self, rule: Rule, at: Any, **words: Any) -> None:
        if isinstance(at, Node):
            self._say_at(rule, at, **words)
        else:
            self._say(rule, at, **words)
        raise _Stop


_NAMING = frozenset(("step", "name", "next", "then", "else", "task", "element", "desc", "needs"))
_CORE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
