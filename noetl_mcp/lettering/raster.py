"""Turn an SVG into PNG bytes. It refuses to make images too large to look at.

Text is set in the bundled font, so the image is the same on every machine; system fonts are asked
only for signs the bundled one lacks. An image has at most 24 million pixels and 16,000 on a side:
a larger picture is scaled down to that.
"""

import math
import re

import resvg_py

from noetl_mcp.lettering.widths import BOLD, REGULAR, can_write

MOST_PIXELS = 24_000_000
LONGEST_SIDE = 16_000
_NUMBER = r"[\d.]+(?:e[+-]?\d+)?"


def rendered(svg: str, zoom: float = 2.0) -> bytes:
    """Draw an SVG that states its size; `zoom` is pixels to a unit of it."""
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=fitting(*_size(svg), zoom),
        skip_system_fonts=can_write(svg.replace("\n", " ")),
        font_files=[str(REGULAR), str(BOLD)],
        font_family="Noto Sans",
        sans_serif_family="Noto Sans",
    )


def fitting(width: float, height: float, zoom: float) -> float:
    """Reduce the zoom until the image keeps its limits."""
    by_area = math.sqrt(MOST_PIXELS / max(1.0, width * height))
    by_side = LONGEST_SIDE / max(1.0, width, height)
    return min(zoom, by_area, by_side)


def _size(svg: str) -> tuple[float, float]:
    found = re.match(rf'<svg [^>]*?width="({_NUMBER})" height="({_NUMBER})"', svg)
    return (float(found[1]), float(found[2])) if found else (1.0, 1.0)
