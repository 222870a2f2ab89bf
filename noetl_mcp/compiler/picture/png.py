"""Turn a drawn picture into PNG bytes. It refuses to draw anything itself."""

from noetl_mcp.compiler.picture.drawing import Picture
from noetl_mcp.compiler.picture.svg import svg_of
from noetl_mcp.lettering.raster import rendered


def png_of(picture: Picture, zoom: float = 2.0) -> bytes:
    """Draw the picture; `zoom` is pixels to a unit of the SVG."""
    return rendered(svg_of(picture), zoom)
