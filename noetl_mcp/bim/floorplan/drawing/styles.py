"""What a style of the plan says about colours. It refuses to choose inks."""

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.drawing.colors import Palette, color, mixed


def color_of(style: tree.Style | None, key: str) -> str | None:
    """Return the colour that a style has under a key; the last one, None where it has none."""
    for one in reversed(style.properties if style is not None else ()):
        if one.key == key and isinstance(one.value, str):
            found = color(one.value)
            if found is not None:
                return found
    return None


def floor_of(style: tree.Style | None, plain: str, palette: Palette) -> str:
    """Return the colour of a floor: as much of the style's as the palette shows."""
    found = color_of(style, "floor_color")
    return plain if found is None else mixed(plain, found, palette.tint)
