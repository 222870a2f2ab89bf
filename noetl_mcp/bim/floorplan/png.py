"""Turn a drawing into PNG, the same on every machine as far as the bundled font has the letters.

An image that would be too large is smaller; it refuses only what would take very long to paint.
"""

from noetl_mcp.bim.floorplan.drawing.effort import refuse_costly
from noetl_mcp.bim.floorplan.drawing.pixels import on_pixels
from noetl_mcp.bim.floorplan.drawing.shapes import Drawing
from noetl_mcp.bim.floorplan.svg import svg_of
from noetl_mcp.lettering.raster import fitting, rendered


def png_of(drawing: Drawing, width: int = 800, height: int | None = None) -> bytes:
    """Draw it so wide, or narrower where it would be higher than allowed."""
    zoom = max(1, width) / drawing.width
    if height is not None:
        zoom = min(zoom, max(1, height) / drawing.height)
    refuse_costly(drawing, fitting(drawing.width, drawing.height, zoom))
    return rendered(svg_of(on_pixels(drawing, zoom)), zoom)
