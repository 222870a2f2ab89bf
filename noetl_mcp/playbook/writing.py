"""Write a playbook that was read, from whatever dialect, as v2 YAML text.

The text compiles to the same plan; its comments and the blank lines between its parts survive.
Refuses nothing: it is called for playbooks without errors.
"""

from collections.abc import Iterator

from noetl_mcp.playbook.authored import authored
from noetl_mcp.playbook.comments import (
    Note,
    Notes,
    Spot,
    read_notes,
    spot_of_entry,
    spot_of_item,
)
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.scalars import read_scalar
from noetl_mcp.playbook.source import Source
from noetl_mcp.playbook.yaml_text import LONGEST_SIMPLE_KEY, inline, key_text, literal

_WIDEST = 100


def write_playbook(source: Source) -> str:
    """Return the v2 text of the playbook that was read from a source."""
    assert source.root is not None
    root = authored(source.root)
    notes = read_notes(source)
    notes.settle(spots(root))
    return _Writer(notes).document(root)


def write_tree(root: Node) -> str:
    """Return the YAML text of any mapping, without comments."""
    return _Writer(Notes("")).document(root)


def spots(node: Node) -> Iterator[Spot]:
    """Yield the spots of everything that is written below a node, in the order of writing."""
    for child in (node.mapping or {}).values():
        yield spot_of_entry(child)
        yield from spots(child)
    for item in node.items or []:
        yield spot_of_item(item)
        yield from spots(item)


class _Writer:
    """Collects the lines of a text; every note is written where its thing is written first."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.lines: list[str] = []
        self.takes_no_blank = False

    def document(self, root: Node) -> str:
        """Write a whole text."""
        self._remarks(self.notes.head, 0)
        self._mapping(root, 0)
        self._remarks(self.notes.tail, 0)
        while self.lines and not self.lines[-1] and not self.takes_no_blank:
            self.lines.pop()
        return "\n".join(self.lines) + "\n"

    def _mapping(self, node: Node, indent: int, dash: str = "", first: Note | None = None) -> None:
        """Write the entries of a mapping; the first one may stand behind a dash."""
        for key, child in (node.mapping or {}).items():
            note = first or self.notes.take(spot_of_entry(child))
            if first is None:
                self._remarks(note.above, indent)
            self._entry(key, child, indent, dash, note)
            self._remarks(note.below, indent)
            dash, first = "", None

    def _entry(self, key: str, child: Node, indent: int, dash: str, note: Note) -> None:
        pad = dash or " " * indent
        spelt = key_text(key)
        if len(spelt) > LONGEST_SIMPLE_KEY:
            self._line(f"{pad}? {spelt}")
            pad, spelt = " " * indent, ""
        self._value(f"{pad}{spelt}:", child, indent, note.beside)

    def _sequence(self, node: Node, indent: int) -> None:
        for item in node.items or []:
            note = self.notes.take(spot_of_item(item))
            if item.mapping and self._flow(item, indent + 2) is None:
                self._mapping_item(item, note, indent)
            else:
                is_nested = bool(item.items) and self._flow(item, indent + 2) is None
                self._remarks([*note.above, *(note.beside if is_nested else ())], indent)
                self._value(" " * indent + "-", item, indent, [] if is_nested else note.beside)
            self._remarks(note.below, indent)

    def _mapping_item(self, item: Node, note: Note, indent: int) -> None:
        """Write a mapping behind a dash; what belongs above its first key stands above the dash."""
        head = next(iter((item.mapping or {}).values()))
        first = self.notes.take(spot_of_entry(head))
        self._remarks([*note.above, *note.beside, *first.above], indent)
        self._mapping(item, indent + 2, " " * indent + "- ", first)

    def _value(self, head: str, node: Node, indent: int, beside: list[str]) -> None:
        """Write a value behind its key or dash, in the same line or below."""
        remark = "".join(f"  {comment}" for comment in beside)
        flow = self._flow(node, len(head) + 1)
        if flow is not None:
            self._line(f"{head} {flow}{remark}")
            return
        if node.mapping is not None or node.items is not None:
            self._line(f"{head}{remark}")
            self.takes_no_blank = True
            self._nested(node, indent)
            return
        block = literal(node.text, indent) if node.text is not None else None
        if block is None:
            self._line(f"{head} {self._spelt(node)}{remark}")
            return
        self._line(f"{head} {block[0]}{remark}")
        self.lines += block[1:]
        self.takes_no_blank = block[0].endswith("+")

    def _nested(self, node: Node, indent: int) -> None:
        if node.mapping is not None:
            self._mapping(node, indent + 2)
        else:
            self._sequence(node, indent + 2)

    def _flow(self, node: Node, column: int) -> str | None:
        """Return a collection in one line, if that is how it was written and it fits."""
        if not node.mapping and not node.items:
            return "{}" if node.mapping == {} else "[]" if node.items == [] else None
        if node.style != "{" or any(self.notes.has_comment(spot) for spot in spots(node)):
            return None
        text = self._flow_text(node)
        return text if text is not None and column + len(text) <= _WIDEST else None

    def _flow_text(self, node: Node) -> str | None:
        if node.items is not None:
            items = [self._flow_text(item) for item in node.items]
            return None if None in items else "[" + ", ".join(map(str, items)) + "]"
        if node.mapping is not None:
            pairs = [(key_text(key), self._flow_text(one)) for key, one in node.mapping.items()]
            if any(len(key) > _WIDEST or text is None for key, text in pairs):
                return None
            return "{" + ", ".join(f"{key}: {text}" for key, text in pairs) + "}"
        if node.text is not None and "\n" in node.text:
            return None
        return self._spelt(node, in_flow=True)

    def _spelt(self, node: Node, *, in_flow: bool = False) -> str:
        """Spell a scalar; a number as its author spelt it."""
        value = node.value
        assert not isinstance(value, (dict, list))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raw = self.notes.text[node.start.index : node.end.index]
            read = read_scalar(raw)
            if read == value and type(read) is type(value):
                return raw
        return inline(value, in_flow=in_flow)

    def _remarks(self, remarks: list[str], indent: int) -> None:
        for remark in remarks:
            if remark:
                self._line(" " * indent + remark)
            elif self.lines and self.lines[-1] and not self.takes_no_blank:
                self.lines.append("")

    def _line(self, line: str) -> None:
        self.lines.append(line)
        self.takes_no_blank = False
