"""Rows of answers: what an element is called and is, where it stands, how large it is."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless import rooms, walls
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity, Point, text
from noetl_mcp.bim.revit.headless.shapes import Box, axis, box, solids

Row = dict[str, Any]
_DEEPEST = 64
"""Parts in parts in parts."""


def common(document: Document, element: Entity) -> Row:
    """Return what every row says."""
    kind, level = document.kind(element), document.level(element)
    category = document.category(element)
    return {
        "elementId": element.id(),
        "id": element.id(),
        "uniqueId": text(element.GlobalId),
        "name": called(element),
        "category": category.key,
        "categoryName": category.name,
        "familyName": kind.family,
        "typeId": kind.id,
        "typeName": kind.name,
        "levelId": None if level is None else level.id,
        "levelName": None if level is None else level.name,
    }


def called(element: Entity) -> str | None:
    """Return the one name of an element; that of a room is its long one, beside its number.

    Raise TypeError where no text stands for it.
    """
    said = getattr(element, "LongName", None) if element.is_a("IfcSpace") else None
    found = said or element.Name
    if found is not None and not isinstance(found, str):
        raise TypeError("a name is a text")
    return found


def number(element: Entity) -> int:
    """Return the id of an element."""
    found: int = element.id()
    return found


def wall(document: Document, element: Entity) -> Row:
    """Return the row of a wall."""
    return common(document, element) | walls.row(document, element)


def room(document: Document, element: Entity) -> Row:
    """Return the row of a room; its level is told by its name, as Revit does."""
    found = common(document, element) | rooms.row(document, element)
    return found | {"level": found["levelName"]}


def filling(document: Document, element: Entity) -> Row:
    """Return the row of a door or a window."""
    host = document.host(element)
    width, height = (getattr(element, name, None) for name in ("OverallWidth", "OverallHeight"))
    place = _place(document, element, width) if _is_placed(element) else None
    return common(document, element) | {
        "hostWallId": None if host is None else host.id(),
        "hostUniqueId": None if host is None else text(host.GlobalId),
        "width": _mm(document, width),
        "height": _mm(document, height),
        "location": None if place is None else document.point(place),
    }


def framed(document: Document, element: Entity) -> Row:
    """Return the row of a beam, with its two ends."""
    held = document.frames.of(element)
    line = axis(element, document.effort) or _lengthwise(document, element)
    ends = [document.point(held.placed(at)) for at in (line[0], line[-1])] if line else [None, None]
    return common(document, element) | {"start": ends[0], "end": ends[1]}


def standing(document: Document, element: Entity) -> Row:
    """Return the row of something that stands at a place."""
    return common(document, element) | {"location": origin(document, element)}


def origin(document: Document, element: Entity) -> dict[str, float] | None:
    """Return the place of an element in millimetres; None when the file gives it none."""
    return document.point(document.frames.of(element).origin) if _is_placed(element) else None


def _is_placed(element: Entity) -> bool:
    return element.ObjectPlacement is not None


def laid(document: Document, element: Entity) -> Row:
    """Return the row of a floor."""
    found = box(_own_points(document, element) or ())
    thick = None if found is None else document.mm(found.size[2])
    return standing(document, element) | {"thickness": thick}


def world_box(document: Document, element: Entity) -> Box | None:
    """Return the box around an element in the world; None when its shape cannot be read.

    An element that is only a whole has the box of its parts.
    """
    return document.once("extent", element, _extent).box


class _Extent(NamedTuple):
    """The box around an element and its parts; one whose shape cannot be read has none."""

    box: Box | None
    is_read: bool = True


def _extent(document: Document, element: Entity, inside: tuple[int, ...] = ()) -> _Extent:
    if element.id() in inside or len(inside) > _DEEPEST:
        raise ValueError(f"#{(inside or (0,))[0]} is a part of itself, or of too much else")
    held = document.frames.of(element)
    own = _own_points(document, element)
    points = [held.placed(at) for at in own or ()]
    find = partial(_extent, inside=(*inside, element.id()))
    parts = _parts(element) if own is not None else []
    document.effort.spend(len(parts))
    for part in parts:
        inner = document.once("extent", part, find)
        if not inner.is_read:
            return inner
        points += [] if inner.box is None else [inner.box.least, inner.box.most]
    return _Extent(box(points), own is not None)


def _parts(element: Entity) -> list[Entity]:
    """Return what an element is made of; the rooms in a room are not parts of it."""
    rels = getattr(element, "IsDecomposedBy", None) or ()
    return [one for rel in rels for one in rel.RelatedObjects or () if one.is_a("IfcElement")]


def box_row(document: Document, element: Entity) -> Row | None:
    """Return the box around an element in millimetres."""
    found = world_box(document, element)
    if found is None:
        return None
    return {"min": document.point(found.least), "max": document.point(found.most)}


def _own_points(document: Document, element: Entity) -> list[Point] | None:
    bodies = solids(element, document.effort)
    return None if bodies is None else [at for one in bodies for at in one.points]


def _mm(document: Document, length: Any) -> float | None:
    return document.mm(length) if isinstance(length, int | float) else None


def _place(document: Document, element: Entity, width: Any) -> Point:
    """Return the middle of a door's sill, on the line of its wall where that is known.

    By the standard it stands in its opening with a corner at its origin. Some put its middle
    there: its body tells, but not to the millimetre, as handles and casings belong to it.
    """
    held = document.frames.of(element)
    half = width / 2 if isinstance(width, int | float) else 0.0
    body = box(_own_points(document, element) or ())
    along = half if body is None else (body.least[0] + body.most[0]) / 2
    along = half if half and abs(along - half) < half / 2 else along
    middle = held.placed((along, 0.0, 0.0))
    host = document.host(element)
    line = (
        document.once("measures", host, walls.brief).line
        if host is not None and walls.is_wall(host)
        else ()
    )
    return _onto(line[0], line[-1], middle) if len(line) == 2 else middle


def _onto(start: Point, end: Point, at: Point) -> Point:
    """Return the place on a line that is nearest on plan; the height stays."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = dx * dx + dy * dy
    if length == 0:
        return at
    along = ((at[0] - start[0]) * dx + (at[1] - start[1]) * dy) / length
    return (start[0] + dx * along, start[1] + dy * along, at[2])


def _lengthwise(document: Document, element: Entity) -> tuple[Point, ...]:
    """Return the line along which a single body is pulled, through the middle of its foot."""
    bodies = solids(element, document.effort) or ()
    if len(bodies) != 1 or bodies[0].pulled is None:
        return ()
    foot, pulled = bodies[0].foot, bodies[0].pulled
    middle = (
        sum(one[0] for one in foot) / len(foot),
        sum(one[1] for one in foot) / len(foot),
        sum(one[2] for one in foot) / len(foot),
    )
    return (middle, (middle[0] + pulled[0], middle[1] + pulled[1], middle[2] + pulled[2]))


class Shown(NamedTuple):
    """How the elements of some classes are told."""

    kinds: tuple[str, ...]
    row: Callable[[Document, Entity], Row]


SHOWN: Mapping[str, Shown] = MappingProxyType(
    {
        "walls": Shown(walls.KINDS, wall),
        "rooms": Shown(("IfcSpace",), room),
        "doors": Shown(("IfcDoor",), filling),
        "windows": Shown(("IfcWindow",), filling),
        "floors": Shown(("IfcSlab", "IfcCovering"), laid),
        "structuralFrames": Shown(("IfcBeam", "IfcMember"), framed),
        "structuralColumns": Shown(("IfcColumn",), standing),
    }
)
"""The lists that answers hold, by name."""


def listed(name: str, document: Document, element: Entity) -> Row:
    """Return the row of an element in a list; it is made once."""
    return document.once(name, element, SHOWN[name].row)


__all__ = [
    "SHOWN",
    "Row",
    "Shown",
    "box_row",
    "called",
    "common",
    "filling",
    "framed",
    "laid",
    "listed",
    "number",
    "origin",
    "room",
    "standing",
    "wall",
    "world_box",
]
