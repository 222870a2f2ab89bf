"""Draw a picture with box characters for a terminal. It refuses to draw what would not fit.

The rows and the order are those of the SVG's layout, measured in cells. A picture that is too wide
or has too many steps to be read as boxes becomes the numbered list of `outline`.
"""

from noetl_mcp.compiler.picture.arrangement import arranged
from noetl_mcp.compiler.picture.canvas import cells, plain
from noetl_mcp.compiler.picture.drawing import Box, Picture
from noetl_mcp.compiler.picture.frames import folded
from noetl_mcp.compiler.picture.outline import outline_of
from noetl_mcp.compiler.picture.places import Ruler, Size
from noetl_mcp.compiler.picture.terminal import box_lines, drawn, label_text
from noetl_mcp.compiler.picture.wiring import wired
from noetl_mcp.lettering.fitted import printable, shortened

_MOST_BOXES = 48
_LEGEND = {"error": "╌╌ on error", "need": "┈┈ needs the result"}


def text_of(picture: Picture, width: int = 100, ascii_only: bool = False) -> str:
    """Draw the picture in at most so many columns."""
    wiring = wired(picture)
    if len(wiring.boxes) > _MOST_BOXES:
        return outline_of(picture, width, ascii_only)
    ruler = _ruler(width)
    parts = arranged(folded(wiring, ruler), ruler)
    if any(part.width > width for part in parts):
        return outline_of(picture, width, ascii_only)
    texts = [shortened(printable(picture.title), width, cells)] if picture.title else []
    texts += [drawn(part, wiring).text() for part in parts]
    kinds = {wire.kind for wire in wiring.wires}
    signs = "   ".join(sign for kind, sign in _LEGEND.items() if kind in kinds)
    whole = "\n\n".join(text for text in (*texts, signs) if text)
    return plain(whole) if ascii_only else whole


def _ruler(width: int) -> Ruler:
    return Ruler(
        box=_box_size,
        label=_label_size,
        gap=3,
        lane=1,
        stack=1,
        inset=2,
        caption=0,
        loop=0,
        fold=width - 4,
        row_limit=width,
        column_limit=float("inf"),
        shape=4.4,
        whole=True,
    )


def _odd(size: int) -> int:
    return size + 1 - size % 2


def _box_size(box: Box) -> Size:
    lines = box_lines(box)
    return _odd(max(cells(line) for line in lines) + 4), len(lines) + 2


def _label_size(text: str) -> Size:
    return _odd(cells(label_text(text)) + 2), 1
