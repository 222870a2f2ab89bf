"""Fit what a room is called into the room: smaller, on more lines, upright, shorter.

It refuses to let letters leave the room or lie on doors and stairs; where nothing fits the answer
is None, and a number with a legend takes its place. All measures are paper's.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.clear_ground import clear_center
from noetl_mcp.lettering.fitted import printable
from noetl_mcp.lettering.widths import width_of

LONGEST = 90
_LEAST = 6.0
_DETAIL = 0.82
_LEADING = 1.22
_FULL = (1.0, 0.9, 0.8)
_SMALL = (0.9, 0.8, 0.7, 0.62)
_WORDS = re.compile(r"(?<=\s)(?=\S)|(?<=[a-z0-9])(?=[A-Z])|(?<=[_\-/&+.,:])(?=\w)")
_SHORT = {
    "bathroom": "Bath",
    "bedroom": "Bed",
    "kitchen": "Kit.",
    "closet": "Cl.",
    "corridor": "Corr.",
    "hallway": "Hall",
    "laundry": "Lau.",
    "storage": "Sto.",
    "utility": "Util.",
    "office": "Off.",
    "meeting": "Mtg",
    "reception": "Rec.",
    "conference": "Conf.",
    "pantry": "Pan.",
    "garage": "Gar.",
    "balcony": "Balc.",
    "terrace": "Terr.",
    "elevator": "Lift",
    "mechanical": "Mech.",
    "electrical": "Elec.",
    "wardrobe": "Ward.",
    "entrance": "Entr.",
    "vestibule": "Vest.",
    "restroom": "WC",
    "toilet": "WC",
}


class Line(NamedTuple):
    """A line of text and how far its foot is below the block's middle."""

    text: str
    size: float
    bold: bool
    y: float


class Block(NamedTuple):
    """Lines around a middle; turned ones read upwards."""

    lines: tuple[Line, ...]
    x: float
    y: float
    width: float
    height: float
    turned: bool

    @property
    def box(self) -> Box:
        """The ground that it covers."""
        wide, high = (self.height, self.width) if self.turned else (self.width, self.height)
        return Box(self.x - wide / 2, self.y - high / 2, wide, high)


class Wording(NamedTuple):
    """A title broken into lines, and their width at size 1."""

    lines: tuple[str, ...]
    width: float


def fitted_label(
    title: str, details: Sequence[str], ground: Box, things: Sequence[Box], base: float
) -> Block | None:
    """Fit a title and its details into a room's clear ground; None where even little does not."""
    wide, high = ground.width, ground.height
    if not may_fit(title, wide, high, base):
        return None
    longest = max(wide, high)
    words = wordings(title[:LONGEST])
    for turned, wording, kept, size in _ways(words, details, wide, high, base):
        width = wording.width * size
        if kept:
            small = size * _DETAIL
            width = max(width, *(width_of(one, small) for one in kept))
        if width > longest:
            continue
        height = (len(wording.lines) + len(kept) * _DETAIL) * size * _LEADING
        across, down = (height, width) if turned else (width, height)
        if across > wide or down > high:
            continue
        center = clear_center(across, down, ground, things)
        if center is not None:
            return _block(wording, kept, size, center, width, height, turned)
    return None


def may_fit(title: str, width: float, height: float, base: float) -> bool:
    """Whether it is worth trying: False where not even the shortest wording has room."""
    if width < _LEAST or height < _LEAST:
        return False
    return _narrowest(title[:LONGEST]) * base * _SMALL[-1] <= max(width, height)


def one_line(
    text: str, size: float, ground: Box, things: Sequence[Box], bold: bool = False
) -> Block | None:
    """Fit one line of one size."""
    width, height = width_of(text, size, bold), size * _LEADING
    if width > ground.width or height > ground.height:
        return None
    center = clear_center(width, height, ground, things)
    if center is None:
        return None
    return Block((Line(text, size, bold, size * 0.36),), *center, width, height, False)


@lru_cache(maxsize=4096)
def wordings(title: str) -> tuple[Wording, ...]:
    """Break a title into one, two and three lines of similar width, and shorten its words."""
    words = _WORDS.split(title)
    found = [Wording((title,), width_of(title, 1.0, True))]
    if len(words) < 2 and not title.isascii() and len(title) > 5:
        half = (len(title) + 1) // 2
        words = [title[:half], title[half:]]
    for lines in (2, 3):
        if len(words) >= lines:
            found.append(_balanced(words[:12], lines))
    short = _joined([_shortened(word) for word in words])
    if short != title and short:
        found.append(Wording((short,), width_of(short, 1.0, True)))
    return tuple(found)


@lru_cache(maxsize=4096)
def _narrowest(title: str) -> float:
    return min(wording.width for wording in wordings(title))


def _shortened(word: str) -> str:
    bare = word.rstrip()
    return _SHORT.get(bare.lower(), bare) + word[len(bare) :]


def _balanced(words: Sequence[str], lines: int) -> Wording:
    ways = []
    for cuts in itertools.combinations(range(1, len(words)), lines - 1):
        ends = (0, *cuts, len(words))
        texts = tuple(_joined(words[a:b]) for a, b in itertools.pairwise(ends))
        ways.append(Wording(texts, max(width_of(text, 1.0, True) for text in texts)))
    return min(ways, key=lambda way: way.width)


def _joined(words: Sequence[str]) -> str:
    """Put words together again, each with the space that it had behind it."""
    return " ".join("".join(words).split())


def _ways(
    words: Sequence[Wording], details: Sequence[str], wide: float, high: float, base: float
) -> Iterator[tuple[bool, Wording, Sequence[str], float]]:
    """All ways to write it, the best first."""
    turns = (False, True) if high > wide * 1.3 else (False,)
    for kept in dict.fromkeys((tuple(details), tuple(details[:1]), ())):
        for sizes in (_FULL,) if kept else (_FULL, _SMALL[2:]):
            for turned in turns:
                room = high if turned else wide
                for size in sizes:
                    for wording in words[:3]:
                        if wording.width * base * size <= room:
                            yield turned, wording, kept, base * size
    for size in _SMALL:
        for turned in turns:
            yield turned, words[-1], (), base * size


def _block(
    wording: Wording,
    kept: Sequence[str],
    size: float,
    center: tuple[float, float],
    width: float,
    height: float,
    turned: bool,
) -> Block:
    lines: list[Line] = []
    top = -height / 2
    for text in wording.lines:
        lines.append(Line(text, size, True, top + size * (_LEADING / 2 + 0.36)))
        top += size * _LEADING
    small = size * _DETAIL
    for text in kept:
        lines.append(Line(text, small, False, top + small * (_LEADING / 2 + 0.36)))
        top += small * _LEADING
    return Block(tuple(lines), *center, width, height, turned)


def words_of(label: str | None, name: str) -> str:
    """What a room is called: its label, or its name."""
    return (printable(label) if label else "") or name
