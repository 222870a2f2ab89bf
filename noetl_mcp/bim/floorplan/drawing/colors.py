"""Colours: themes, and inks that can be read. It refuses what is not a colour."""

import re
from dataclasses import dataclass
from functools import lru_cache

READABLE = 4.5
VISIBLE = 3.0
_HEX = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\Z")
_BLACK, _WHITE = "#000000", "#ffffff"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme.

    `tint` is how much of a style's floor colour is seen: a drawing in one colour shows a hint.
    """

    paper: str
    room: str
    wall: str
    text: str
    faint: str
    symbol: str
    glass: str
    dimension: str
    stair: str
    wrong: str
    tint: float


THEMES = {
    "default": Palette(
        paper="#ffffff",
        room="#f6f3ec",
        wall="#262626",
        text="#1c1c1c",
        faint="#5a5a5a",
        symbol="#333333",
        glass="#d9ecf7",
        dimension="#4a4a4a",
        stair="#fbfaf7",
        wrong="#c0281c",
        tint=1.0,
    ),
    "dark": Palette(
        paper="#17191d",
        room="#262a31",
        wall="#d5d9e0",
        text="#f2f4f7",
        faint="#aab2be",
        symbol="#c3c9d2",
        glass="#3a5a72",
        dimension="#b4bcc8",
        stair="#30353d",
        wrong="#ff8a7a",
        tint=0.45,
    ),
    "blueprint": Palette(
        paper="#123a63",
        room="#184674",
        wall="#f2f7fc",
        text="#ffffff",
        faint="#c5d8ec",
        symbol="#d6e5f4",
        glass="#3f72a6",
        dimension="#c5d8ec",
        stair="#1e4f81",
        wrong="#ffb3a0",
        tint=0.3,
    ),
}


@lru_cache(maxsize=4096)
def color(written: str) -> str | None:
    """Return a colour as `#rrggbb`; None for what is none."""
    if not _HEX.match(written):
        return None
    digits = written[1:].lower()
    return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))


@lru_cache(maxsize=4096)
def mixed(first: str, second: str, share: float) -> str:
    """Return the first colour with a share of the second in it."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


@lru_cache(maxsize=4096)
def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG 2 measures it: 1 to 21."""
    bright, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@lru_cache(maxsize=4096)
def on(ground: str, ink: str, least: float = READABLE) -> str:
    """Return the ink, or black or white where it cannot be told from the ground."""
    if contrast(ground, ink) >= least:
        return ink
    return max((_BLACK, _WHITE), key=lambda other: contrast(ground, other))


@lru_cache(maxsize=4096)
def seen(ground: str, shade: str, towards: str, least: float) -> str:
    """Return the shade, or as much of it as can be told from the ground."""
    steps = (mixed(shade, towards, share / 4) for share in range(5))
    return next((step for step in steps if contrast(ground, step) >= least), towards)


def _channels(shade: str) -> tuple[int, int, int]:
    return int(shade[1:3], 16), int(shade[3:5], 16), int(shade[5:7], 16)


def _luminance(shade: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(shade))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
