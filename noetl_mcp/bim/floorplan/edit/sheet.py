"""A plan's text while it is edited: where things stand in it, and how pieces go in and out.

Only what an edit means to change is changed: comments, layout and line ends stay. It refuses to
know what any operation means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Building, PlacedRoom
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.scanner import scanner_of
from noetl_mcp.bim.floorplan.units import inner_rooms
from noetl_mcp.bim.floorplan.words import WORDS

_BREAK = re.compile(r"\r\n|\r|\n")
_NOTHING_MORE = re.compile(r"(?:[^\S\r\n]|/\*(?:(?!\*/)[^\r\n])*\*/)*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


class Refused(Exception):
    """An operation that cannot be done, with the sentence that says why."""


class Edit(NamedTuple):
    """Put a text in the place of a stretch."""

    start: int
    end: int
    text: str


class Outcome(NamedTuple):
    """What an operation does to the text, what it is about, and what there is to say of it.

    Where it `keeps_places`, no room may stand elsewhere afterwards. Only where it `sets_unit` may
    bare numbers mean another unit afterwards. `effort` is the work that it was, in signs that could
    have been read instead.
    """

    target: str
    edits: tuple[Edit, ...]
    message: str | None = None
    keeps_places: bool = False
    sets_unit: bool = False
    effort: int = 0


class Sign(NamedTuple):
    """A sign of the language where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Sheet:
    """A text and what it says."""

    text: str
    plan: tree.Plan

    @cached_property
    def building(self) -> Building:
        """What the plan means."""
        return understood(self.plan)

    def signs(self, start: int, end: int) -> list[Sign]:
        """Return the signs in a stretch; comments are none."""
        texts, ends = scanner_of(WORDS).scanned(self.text[start:end])
        return [
            Sign(text, start + stop - len(text), start + stop)
            for text, stop in zip(texts, ends, strict=True)
            if text
        ]

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def leads_its_line(self, offset: int) -> bool:
        """Say whether only white space stands before an offset in its line."""
        return not self.text[self.line_start(offset) : offset].strip()

    def indentation(self, offset: int) -> str | None:
        """Return the white space before what leads its line, None for what does not."""
        start = self.line_start(offset)
        before = self.text[start:offset]
        return None if before.strip() else before.replace("\ufeff", "")

    def line_end(self, offset: int) -> str:
        """Return the line end that is usual around an offset."""
        before = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset))
        if before > 0 and self.text[before - 1 : before + 1] == "\r\n":
            return "\r\n"
        if before >= 0:
            return self.text[before]
        first = _BREAK.search(self.text)
        return first[0] if first else "\n"

    def rest_of_line(self, offset: int) -> int | None:
        """Return where the line ends, if only comments follow in it; None if more does."""
        found = _NOTHING_MORE.match(self.text, offset)
        return found.end() if found else None

    @cached_property
    def places(self) -> dict[int, PlacedRoom]:
        """Rooms that have a place, by where their text begins."""
        return {
            room.room.start: room for floor in self.building.floors for room in floor.every_room()
        }

    def length_in(self, old: tree.Number, said: str, *, has_unit: bool) -> Edit:
        """Put a length in the place of another, whose unit stays where the new one has none."""
        end = old.end
        if not has_unit and old.unit is not None:
            end = old.start + len(self.text[old.start : old.end - len(old.unit)].rstrip())
        return Edit(old.start, end, said)

    def clause_in(self, offset: int, clause: str) -> Edit:
        """Put a clause behind what ends at an offset."""
        follows = self.text[offset : offset + 1]
        is_glued = follows.isalnum() or follows in tuple("_\"'")
        return Edit(offset, offset, f" {clause} " if is_glued else f" {clause}")

    def line_before(self, offset: int, line: str, indent: str) -> Edit:
        """Put a line before the line of what stands at an offset, or before it in its line."""
        if self.leads_its_line(offset):
            at = self.line_start(offset)
            return Edit(at, at, f"{indent}{line}{self.line_end(offset)}")
        space = "" if self.text[offset - 1 : offset].isspace() else " "
        return Edit(offset, offset, f"{space}{line} ")

    def line_after(self, offset: int, line: str, indent: str | None) -> Edit:
        """Put a line behind the line of what ends at an offset, or behind it in its line.

        Without an indentation it goes on in the line.
        """
        end = self.rest_of_line(offset)
        if end is not None and indent is not None:
            return Edit(end, end, f"{self.line_end(offset)}{indent}{line}")
        follows = self.text[offset : offset + 1]
        space = "" if not follows or follows.isspace() else " "
        return Edit(offset, offset, f" {line}{space}")

    def without(self, start: int, end: int) -> Edit:
        """Take out a thing; its line goes with it when nothing else but comments is in it.

        What stands before it in the line stays, and a comment behind it, too.
        """
        first = self.line_start(start)
        if self.leads_its_line(start) and self.rest_of_line(end) is not None:
            if first == 0:
                after = _BREAK.match(self.text, end)
                return Edit(0, after.end() if after else end, "")
            wide = self.text[first - 2 : first] == "\r\n"
            return Edit(first - (2 if wide else 1), end, "")
        if self.leads_its_line(start):
            follows = re.compile(r"[^\S\r\n]*").match(self.text, end)
            return Edit(start, follows.end() if follows else end, "")
        return self.clause_out(start, end)

    def clause_out(self, start: int, end: int) -> Edit:
        """Take out a clause with the white space before it."""
        while start > 0 and self.text[start - 1].isspace() and not self._ends_comment(start):
            start -= 1
        joins = self.text[start - 1 : start] + self.text[end : end + 1]
        is_glued = len(joins) == 2 and all(sign.isalnum() or sign == "_" for sign in joins)
        return Edit(start, end, " " if is_glued else "")

    def _ends_comment(self, offset: int) -> bool:
        """Say whether a line break before an offset may be what ends a comment."""
        if self.text[offset - 1] not in "\r\n":
            return False
        line = self.text[self.line_start(offset - 1) : offset]
        return "#" in line


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits; one that lies in another is part of it.

    What goes in where something else begins to go out, goes in before it.
    """
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end > one.start, -one.end)):
        if edit.end <= at and edit.start < at:
            continue
        parts += [text[at : edit.start], edit.text]
        at = max(at, edit.end)
    return "".join([*parts, text[at:]])


def replaced(node: tree.Name, text: str) -> Edit:
    """Put a text in the place of a name."""
    return Edit(node.start, node.end, text)


# Finding things by name


class FoundRoom(NamedTuple):
    """A room, its floor, and the rooms it lies in, from the outside in."""

    room: tree.Room
    floor: tree.Floor
    parents: tuple[tree.Room, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.room.name.text


class FoundElement(NamedTuple):
    """A stair or a lift and its floor."""

    element: tree.Stair | tree.Lift
    floor: tree.Floor


def rooms_of(plan: tree.Plan) -> Iterator[FoundRoom]:
    """Yield all rooms: floors in order, depth first."""
    for floor in plan.floors:
        for room in floor.rooms:
            yield from _inside(FoundRoom(room, floor, ()))


def _inside(found: FoundRoom) -> Iterator[FoundRoom]:
    waiting = [found]
    while waiting:
        one = waiting.pop()
        yield one
        parents = (*one.parents, one.room)
        waiting += [FoundRoom(room, one.floor, parents) for room in reversed(one.room.rooms)]


def room_at(plan: tree.Plan, target: str) -> FoundRoom | None:
    """Return the room of a name, or of a path such as `first.Bath` or `Flex.Booth`."""
    *path, name = target.split(".")
    for found in rooms_of(plan):
        if found.name != name:
            continue
        above = [found.floor.name.text, *(room.name.text for room in found.parents)]
        if _is_within(path, above):
            return found
    return None


def _is_within(path: Sequence[str], above: Iterable[str]) -> bool:
    """Say whether a path stands in this order among the names above."""
    left = iter(above)
    return all(any(name == part for name in left) for part in path)


def the_room(plan: tree.Plan, target: str) -> FoundRoom:
    """Return a room; refuse when there is none."""
    found = room_at(plan, target)
    if found is None:
        raise Refused(f'Room "{target}" not found')
    return found


def things_of(floor: tree.Floor) -> list[tree.Stair | tree.Lift]:
    """Return the stairs and lifts of a floor."""
    return [*floor.stairs, *floor.lifts]


def elements_of(plan: tree.Plan) -> Iterator[FoundElement]:
    """Yield all stairs and lifts: floors in order."""
    for floor in plan.floors:
        for element in things_of(floor):
            yield FoundElement(element, floor)


def element_at(
    plan: tree.Plan, target: str, kind: type[tree.Stair] | type[tree.Lift] | None = None
) -> FoundElement | None:
    """Return the stair or lift of a name, or of a path such as `ground.MainStair`."""
    *path, name = target.split(".")
    return next(
        (
            found
            for found in elements_of(plan)
            if found.element.name.text == name
            and (kind is None or isinstance(found.element, kind))
            and (not path or path == [found.floor.name.text])
        ),
        None,
    )


def floor_at(plan: tree.Plan, name: str) -> tree.Floor:
    """Return a floor; refuse when there is none."""
    for floor in plan.floors:
        if floor.name.text == name:
            return floor
    raise Refused(f'Floor "{name}" not found')


def walked(room: tree.Room) -> Iterator[tree.Room]:
    """Yield a room and all rooms in it."""
    yield room
    yield from inner_rooms(room)
