"""Make text fit: clean it, break it into lines, shorten it. It refuses to know any font.

How wide a text is comes as an argument, so that the same rules serve pixels and terminal cells.
"""

import re
import unicodedata
from collections.abc import Callable

Width = Callable[[str], float]

_UNPRINTABLE = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_TURNS_AROUND = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def printable(text: str) -> str:
    """Put the text on one line, without signs that cannot be drawn or that reorder others."""
    if text.isprintable():
        neat = "  " not in text and text.strip() == text
        return text if neat else " ".join(text.split())
    kept = "".join(
        " " if unicodedata.category(sign) in _UNPRINTABLE else sign
        for sign in text
        if sign not in _TURNS_AROUND
    )
    return " ".join(kept.split())


def shortened(text: str, limit: float, width: Width) -> str:
    """Keep the beginning and as much as fits, and say with '…' that more was there."""
    if width(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(text[:middle] + "…") <= limit else (low, middle - 1)
    return text[:low].rstrip() + "…"


def squeezed(text: str, limit: float, width: Width) -> str:
    """Keep beginning and end, for names that differ in their last letters."""
    if width(text) <= limit:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        tried = text[: middle - middle // 2] + "…" + text[len(text) - middle // 2 :]
        low, high = (middle, high) if width(tried) <= limit else (low, middle - 1)
    return text[: low - low // 2] + "…" + text[len(text) - low // 2 :]


def broken(
    text: str, limit: float, lines: int, width: Width, ends_matter: bool = True
) -> tuple[str, ...]:
    """Break the text into at most so many lines, best at a space or after one of `_ . - / :`."""
    done: list[str] = []
    rest = text
    while rest and len(done) < lines - 1 and width(rest) > limit:
        cut = _cut(rest, limit, width)
        done.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    if rest or not done:
        done.append((squeezed if ends_matter else shortened)(rest, limit, width))
    return tuple(done)


def _cut(text: str, limit: float, width: Width) -> int:
    fits = 1
    while fits < len(text) and width(text[: fits + 1]) <= limit:
        fits += 1
    for joint in (r"\s", r"[_.\-/:](?=\w)"):
        ends = [found.end() for found in re.finditer(joint, text[: fits + 1])]
        good = [end for end in ends if fits * 0.4 <= end <= fits]
        if good:
            return good[-1]
    return fits
