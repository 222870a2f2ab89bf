"""Draw lines and text on a grid of terminal cells. It refuses to know what they mean.

Every line belongs to a net; where two nets cross, the vertical one is drawn through, so that a
crossing never looks like a junction.
"""

import unicodedata
from collections.abc import Mapping

Net = tuple[object, ...]

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_JOINTS = " │││─┘┐┤─└┌├─┴┬┼"
_ROUND = {"┘": "╯", "┐": "╮", "└": "╰", "┌": "╭"}
_DASHED: Mapping[str, Mapping[str, str]] = {
    "error": {"│": "╎", "─": "╌"},
    "need": {"│": "┊", "─": "┈"},
}
_PLAIN = {
    **dict.fromkeys("┘┐┤└┌├┴┬┼╯╮╰╭", "+"),
    "│": "|",
    "─": "-",
    "╎": "!",
    "╌": "~",
    "┊": ":",
    "┈": ".",
    "▼": "v",
    "▲": "^",
    "…": "~",
    "·": "-",
    "↻": "@",
}


def cells(text: str) -> int:
    """Say how many cells a text takes."""
    return sum(_cell(sign) for sign in text)


def _cell(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def plain(text: str) -> str:
    """Write a text with ASCII only; other signs become their escape."""
    known = "".join(_PLAIN.get(sign, sign) for sign in text)
    return known.encode("ascii", "backslashreplace").decode("ascii")


class Canvas:
    """A grid that grows as it is drawn on."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], dict[Net, int]] = {}
        self._kinds: dict[Net, str] = {}
        self._signs: dict[tuple[int, int], str] = {}

    def down(self, x: int, top: int, foot: int, net: Net, kind: str) -> None:
        """Draw a vertical line through the cells from `top` to `foot`, both included."""
        for y in range(top, foot + 1):
            self.touch(x, y, UP | DOWN, net, kind)

    def across(self, y: int, left: int, right: int, net: Net, kind: str) -> None:
        """Draw a horizontal line from the middle of one cell to the middle of another."""
        for x in range(left, right + 1):
            ways = (LEFT if x > left else 0) | (RIGHT if x < right else 0)
            self.touch(x, y, ways, net, kind)

    def touch(self, x: int, y: int, ways: int, net: Net, kind: str) -> None:
        """Let a line leave a cell in these directions."""
        self._kinds[net] = kind
        nets = self._lines.setdefault((x, y), {})
        nets[net] = nets.get(net, 0) | ways

    def write(self, x: int, y: int, text: str) -> None:
        """Write a text over whatever is there."""
        for sign in text:
            size = _cell(sign)
            if not size:
                before = (x - 1, y)
                self._signs[before] = self._signs.get(before, "") + sign
                continue
            self._signs[x, y] = sign
            if size == 2:
                self._signs[x + 1, y] = ""
            x += size

    def text(self) -> str:
        """Give the lines, without spaces at their ends."""
        spots = {**{at: self._line(nets) for at, nets in self._lines.items()}, **self._signs}
        rows = max((y for _, y in spots), default=-1) + 1
        ends = [0] * rows
        for x, y in spots:
            ends[y] = max(ends[y], x + 1)
        lines = ["".join(spots.get((x, y), " ") for x in range(ends[y])) for y in range(rows)]
        return "\n".join(line.rstrip() for line in lines)

    def _line(self, nets: Mapping[Net, int]) -> str:
        through = [net for net, ways in nets.items() if ways == UP | DOWN]
        if len(nets) > 1 and through:
            nets = {through[0]: UP | DOWN}
        ways = 0
        for one in nets.values():
            ways |= one
        kind = self._kinds[next(iter(nets))]
        sign = _JOINTS[ways]
        return _DASHED.get(kind, {}).get(sign, _ROUND.get(sign, sign))
