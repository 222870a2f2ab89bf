"""What is found in a plan: errors and warnings, as the tools answer them."""

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Lines:
    """Turns offsets of a text into lines and columns.

    Both count from 1; columns count UTF-16 units, as editors and language clients do. CRLF, LF and
    lone CR end a line.
    """

    text: str

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each line begins."""
        return (0, *(found.end() for found in _BREAK.finditer(self.text)))

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect.bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        wide = 0 if before.isascii() else sum(1 for sign in before if ord(sign) > 0xFFFF)
        return line + 1, len(before) + wide + 1


class Finding(NamedTuple):
    """One error or warning.

    `type` is one of the kinds that the tools promise: parse, connection, wall_type, overlap,
    no_position, missing_reference, circular_dependency; `code` is our own finer name of the check.
    `start` is its offset in the text, where it has one.
    """

    severity: str
    type: str
    message: str
    code: str = ""
    start: int | None = None
    end: int | None = None
    room: str | None = None
    rooms: tuple[str, ...] = ()
    variable: str | None = None
    expected: tuple[str, ...] = ()

    def as_json(self, lines: Lines) -> dict[str, Any]:
        """Return it as the tools answer it; what it does not have is left out."""
        shown: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.start is not None:
            shown["line"], shown["column"] = lines.place(self.start)
        if self.room is not None:
            shown["roomName"] = self.room
        if self.variable is not None:
            shown["variableName"] = self.variable
        if self.rooms:
            shown["rooms"] = list(self.rooms)
        if self.code:
            shown["code"] = self.code
        return shown
