"""An opened model: its levels, what stands on them, and what they are. Changes nothing.

Element ids are the numbers of the file's entities, which stay when it is saved; unique ids are the
GlobalIds. Lengths leave here in millimetres, areas in square metres.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from noetl_mcp.bim.revit.headless.categories import Category, category
from noetl_mcp.bim.revit.headless.defects import DEFECTS, Broken
from noetl_mcp.bim.revit.headless.effort import Effort
from noetl_mcp.bim.revit.headless.frames import Entity, Frames, Point, text
from noetl_mcp.bim.revit.headless.opening import Opened, Unreadable, model_in
from noetl_mcp.bim.revit.headless.units import scale

_ARE_HOLES = ("IfcFeatureElement", "IfcVirtualElement")
_DEEPEST = 64
_NUMBER = re.compile(r"\d{1,18}")
"""The number of a type; one with more digits is no number that answers can hold."""
T = TypeVar("T")


class Level(NamedTuple):
    """A storey of the building."""

    id: int
    unique_id: str
    name: str
    elevation: float
    """In millimetres above the building's own zero."""


class Kind(NamedTuple):
    """The type of an element. Where the file has no entity for it, its name alone is known."""

    id: int | None
    unique_id: str | None
    family: str
    name: str


class Document:
    """A model in IFC, indexed once."""

    def __init__(self, opened: Opened) -> None:
        self.file = file = opened.file
        self.path = opened.path
        self.digest = opened.digest
        self.left_out = opened.left_out
        self.to_mm = _scale(file, "LENGTHUNIT") * 1000.0
        self.to_m2 = _scale(file, "AREAUNIT")
        self.to_m3 = _scale(file, "VOLUMEUNIT")
        self.to_degrees = math.degrees(_scale(file, "PLANEANGLEUNIT"))
        self.frames = Frames()
        self.effort = Effort()
        self._levels_of: dict[int, Level | None] = {}
        self._named: dict[tuple[str, ...], list[Entity]] = {}
        self._found: dict[tuple[str, int], Any] = {}

    @classmethod
    def opened(cls, path: Path) -> "Document":
        """Open a file; raise Unreadable with the reason when it is no model."""
        return cls(model_in(path))

    @property
    def title(self) -> str:
        """The document's title, which is its file's name."""
        return self.path.stem

    @cached_property
    def project(self) -> Entity:
        """The project; every model has one, and `opened` has seen to that."""
        return self.file.by_type("IfcProject")[0]

    @property
    def guid(self) -> str:
        """The project's GlobalId."""
        return text(self.project.GlobalId)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The storeys from below upwards."""
        found = [self._level(one) for one in self.file.by_type("IfcBuildingStorey")]
        return tuple(sorted(found, key=lambda one: (one.elevation, one.id)))

    @cached_property
    def elements(self) -> Mapping[int, Entity]:
        """Everything that is built, and the rooms, by id."""
        found = (*self.file.by_type("IfcElement"), *self.file.by_type("IfcSpace"))
        kept = (one for one in found if not any(one.is_a(kind) for kind in _ARE_HOLES))
        return {one.id(): one for one in sorted(kept, key=lambda one: one.id())}

    @cached_property
    def by_unique_id(self) -> Mapping[str, list[Entity]]:
        """The elements by their GlobalId."""
        found: dict[str, list[Entity]] = {}
        for one in self.elements.values():
            found.setdefault(text(one.GlobalId), []).append(one)
        return found

    def named(self, *kinds: str) -> list[Entity]:
        """Return the elements of some IFC classes, by id."""
        if kinds not in self._named:
            found = (one for one in self.elements.values() if any(map(one.is_a, kinds)))
            self._named[kinds] = list(found)
        return self._named[kinds]

    def category(self, element: Entity) -> Category:
        """Return the category of an element."""
        return category(element.is_a(), self.predefined(element))

    def predefined(self, element: Entity) -> str | None:
        """Return what an element is predefined as; its type may say so in its place."""
        entity = self._types.get(element.id())
        for one in (element, entity):
            said = getattr(one, "PredefinedType", None)
            if said not in (None, "NOTDEFINED"):
                return text(said)
        return None

    def kind(self, element: Entity) -> Kind:
        """Return the type of an element."""
        entity = self._types.get(element.id())
        bare = element.is_a().removeprefix("Ifc")
        if entity is not None:
            family, name, _ = self.once("name", entity, _name_of_type)
            return Kind(
                entity.id(), text(entity.GlobalId), family or bare, name or f"#{entity.id()}"
            )
        family, name, number = _grammar(getattr(element, "ObjectType", None) or "")
        return Kind(number, None, family or bare, name or bare)

    @cached_property
    def types(self) -> Mapping[int, Entity]:
        """The types of the file, by id."""
        return {one.id(): one for one in self.file.by_type("IfcTypeObject")}

    def type_entity(self, element: Entity) -> Entity | None:
        """Return the entity of an element's type."""
        return self._types.get(element.id())

    def level(self, element: Entity) -> Level | None:
        """Return the storey on which an element stands, through whatever holds it."""
        climbed = list[int]()
        found: Level | None = None
        at: Entity | None = element
        while at is not None and len(climbed) < _DEEPEST and at.id() not in climbed:
            if at.id() in self._levels_of:
                found = self._levels_of[at.id()]
                break
            climbed.append(at.id())
            if at.is_a("IfcBuildingStorey"):
                found = self._level(at)
                break
            at = self._holders.get(at.id())
        for one in climbed:
            self._levels_of[one] = found
        return found

    def host(self, filling: Entity) -> Entity | None:
        """Return the wall in whose opening a door or window stands."""
        opening = self._openings.get(filling.id())
        return None if opening is None else self._voided.get(opening.id())

    def hosted(self, wall: Entity) -> list[Entity]:
        """Return the doors and windows in the openings of a wall."""
        found = (self.elements.get(number) for number in self._fillings.get(wall.id(), ()))
        return [one for one in found if one is not None]

    def mm(self, length: float) -> float:
        """Return a length of the file in millimetres, to the ten-thousandth."""
        return scaled(length, self.to_mm, 4)

    def point(self, at: Point) -> dict[str, float]:
        """Return a point of the file in millimetres."""
        return dict(zip("xyz", map(self.mm, at), strict=True))

    def once(self, what: str, element: Entity, find: Callable[["Document", Entity], T]) -> T:
        """Return what was found out about an element; it is found out once."""
        key = (what, element.id())
        if key not in self._found:
            self._found[key] = self._tried(element, find)
        found = self._found[key]
        if isinstance(found, Broken):
            raise found.problem.with_traceback(None)
        known: T = found
        return known

    def _tried(self, element: Entity, find: Callable[["Document", Entity], T]) -> T | Broken:
        try:
            return find(self, element)
        except DEFECTS as problem:
            return Broken(problem.with_traceback(None))

    def _level(self, storey: Entity) -> Level:
        said = storey.Elevation
        if not isinstance(said, int | float):
            said = self.frames.of(storey).origin[2]
        name = storey.Name or storey.LongName or f"#{storey.id()}"
        return Level(storey.id(), text(storey.GlobalId), text(name), self.mm(said))

    @cached_property
    def _types(self) -> Mapping[int, Entity]:
        return {
            one.id(): rel.RelatingType
            for rel in self.file.by_type("IfcRelDefinesByType")
            if rel.RelatingType is not None
            for one in rel.RelatedObjects or ()
        }

    @cached_property
    def _openings(self) -> Mapping[int, Entity]:
        return {
            rel.RelatedBuildingElement.id(): rel.RelatingOpeningElement
            for rel in self.file.by_type("IfcRelFillsElement")
            if rel.RelatedBuildingElement is not None and rel.RelatingOpeningElement is not None
        }

    @cached_property
    def _voided(self) -> Mapping[int, Entity]:
        return {
            rel.RelatedOpeningElement.id(): rel.RelatingBuildingElement
            for rel in self.file.by_type("IfcRelVoidsElement")
            if rel.RelatedOpeningElement is not None and rel.RelatingBuildingElement is not None
        }

    @cached_property
    def _holders(self) -> Mapping[int, Entity]:
        """What holds what: a whole its parts, a storey what stands on it, a wall its doors."""
        found: dict[int, Entity] = {}
        found.update((number, wall) for number, wall in self._hosts())
        for rel in self.file.by_type("IfcRelAggregates"):
            found.update((one.id(), rel.RelatingObject) for one in rel.RelatedObjects or ())
        for rel in self.file.by_type("IfcRelContainedInSpatialStructure"):
            found.update((one.id(), rel.RelatingStructure) for one in rel.RelatedElements or ())
        return found

    @cached_property
    def _fillings(self) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, wall in self._hosts():
            found.setdefault(wall.id(), []).append(number)
        return found

    def _hosts(self) -> Iterator[tuple[int, Entity]]:
        for number, opening in self._openings.items():
            if opening.id() in self._voided:
                yield number, self._voided[opening.id()]


def scaled(value: float, by: float, digits: int) -> float:
    """Return a measure in another unit; raise ValueError for one that has no end."""
    found = value * by
    if not math.isfinite(found):
        raise ValueError(f"{value!r} is no measure")
    return round(found, digits) + 0.0


def _scale(file: Any, kind: str) -> float:
    try:
        return scale(file, kind)
    except DEFECTS as problem:
        raise Unreadable(f"the file's units cannot be read: {problem}") from None


def _name_of_type(document: Document, entity: Entity) -> tuple[str, str, int | None]:
    return _grammar(entity.Name or "")


def _grammar(said: str) -> tuple[str, str, int | None]:
    """Return family, type and number from a name such as `Basic Wall:Brick:138584`."""
    parts = said.split(":")
    number = int(parts.pop()) if len(parts) > 1 and _NUMBER.fullmatch(parts[-1].strip()) else None
    if len(parts) < 2:
        return "", parts[0].strip(), number
    return parts[0].strip(), ":".join(parts[1:]).strip(), number


__all__ = ["Document", "Kind", "Level", "scaled"]
