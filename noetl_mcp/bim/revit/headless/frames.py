"""Where things stand: frames inside frames, and points carried from one into the world.

A frame has three axes of length one and an origin. What a file says of a frame may be anything, so
axes are made upright, and a chain that leads back into itself ends.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float, float]
Entity: TypeAlias = Any
"""An entity of the file; the library knows its attributes at run time only."""

ORIGIN: Point = (0.0, 0.0, 0.0)
_MOST = 1e100
_X: Point = (1.0, 0.0, 0.0)
_Z: Point = (0.0, 0.0, 1.0)


class Frame(NamedTuple):
    """Axes and an origin, in the frame outside."""

    x: Point = _X
    y: Point = (0.0, 1.0, 0.0)
    z: Point = _Z
    origin: Point = ORIGIN

    def placed(self, point: Point) -> Point:
        """Return a point of this frame as the frame outside sees it."""
        return _sum(self.turned(point), self.origin)

    def turned(self, direction: Point) -> Point:
        """Return a direction of this frame as the frame outside sees it."""
        a, b, c = direction
        (x0, x1, x2), (y0, y1, y2), (z0, z1, z2) = self.x, self.y, self.z
        return (a * x0 + b * y0 + c * z0, a * x1 + b * y1 + c * z1, a * x2 + b * y2 + c * z2)

    def holding(self, inner: "Frame") -> "Frame":
        """Return a frame that stands in this one as the frame outside sees it."""
        return Frame(
            self.turned(inner.x),
            self.turned(inner.y),
            self.turned(inner.z),
            self.placed(inner.origin),
        )


WORLD = Frame()


class Frames:
    """The placements of a file, each followed to the world once."""

    def __init__(self) -> None:
        self._known: dict[int, Frame] = {}

    def of(self, product: Entity) -> Frame:
        """Return the frame of a product in the world; one without a placement stands in it."""
        return self.world(getattr(product, "ObjectPlacement", None))

    def world(self, placement: Entity | None) -> Frame:
        """Return a placement as the world sees it."""
        chain = list[Entity]()
        met = set[int]()
        while placement is not None and placement.id() not in self._known:
            if placement.id() in met:
                break
            met.add(placement.id())
            chain.append(placement)
            placement = getattr(placement, "PlacementRelTo", None)
        found = WORLD if placement is None else self._known.get(placement.id(), WORLD)
        for one in reversed(chain):
            found = found.holding(_relative(one))
            self._known[one.id()] = found
        return found


def _relative(placement: Entity) -> Frame:
    """Return where a placement is in the one that it stands in; raise ValueError when unknown."""
    if placement.is_a("IfcLocalPlacement"):
        return frame(placement.RelativePlacement)
    position = getattr(placement, "CartesianPosition", None)  # of a place along a line
    if position is None:
        raise ValueError(f"where something stands is told by {placement.is_a()}, which is not read")
    return frame(position)


def frame(axes: Entity | None) -> Frame:
    """Return the frame that an axis placement describes, flat or in space."""
    if axes is None:
        return WORLD
    if axes.is_a() not in ("IfcAxis2Placement3D", "IfcAxis2Placement2D"):
        raise ValueError(f"where something stands is told by {axes.is_a()}, which is not read")
    location = getattr(axes, "Location", None)
    origin = point(getattr(location, "Coordinates", None))
    if origin is None:
        raise ValueError(f"the place #{axes.id()} has no coordinates that are numbers")
    up = _Z
    if axes.is_a("IfcAxis2Placement3D"):
        up = _length_one(_ratios(axes.Axis)) or _Z
    ahead = _length_one(_ratios(axes.RefDirection)) or (_X if abs(up[0]) < 0.9 else _Z)
    along = _length_one(_sum(ahead, _times(up, -_dot(ahead, up))))
    if along is None:  # the two point the same way
        other = _X if abs(up[0]) < 0.9 else (0.0, 1.0, 0.0)
        along = _length_one(_sum(other, _times(up, -_dot(other, up)))) or _X
    return Frame(along, _cross(up, along), up, origin)


def point(numbers: Iterable[Any] | None) -> Point | None:
    """Return coordinates as a point in space; None when they are no such thing."""
    found = tuple(numbers or ())
    if not 2 <= len(found) <= 3 or not all(map(is_measure, found)):
        return None
    return (float(found[0]), float(found[1]), float(found[2]) if len(found) == 3 else 0.0)


def direction(entity: Entity | None, otherwise: Point) -> Point:
    """Return a direction of length one."""
    return _length_one(_ratios(entity)) or otherwise


def text(value: Any) -> str:
    """Return a text; of what is none only what it is, for it may hold others without end."""
    if isinstance(value, str | bool | int | float):
        return str(value)
    return f"#{value.id()} {value.is_a()}" if hasattr(value, "is_a") else type(value).__name__


def _ratios(entity: Entity | None) -> Point | None:
    return None if entity is None else point(getattr(entity, "DirectionRatios", None))


def is_measure(value: Any) -> bool:
    """Whether something is a number with which can be reckoned and that stays one."""
    return isinstance(value, int | float) and -_MOST < value < _MOST


def _length_one(vector: Point | None) -> Point | None:
    size = math.hypot(*vector) if vector is not None else 0.0
    if vector is None or not 1e-12 < size < 1e150:
        return None
    return _times(vector, 1 / size)


def _sum(a: Point, b: Point) -> Point:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _times(a: Point, by: float) -> Point:
    return (a[0] * by, a[1] * by, a[2] * by)


def _dot(a: Point, b: Point) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Point, b: Point) -> Point:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


__all__ = [
    "ORIGIN",
    "WORLD",
    "Entity",
    "Frame",
    "Frames",
    "Point",
    "direction",
    "frame",
    "is_measure",
    "point",
]
