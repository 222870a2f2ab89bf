"""Turn a drawing into PNG, the same on every machine as far as the bundled font has the letters.

An image that would be too large is smaller. One that takes longer to paint is painted in a process
of its own, for painting stops all else; what would take very long is refused.
"""

from noetl_mcp.bim.floorplan.drawing.effort import effort, refuse_costly
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw
from noetl_mcp.bim.floorplan.drawing.pixels import on_pixels
from noetl_mcp.bim.floorplan.drawing.shapes import Drawing
from noetl_mcp.bim.floorplan.svg import svg_of
from noetl_mcp.lettering.apart import NotPainted, rendered_apart
from noetl_mcp.lettering.raster import fitting, rendered

APART = 400_000
"""The effort beyond which a picture is painted in a process of its own, which starts in 100 ms."""


def png_of(drawing: Drawing, width: int = 800, height: int | None = None) -> bytes:
    """Draw it so wide, or narrower where it would be higher than allowed."""
    zoom = max(1, width) / drawing.width
    if height is not None:
        zoom = min(zoom, max(1, height) / drawing.height)
    fitted = fitting(drawing.width, drawing.height, zoom)
    cost = effort(drawing, fitted)
    refuse_costly(cost, drawing, fitted)
    svg = svg_of(on_pixels(drawing, zoom))
    if cost <= APART:
        return rendered(svg, zoom)
    try:
        return rendered_apart(svg, zoom)
    except NotPainted as reason:
        raise CannotDraw(f"This picture could not be painted: {reason}.") from None
