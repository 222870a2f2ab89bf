"""Know how wide text is, from the bundled font itself. It refuses to shape text: no kerning.

The two files in `fonts/` are read once, by the tables `head`, `hhea`, `hmtx` and `cmap` (format 4).
"""

import struct
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FONTS = Path(__file__).parent / "fonts"
REGULAR = FONTS / "NotoSans-Regular.ttf"
BOLD = FONTS / "NotoSans-Bold.ttf"


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Measure one line of text, in the unit of `size`."""
    regular = advances(REGULAR)
    first = advances(BOLD) if bold else regular
    total = 0.0
    for sign in text:
        known = first.get(sign) or regular.get(sign)
        total += _guess(sign) if known is None else known
    return total * size


def can_write(text: str) -> bool:
    """Say whether the bundled font has every sign of the text."""
    return advances(REGULAR).keys() >= set(text)


@cache
def advances(font: Path) -> Mapping[str, float]:
    """Read how far the pen moves for each character, in parts of the font size."""
    raw = font.read_bytes()
    tables = _tables(raw)
    (per_em,) = struct.unpack_from(">H", raw, tables["head"] + 18)
    (long_ones,) = struct.unpack_from(">H", raw, tables["hhea"] + 34)
    steps = struct.unpack_from(f">{long_ones * 2}H", raw, tables["hmtx"])[::2]
    glyphs = _glyphs(raw, tables["cmap"])
    return {sign: steps[min(glyph, long_ones - 1)] / per_em for sign, glyph in glyphs.items()}


def _tables(raw: bytes) -> dict[str, int]:
    (count,) = struct.unpack_from(">H", raw, 4)
    records = (struct.unpack_from(">4sIII", raw, 12 + 16 * at) for at in range(count))
    return {tag.decode("ascii"): offset for tag, _, offset, _ in records}


def _glyphs(raw: bytes, cmap: int) -> dict[str, int]:
    (offset,) = struct.unpack_from(">I", raw, cmap + 8)
    start = cmap + offset
    (twice,) = struct.unpack_from(">H", raw, start + 6)
    many = twice // 2
    ends = struct.unpack_from(f">{many}H", raw, start + 14)
    begins = struct.unpack_from(f">{many}H", raw, start + 16 + twice)
    deltas = struct.unpack_from(f">{many}H", raw, start + 16 + 2 * twice)
    hops_at = start + 16 + 3 * twice
    hops = struct.unpack_from(f">{many}H", raw, hops_at)
    found: dict[str, int] = {}
    for at, (begin, end, delta, hop) in enumerate(zip(begins, ends, deltas, hops, strict=True)):
        for code in range(begin, min(end, 0xFFFE) + 1):
            glyph = code
            if hop:
                (glyph,) = struct.unpack_from(
                    ">H", raw, hops_at + 2 * at + hop + 2 * (code - begin)
                )
            glyph = (glyph + delta) % 0x10000
            if glyph:
                found[chr(code)] = glyph
    return found


def _guess(sign: str) -> float:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Cc"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(sign) in "WF" else 0.62
