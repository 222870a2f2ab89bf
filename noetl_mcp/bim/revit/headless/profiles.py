"""The outline of a profile in its own frame. Those that it cannot read have none."""

import math
from typing import TypeAlias

from noetl_mcp.bim.revit.headless.curves import drawn
from noetl_mcp.bim.revit.headless.effort import Share
from noetl_mcp.bim.revit.headless.frames import Entity, frame, is_measure

Flat: TypeAlias = tuple[float, float]
_AROUND = 48
_SIZES = {
    "IfcRectangleProfileDef": ("XDim", "YDim"),
    "IfcRoundedRectangleProfileDef": ("XDim", "YDim"),
    "IfcRectangleHollowProfileDef": ("XDim", "YDim"),
    "IfcIShapeProfileDef": ("OverallWidth", "OverallDepth"),
    "IfcTShapeProfileDef": ("FlangeWidth", "Depth"),
    "IfcUShapeProfileDef": ("FlangeWidth", "Depth"),
}
"""Profiles by the size of the box around them; what is hollow or notched fills it nevertheless."""


def outline(profile: Entity, share: Share) -> tuple[Flat, ...]:
    """Return the corners around a profile; those of a shaped one are the corners of its box."""
    kind = profile.is_a()
    if kind in ("IfcArbitraryClosedProfileDef", "IfcArbitraryProfileDefWithVoids"):
        found = tuple((x, y) for x, y, _ in drawn(profile.OuterCurve, share))
        return found[:-1] if len(found) > 1 and found[0] == found[-1] else found
    if kind in ("IfcCircleProfileDef", "IfcCircleHollowProfileDef"):
        turns = [2 * math.pi * step / _AROUND for step in range(_AROUND)]
        share.spend(_AROUND)
        radius = profile.Radius
        if not is_measure(radius):
            return ()
        corners = tuple((radius * math.cos(one), radius * math.sin(one)) for one in turns)
        return _placed(profile, corners)
    if kind in _SIZES:
        width, depth = (getattr(profile, name) for name in _SIZES[kind])
        if not (is_measure(width) and is_measure(depth)):
            return ()
        a, b = width / 2, depth / 2
        return _placed(profile, ((-a, -b), (a, -b), (a, b), (-a, b)))
    return ()


def _placed(profile: Entity, corners: tuple[Flat, ...]) -> tuple[Flat, ...]:
    held = frame(profile.Position)
    placed = [held.placed((x, y, 0.0)) for x, y in corners]
    return tuple((x, y) for x, y, _ in placed)


def area(corners: tuple[Flat, ...]) -> float:
    """Return the area inside an outline."""
    around = zip(corners, (*corners[1:], *corners[:1]), strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in around)) / 2


def middle(corners: tuple[Flat, ...]) -> Flat | None:
    """Return the centre of the area inside an outline; of its corners when it has no area."""
    if not corners:
        return None
    x0, y0 = corners[0]  # sums are kept small where coordinates are large
    moved = [(x - x0, y - y0) for x, y in corners]
    around = list(zip(moved, (*moved[1:], moved[0]), strict=True))
    twice = sum(a[0] * b[1] - b[0] * a[1] for a, b in around)
    if abs(twice) < 1e-12:
        return (
            x0 + sum(x for x, _ in moved) / len(moved),
            y0 + sum(y for _, y in moved) / len(moved),
        )
    x = sum((a[0] + b[0]) * (a[0] * b[1] - b[0] * a[1]) for a, b in around) / (3 * twice)
    y = sum((a[1] + b[1]) * (a[0] * b[1] - b[0] * a[1]) for a, b in around) / (3 * twice)
    return (x0 + x, y0 + y)


__all__ = ["Flat", "area", "middle", "outline"]
