"""The measures of a wall: its line in the middle, how thick and how high it is.

They come from its axis, its layers and its body, whichever says so; what none of them says is null.
"""

from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity, Point
from noetl_mcp.bim.revit.headless.parameters import measure
from noetl_mcp.bim.revit.headless.shapes import Box, axis, box, solids

KINDS = ("IfcWall", "IfcCurtainWall")
"""The classes of walls; a curtain wall is made of others, and has no line of its own."""


def is_wall(element: Entity) -> bool:
    """Whether an element is a wall."""
    return any(map(element.is_a, KINDS))


class Measures(NamedTuple):
    """A wall in the units of the file, its line in the world."""

    line: tuple[Point, ...]
    thickness: float | None
    height: float | None


def measures(document: Document, wall: Entity) -> Measures:
    """Return the measures of a wall."""
    bodies = solids(wall, document.effort)
    upright = bodies is not None and bool(bodies) and all(one.is_upright for one in bodies)
    around = box([at for one in bodies or () for at in one.points])
    shift, layers = _layers(document, wall)
    line = axis(wall, document.effort)
    if line:
        line = _moved(line, shift)
    elif around is not None and upright:
        line = _along(around)
    thickness = layers
    if thickness is None and around is not None and upright and len(line) == 2:
        thickness = min(around.size[:2])
    height = around.size[2] if around is not None else None
    if height is None:
        said = measure(document, wall, "Height")
        height = None if said is None else said / document.to_mm
    held = document.frames.of(wall)
    return Measures(tuple(held.placed(at) for at in line), thickness, height)


def brief(document: Document, wall: Entity) -> Measures:
    """Return what is kept of the measures of a wall: of a line that bends, only three points."""
    found = measures(document, wall)
    line = found.line
    return found if len(line) <= 2 else found._replace(line=(line[0], line[1], line[-1]))


def row(document: Document, wall: Entity) -> dict[str, Any]:
    """Return what answers tell of a wall beside its names."""
    found = document.once("measures", wall, brief)
    return {
        "height": _mm(document, found.height),
        "thickness": _mm(document, found.thickness),
        "start": document.point(found.line[0]) if found.line else None,
        "end": document.point(found.line[-1]) if found.line else None,
    }


def _mm(document: Document, length: float | None) -> float | None:
    return None if length is None else document.mm(length)


def _layers(document: Document, wall: Entity) -> tuple[float, float | None]:
    """Return how far the middle of the layers is from the axis, and how thick they are together."""
    for one in (wall, document.type_entity(wall)):
        for rel in getattr(one, "HasAssociations", None) or ():
            material = getattr(rel, "RelatingMaterial", None)
            document.effort.spend()
            if material is not None and material.is_a("IfcMaterialLayerSetUsage"):
                total = _total(document, material.ForLayerSet)
                half = (total or 0.0) / 2
                offset = material.OffsetFromReferenceLine or 0.0
                return offset + (half if material.DirectionSense == "POSITIVE" else -half), total
            if material is not None and material.is_a("IfcMaterialLayerSet"):
                return 0.0, _total(document, material)
    return 0.0, None


def _total(document: Document, layers: Entity) -> float | None:
    """Return how thick layers are together."""
    made = getattr(layers, "MaterialLayers", None) or ()
    document.effort.spend(len(made))
    sizes = [one.LayerThickness for one in made]
    is_told = sizes and all(isinstance(one, int | float) for one in sizes)
    return sum(sizes) if is_told else None


def _moved(line: tuple[Point, ...], shift: float) -> tuple[Point, ...]:
    """Return a straight line moved aside; one that bends is left where it is."""
    if not shift or len(line) != 2:
        return line
    (x0, y0, z0), (x1, y1, z1) = line
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    if length == 0:
        return line
    # The layers lie along the y axis of the wall, whichever way its line is drawn.
    aside = shift / length if x1 >= x0 else -shift / length
    dx, dy = (y0 - y1) * aside, (x1 - x0) * aside
    return ((x0 + dx, y0 + dy, z0), (x1 + dx, y1 + dy, z1))


def _along(around: Box) -> tuple[Point, ...]:
    """Return the line through the middle of a box, along its longer side, on the ground."""
    (x0, y0, z0), (x1, y1, _) = around
    if x1 - x0 >= y1 - y0:
        middle = (y0 + y1) / 2
        return ((x0, middle, z0), (x1, middle, z0))
    middle = (x0 + x1) / 2
    return ((middle, y0, z0), (middle, y1, z0))


__all__ = ["KINDS", "Measures", "brief", "is_wall", "measures", "row"]
