"""Find the comments and blank lines of a YAML text and say which key or list item they belong to.

Reads the text anew and knows nothing of playbooks; writes nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.quoting import quote_templates
from noetl_mcp.playbook.source import Source, read

Spot = tuple[str, int]
"""A key or a list item, by where it begins in the text."""

_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_BLOCK_HEAD = re.compile(r"(?:[&!]\S*\s+)*[|>][-+0-9]*[ \t]*")


@dataclass(slots=True)
class Note:
    """What stands around one thing: comment lines, where an empty text is a blank line."""

    above: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    @property
    def has_comment(self) -> bool:
        """Whether there is more than blank lines."""
        return bool(self.beside) or any(self.above) or any(self.below)

    def comments(self) -> list[str]:
        """Return the comments without the blank lines."""
        return [line for line in (*self.above, *self.beside, *self.below) if line]


def spot_of_entry(child: Node) -> Spot:
    """Return the spot of an entry of a mapping, given its value."""
    if child.key is not None:
        return "key", child.key.start.index
    return spot_of_item(child)


def spot_of_item(item: Node) -> Spot:
    """Return the spot of an item of a list."""
    return "item", item.start.index


@dataclass(slots=True)
class Notes:
    """All notes of a text, to be taken one by one by whoever writes the things they belong to."""

    text: str
    order: list[Spot] = field(default_factory=list)
    by_spot: dict[Spot, Note] = field(default_factory=dict)
    head: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

    def at(self, spot: Spot) -> Note:
        """Return the note of a spot, making an empty one when there is none."""
        return self.by_spot.setdefault(spot, Note())

    def take(self, spot: Spot) -> Note:
        """Return the note of a spot and forget it, so that it is written once.

        One comment can stand beside a thing; when there are several, the others stand above.
        """
        note = self.by_spot.pop(spot, None) or Note()
        return Note([*note.above, *note.beside[:-1]], note.beside[-1:], note.below)

    def has_comment(self, spot: Spot) -> bool:
        """Whether a comment waits at a spot."""
        note = self.by_spot.get(spot)
        return note is not None and note.has_comment

    def settle(self, kept: Iterable[Spot]) -> None:
        """Move the comments of things that are not kept above the next thing that is."""
        stays, written = set(kept), set(self.order)
        homeless: list[str] = []
        for spot in self.order:
            item = ("item", spot[1])
            if spot in stays and homeless:
                above = self.at(spot).above
                place = 1 if above[:1] == [""] else 0
                above[place:place] = homeless
                homeless = []
            elif spot not in stays and item in stays:
                self._join(self.at(item), self.take(spot), is_written=item in written)
            elif spot not in stays:
                homeless += self.take(spot).comments()
        self.tail = homeless + self.tail

    def _join(self, note: Note, other: Note, *, is_written: bool) -> None:
        """Give an item the note of its first key; below a made one nothing can stand."""
        note.above += other.above if is_written else [*other.above, *other.below]
        note.beside += other.beside
        note.below += other.below if is_written else []


class _Thing(NamedTuple):
    """A key or a list item of the text; `closes` is the line that its value ends in, -1 if none."""

    spot: Spot
    line: int
    column: int
    closes: int
    in_flow: bool
    parent: "_Thing | None"


class _Comment(NamedTuple):
    at: int
    line: int
    column: int
    text: str
    stands_alone: bool


def read_notes(source: Source) -> Notes:
    """Read the notes of a text that has been read before without a fault."""
    fresh = Source(source.file, source.text)
    read(fresh, Report(fresh))
    text = quote_templates(source.text)[0]
    if fresh.root is None:
        return Notes(text)
    things, scalars = _walk(fresh.root)
    things.sort(key=lambda thing: thing.spot[1])
    lines = _Lines(text)
    placing = _Placing(Notes(text, [thing.spot for thing in things]), lines)
    comments = list(_comments(text, scalars, lines))
    at = 0
    for thing in things:
        while at < len(comments) and comments[at].at < thing.spot[1]:
            placing.comment(comments[at])
            at += 1
        placing.thing(thing)
    for comment in comments[at:]:
        placing.comment(comment)
    placing.end()
    return placing.notes


def _walk(root: Node) -> tuple[list[_Thing], list[tuple[int, int, str | None]]]:
    """Return the things in the order of the text, and the stretches that scalars take."""
    things: list[_Thing] = []
    scalars: list[tuple[int, int, str | None]] = []
    seen: set[Spot] = set()
    stack: list[tuple[Node, Node, _Thing | None]] = [(root, root, None)]
    while stack:
        node, holder, parent = stack.pop()
        if node is not root:
            is_entry = holder.mapping is not None and node.key is not None
            spot = spot_of_entry(node) if is_entry else spot_of_item(node)
            if spot in seen:
                continue
            seen.add(spot)
            parent = _thing(node, holder, spot, parent)
            things.append(parent)
            if is_entry and node.key is not None:
                scalars.append((node.key.start.index, node.key.end.index, node.key.style))
        if node.mapping is None and node.items is None:
            scalars.append((node.start.index, node.end.index, node.style))
        children = list((node.mapping or {}).values()) or node.items or []
        stack += [(child, node, parent) for child in reversed(children)]
    return things, sorted(scalars)


def _thing(node: Node, holder: Node, spot: Spot, parent: _Thing | None) -> _Thing:
    in_flow = holder.style == "{"
    start = node.key.start if spot[0] == "key" and node.key is not None else node.start
    is_dashed = spot[0] == "item" and not in_flow
    column = holder.start.column if is_dashed else start.column
    is_block = node.style in ("|", ">") or (
        node.style != "{" and (node.mapping is not None or node.items is not None)
    )
    return _Thing(spot, start.line, column, -1 if is_block else node.end.line, in_flow, parent)


class _Lines:
    """Where the lines of a text begin, and which are blank."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in _BREAK.finditer(text))]

    def number(self, index: int) -> int:
        return bisect_right(self.starts, index) - 1

    def before(self, index: int) -> str:
        return self.text[self.starts[self.number(index)] : index]

    def end(self, index: int) -> int:
        found = _BREAK.search(self.text, index)
        return found.start() if found else len(self.text)

    def is_blank(self, number: int) -> bool:
        if not 0 <= number < len(self.starts):
            return False
        stop = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return not self.text[self.starts[number] : stop].strip()


def _comments(
    text: str, scalars: list[tuple[int, int, str | None]], lines: _Lines
) -> Iterator[_Comment]:
    """Yield every comment: a `#` outside of all scalars, up to the end of its line."""
    at, last = 0, 0
    while (found := text.find("#", at)) >= 0:
        while last < len(scalars) and scalars[last][1] <= found:
            last += 1
        if last < len(scalars):
            start, end, style = scalars[last]
            if start <= found:
                head = _BLOCK_HEAD.match(text, start) if style in ("|", ">") else None
                if head is None or head.end() != found:
                    at = end if head is None or found > head.end() else found + 1
                    continue
        end = lines.end(found)
        before = lines.before(found)
        line = lines.number(found)
        yield _Comment(found, line, len(before), text[found:end].rstrip(), not before.strip())
        at = end


class _Placing:
    """Goes through things and comments in the order of the text and puts the ones at the others."""

    def __init__(self, notes: Notes, lines: _Lines) -> None:
        self.notes = notes
        self.lines = lines
        self.last: _Thing | None = None
        self.waiting: list[_Comment] = []

    def comment(self, comment: _Comment) -> None:
        """Put a comment beside what ends in its line, or let it wait for the next thing."""
        thing = None if comment.stands_alone else self.last
        while thing is not None and comment.line not in (thing.line, thing.closes):
            thing = thing.parent if thing.in_flow else None
        while thing is not None and thing.in_flow:
            thing = thing.parent
        if thing is None:
            self.waiting.append(comment)
        else:
            self.notes.at(thing.spot).beside.append(comment.text)

    def thing(self, thing: _Thing) -> None:
        """Put the waiting comments above a thing, or below the one before when they are deeper."""
        above: list[str] = []
        for comment in self.waiting:
            before = None if above or thing.in_flow else self._owner(comment, thing)
            if before is not None:
                self.notes.at(before.spot).below += self._shown(comment)
            else:
                above += self._shown(comment)
        is_first_in_line = self.last is None or self.last.line != thing.line
        if is_first_in_line and self.lines.is_blank(thing.line - 1):
            above.append("")
        if self.last is None:
            self.notes.head = above
        elif above:
            self.notes.at(thing.spot).above = above
        self.waiting = []
        self.last = thing

    def end(self) -> None:
        """Put what still waits below the last thing, or at the end of the text."""
        for comment in self.waiting:
            owner = None if self.notes.tail else self._owner(comment, None)
            if owner is None or owner.column == 0:
                self.notes.tail += self._shown(comment)
            else:
                self.notes.at(owner.spot).below += self._shown(comment)

    def _owner(self, comment: _Comment, following: _Thing | None) -> _Thing | None:
        """Return the thing whose block a comment closes, None when it opens what follows."""
        if not comment.stands_alone:
            return None
        if following is not None and comment.column <= following.column:
            return None
        owner = self.last
        while owner is not None and (owner.in_flow or owner.column > comment.column):
            owner = owner.parent
        above = following
        while above is not None and above is not owner:
            above = above.parent
        return None if above is not None else owner

    def _shown(self, comment: _Comment) -> list[str]:
        return ["", comment.text] if self.lines.is_blank(comment.line - 1) else [comment.text]
