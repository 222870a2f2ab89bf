"""The points of a curve in its own frame. Reads lines, arcs and what is made of them."""

import math

from noetl_mcp.bim.revit.headless.effort import A_THING, Share
from noetl_mcp.bim.revit.headless.frames import Entity, Point, frame, is_measure, point

_DEEPEST = 16
_ON_AN_ARC = 24
"""An arc becomes so many pieces."""


def drawn(curve: Entity, share: Share, depth: int = 0) -> tuple[Point, ...]:
    """Return the points of a curve, from its start to its end; none when it cannot be read."""
    share.spend(A_THING)
    if depth > _DEEPEST:
        return ()
    kind = curve.is_a()
    if kind == "IfcPolyline":
        points = curve.Points or ()
        share.spend(len(points))
        return _whole([point(one.Coordinates) for one in points])
    if kind == "IfcIndexedPolyCurve":
        rows = getattr(curve.Points, "CoordList", None) or ()
        share.spend(len(rows))
        return _whole([point(one) for one in rows])
    if kind == "IfcTrimmedCurve":
        share.spend(_ON_AN_ARC)
        return _trimmed(curve)
    if kind == "IfcCompositeCurve":
        return _joined(curve, share, depth)
    if kind == "IfcCircle":
        share.spend(_ON_AN_ARC)
        return _arc(curve, 0.0, 2 * math.pi)
    if kind == "IfcEllipse":
        return ()
    return ()


def _whole(found: list[Point | None]) -> tuple[Point, ...]:
    kept = tuple(one for one in found if one is not None)
    return kept if len(kept) == len(found) else ()


def _joined(curve: Entity, share: Share, depth: int) -> tuple[Point, ...]:
    found = list[Point]()
    for segment in curve.Segments or ():
        parent = getattr(segment, "ParentCurve", None)
        piece = drawn(parent, share, depth + 1) if parent is not None else ()
        if not piece:
            return ()
        ordered = piece if segment.SameSense else tuple(reversed(piece))
        found += ordered[1:] if found and _near(found[-1], ordered[0]) else ordered
    return tuple(found)


def _near(a: Point, b: Point) -> bool:
    return math.dist(a, b) <= 1e-9 * max(1.0, *map(abs, a))


def _trimmed(curve: Entity) -> tuple[Point, ...]:
    """Return the piece of a line or a circle between two points of it."""
    basis = curve.BasisCurve
    if basis.is_a("IfcLine"):
        ends = [_on_line(basis, trim) for trim in (curve.Trim1, curve.Trim2)]
        found = _whole(ends)
        return found if curve.SenseAgreement else tuple(reversed(found))
    if basis.is_a("IfcCircle"):
        angles = [_on_circle(basis, trim) for trim in (curve.Trim1, curve.Trim2)]
        if angles[0] is None or angles[1] is None:
            return ()
        start, end = angles[0], angles[1]
        if curve.SenseAgreement:
            return _arc(basis, start, end if end > start else end + 2 * math.pi)
        return _arc(basis, start, end if end < start else end - 2 * math.pi)
    return ()


def _on_line(line: Entity, trims: tuple[Entity, ...]) -> Point | None:
    for one in trims:
        if hasattr(one, "Coordinates"):
            return point(one.Coordinates)
    for one in trims:
        along = getattr(one, "wrappedValue", None)
        start = point(line.Pnt.Coordinates)
        way = point(line.Dir.Orientation.DirectionRatios)
        if isinstance(along, int | float) and start is not None and way is not None:
            size = math.hypot(*way) or 1.0
            reach = along * line.Dir.Magnitude / size
            return (
                start[0] + way[0] * reach,
                start[1] + way[1] * reach,
                start[2] + way[2] * reach,
            )
    return None


def _on_circle(circle: Entity, trims: tuple[Entity, ...]) -> float | None:
    """Return the angle of a place on a circle, as its own frame sees it."""
    held = frame(circle.Position)
    for one in trims:
        at = point(getattr(one, "Coordinates", None))
        if at is not None:
            away = tuple(a - b for a, b in zip(at, held.origin, strict=True))
            x = sum(a * b for a, b in zip(away, held.x, strict=True))
            y = sum(a * b for a, b in zip(away, held.y, strict=True))
            return math.atan2(y, x)
    return None  # a mere parameter is in the file's unit of angles, which is not known here


def _arc(circle: Entity, start: float, end: float) -> tuple[Point, ...]:
    held = frame(circle.Position)
    radius = circle.Radius
    if not is_measure(radius):
        return ()
    turns = [start + (end - start) * step / _ON_AN_ARC for step in range(_ON_AN_ARC + 1)]
    return tuple(
        held.placed((radius * math.cos(turn), radius * math.sin(turn), 0.0)) for turn in turns
    )


__all__ = ["drawn"]
