"""What the shape of an element says: its solids as points, the line of a wall, its thickness.

Reads swept solids, boxes of faces and what stands behind cuts and copies. It does not mesh: a shape
that it cannot read has no measures, and nothing is guessed.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.curves import drawn
from noetl_mcp.bim.revit.headless.effort import A_THING, Effort, Share, TooMuch
from noetl_mcp.bim.revit.headless.frames import (
    Entity,
    Frame,
    Point,
    direction,
    frame,
    is_measure,
    point,
)
from noetl_mcp.bim.revit.headless.profiles import outline

MOST_POINTS = 200_000
_DEEPEST = 32
_UPRIGHT = 1e-3
_UP: Point = (0.0, 0.0, 1.0)


class Solid(NamedTuple):
    """A solid in the frame of its element."""

    points: tuple[Point, ...]
    foot: tuple[Point, ...] = ()
    """The outline that is pulled along, when it is a swept solid."""
    pulled: Point | None = None
    """The way along which it is pulled, and how far."""

    @property
    def is_upright(self) -> bool:
        """Whether it is an outline on the ground that is pulled straight up or down."""
        if self.pulled is None or not self.foot:
            return False
        level = max(one[2] for one in self.foot) - min(one[2] for one in self.foot)
        return abs(self.pulled[0]) + abs(self.pulled[1]) + level < 1e-6 * abs(self.pulled[2])


class Box(NamedTuple):
    """The least and the greatest coordinates of points."""

    least: Point
    most: Point

    @property
    def size(self) -> Point:
        """How far it reaches along each axis."""
        a, b = self.least, self.most
        return (b[0] - a[0], b[1] - a[1], b[2] - a[2])


def box(points: Sequence[Point]) -> Box | None:
    """Return the box around points."""
    if not points:
        return None
    xs, ys, zs = zip(*points, strict=True)
    return Box((min(xs), min(ys), min(zs)), (max(xs), max(ys), max(zs)))


def solids(element: Entity, effort: Effort) -> list[Solid] | None:
    """Return the solids of an element's body; None when one of them cannot be read."""
    body = representation(element, "Body")
    if body is None:
        return []
    found, share = list[Solid](), effort.share(MOST_POINTS)
    try:
        for item in body.Items or ():
            for one in _parts(item, Frame(), share, 0):
                if one is None:
                    return None
                found.append(one)
    except TooMuch:
        return None
    return found


def axis(element: Entity, effort: Effort) -> tuple[Point, ...]:
    """Return the line of a wall or beam in its own frame, by its points; empty when it has none."""
    shape = representation(element, "Axis")
    items = shape.Items if shape is not None else ()
    return line(items[0], effort) if items else ()


def line(curve: Entity, effort: Effort) -> tuple[Point, ...]:
    """Return the points of a curve; empty when it cannot be read, or has too many."""
    try:
        return drawn(curve, effort.share(MOST_POINTS))
    except TooMuch:
        return ()


def representation(element: Entity, identifier: str) -> Entity | None:
    """Return one of the ways in which an element is shown."""
    shape = getattr(element, "Representation", None)
    for one in getattr(shape, "Representations", None) or ():
        if one.RepresentationIdentifier == identifier:
            return one
    return None


def _parts(item: Entity, inside: Frame, share: Share, depth: int) -> Iterator[Solid | None]:
    """Yield the solids of an item; None for one that cannot be read."""
    share.spend(A_THING)
    kind = item.is_a()
    if depth > _DEEPEST:
        yield None
    elif kind in ("IfcBooleanResult", "IfcBooleanClippingResult"):
        # What is cut away makes it no longer.
        whole = item.Operator == "DIFFERENCE"
        yield from _parts(item.FirstOperand, inside, share, depth + 1) if whole else (None,)
    elif kind == "IfcMappedItem":
        yield from _copied(item, inside, share, depth)
    elif kind in ("IfcExtrudedAreaSolid", "IfcExtrudedAreaSolidTapered"):
        yield _pulled(item, inside, share)
    else:
        corners = _corners(item, share)
        yield None if corners is None else Solid(tuple(inside.placed(one) for one in corners))


def _pulled(item: Entity, inside: Frame, share: Share) -> Solid | None:
    flat = outline(item.SweptArea, share)
    depth = item.Depth
    if not flat or not is_measure(depth):
        return None
    held = inside.holding(frame(item.Position))
    way = held.turned(direction(item.ExtrudedDirection, _UP))
    pulled = (way[0] * depth, way[1] * depth, way[2] * depth)
    foot = tuple(held.placed((x, y, 0.0)) for x, y in flat)
    top = tuple((x + pulled[0], y + pulled[1], z + pulled[2]) for x, y, z in foot)
    return Solid((*foot, *top), foot, pulled)


def _copied(item: Entity, inside: Frame, share: Share, depth: int) -> Iterator[Solid | None]:
    """Yield the solids of a shape that several elements share."""
    source, target = item.MappingSource, item.MappingTarget
    if getattr(target, "Scale", None) not in (None, 1.0) or _is_stretched(target):
        yield None
        return
    origin = point(getattr(target.LocalOrigin, "Coordinates", None))
    x = direction(target.Axis1, (1.0, 0.0, 0.0))
    y = direction(target.Axis2, (0.0, 1.0, 0.0))
    z = direction(getattr(target, "Axis3", None), _UP)
    if origin is None or not _is_upright(x, y, z):
        yield None
        return
    held = inside.holding(Frame(x, y, z, origin)).holding(frame(source.MappingOrigin))
    for one in source.MappedRepresentation.Items or ():
        yield from _parts(one, held, share, depth + 1)


def _is_upright(x: Point, y: Point, z: Point) -> bool:
    """Whether each axis stands upright on the others."""
    pairs = ((x, y), (y, z), (z, x))
    return all(abs(sum(map(operator.mul, a, b))) < _UPRIGHT for a, b in pairs)


def _is_stretched(target: Entity) -> bool:
    scales = (getattr(target, name, None) for name in ("Scale2", "Scale3"))
    return any(one not in (None, 1.0) for one in scales)


def _corners(item: Entity, share: Share) -> list[Point] | None:
    """Return the corners of a shape that is made of flat faces."""
    kind = item.is_a()
    if kind in ("IfcTriangulatedFaceSet", "IfcPolygonalFaceSet"):
        rows = getattr(item.Coordinates, "CoordList", None) or ()
        share.spend(len(rows))
        found = [point(one) for one in rows]
    elif kind in ("IfcFacetedBrep", "IfcFaceBasedSurfaceModel", "IfcShellBasedSurfaceModel"):
        found = [point(one.Coordinates) for one in _loops(item, share)]
    elif kind == "IfcBoundingBox":
        corner = point(getattr(item.Corner, "Coordinates", None))
        size = point((item.XDim, item.YDim, item.ZDim))
        if corner is None or size is None:
            return None
        found = [corner, (corner[0] + size[0], corner[1] + size[1], corner[2] + size[2])]
    else:
        return None
    return [one for one in found if one is not None] if found and None not in found else None


def _loops(item: Entity, share: Share) -> Iterator[Any]:
    """Yield the points of all faces."""
    shells: Sequence[Entity] = ()
    if item.is_a("IfcFacetedBrep"):
        shells = (item.Outer,)
    elif item.is_a("IfcFaceBasedSurfaceModel"):
        shells = item.FbsmFaces or ()
    elif item.is_a("IfcShellBasedSurfaceModel"):
        shells = item.SbsmBoundary or ()
    for shell in shells:
        for face in getattr(shell, "CfsFaces", None) or ():
            for bound in face.Bounds or ():
                corners = getattr(bound.Bound, "Polygon", None) or ()
                share.spend(1 + len(corners))
                yield from corners


__all__ = ["MOST_POINTS", "Box", "Solid", "axis", "box", "line", "representation", "solids"]
