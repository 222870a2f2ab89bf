"""The parameters of an element: what its property sets, its quantities and its type say.

Lengths are told in millimetres, areas in square metres, volumes in cubic metres, angles in degrees,
whatever the file counts in.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.document import Document, scaled
from noetl_mcp.bim.revit.headless.frames import Entity, text

_ATTRIBUTES = ("Name", "LongName", "Description", "ObjectType", "Tag", "PredefinedType")
_SIZES = ("OverallWidth", "OverallHeight", "RiserHeight", "TreadLength")
"""Attributes that are lengths."""
_COUNTS = ("NumberOfRisers", "NumberOfRiser", "NumberOfTreads")
_QUANTITIES = ("LengthValue", "AreaValue", "VolumeValue", "CountValue", "WeightValue", "TimeValue")


class Parameter(NamedTuple):
    """One thing that is said of an element."""

    name: str
    group: str
    """The property set it stands in; `IFC` for an attribute of the element itself."""
    value: Any
    unit: str | None
    of_type: bool
    """Whether the type says it, so that all elements of the type share it."""

    def row(self) -> dict[str, Any]:
        """Return it as answers tell it."""
        return {
            "name": self.name,
            "group": self.group,
            "value": self.value,
            "unit": self.unit,
            "storageType": _storage(self.value),
            "isTypeParameter": self.of_type,
            "isReadOnly": True,
        }


class Group:
    """The parameters of one set, which many elements may share: found out once, and by name."""

    def __init__(self, name: str, rows: Iterable[Parameter]) -> None:
        self.name = name.casefold()
        self.rows = tuple(rows)
        self._by_name: dict[str, Parameter] = {}
        for one in self.rows:
            self._by_name.setdefault(one.name.casefold(), one)

    def get(self, name: str) -> Parameter | None:
        """Return the first parameter of a name, which may be `Set.Name`; capitals do not count."""
        wanted = name.casefold()
        group, _, bare = wanted.rpartition(".")
        found = self._by_name.get(wanted)
        return self._by_name.get(bare) if found is None and group == self.name else found


def parameters(document: Document, element: Entity) -> list[Parameter]:
    """Return the parameters of an element, its own before those of its type."""
    return _rows(document, groups(document, element))


def _measures_of(document: Document, element: Entity) -> Iterator[Parameter]:
    """Yield the attributes of an element that are numbers: sizes of doors, steps of stairs."""
    for name in (*_SIZES, *_COUNTS):
        value = getattr(element, name, None)
        if isinstance(value, int | float):
            is_size = name in _SIZES
            measure, unit = (document.mm(value), "mm") if is_size else (value, None)
            yield Parameter(name, "IFC", measure, unit, of_type=False)


def type_parameters(document: Document, kind: Entity | None) -> list[Parameter]:
    """Return what a type says for all its elements."""
    return _rows(document, type_groups(document, kind))


def groups(document: Document, element: Entity) -> list[Group]:
    """Return what is said of an element by sets, its own before those of its type."""
    found = [Group("IFC", _attributes(document, element))]
    for rel in getattr(element, "IsDefinedBy", None) or ():
        if rel.is_a("IfcRelDefinesByProperties"):
            sets = _definitions(rel.RelatingPropertyDefinition)
            found += _groups(document, sets, of_type=False)
    return found + type_groups(document, document.type_entity(element))


def type_groups(document: Document, kind: Entity | None) -> list[Group]:
    """Return what a type says for all its elements, by sets."""
    return _groups(document, getattr(kind, "HasPropertySets", None) or (), of_type=True)


def parameter(document: Document, element: Entity, name: str) -> Parameter | None:
    """Return a parameter by its name; the element's own comes before its type's."""
    every = document.once("groups", element, groups)
    document.effort.spend(len(every))
    return named(every, name)


def named(every: Iterable[Group], name: str) -> Parameter | None:
    """Return the first parameter of a name, which may be `Set.Name`; capitals do not count."""
    return next((found for one in every if (found := one.get(name)) is not None), None)


def measure(document: Document, element: Entity, *names: str) -> float | None:
    """Return the first of some quantities that an element tells."""
    every = document.once("groups", element, groups)
    document.effort.spend(len(every))
    for name in names:
        for found in (one.get(name) for one in every):
            value = None if found is None else found.value
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
    return None


def _rows(document: Document, every: Iterable[Group]) -> list[Parameter]:
    found = list[Parameter]()
    for one in every:
        document.effort.spend(len(one.rows))
        found += one.rows
    return found


def _attributes(document: Document, element: Entity) -> Iterator[Parameter]:
    for name in _ATTRIBUTES:
        value = getattr(element, name, None)
        if value is not None:
            yield Parameter(name, "IFC", text(value), None, of_type=False)
    yield from _measures_of(document, element)


def _groups(document: Document, sets: Sequence[Entity], *, of_type: bool) -> list[Group]:
    """Return sets with their parameters; one that cannot be read raises what it raised."""
    document.effort.spend(len(sets))
    find = _type_group if of_type else _own_group
    return [document.once("type's set" if of_type else "set", one, find) for one in sets]


def _own_group(document: Document, held: Entity) -> Group:
    return Group(_name(held), _of_set(document, held, of_type=False))


def _type_group(document: Document, held: Entity) -> Group:
    return Group(_name(held), _of_set(document, held, of_type=True))


def _name(held: Entity) -> str:
    return text(getattr(held, "Name", None) or held.is_a())


def _definitions(given: Any) -> tuple[Entity, ...]:
    """Return the sets that a relation attaches: one, or several in IFC4."""
    if given is None:
        return ()
    if given.is_a("IfcPropertySetDefinitionSet"):
        return tuple(given.wrappedValue or ())
    return (given,)


def _of_set(document: Document, held: Entity, *, of_type: bool) -> Iterator[Parameter]:
    group = _name(held)
    if held.is_a("IfcPropertySet"):
        for one in held.HasProperties or ():
            document.effort.spend()
            value, unit = _property(document, one)
            yield Parameter(text(one.Name), group, value, unit, of_type)
    elif held.is_a("IfcElementQuantity"):
        for one in held.Quantities or ():
            document.effort.spend()
            name = next((name for name in _QUANTITIES if hasattr(one, name)), None)
            if name is None:
                continue
            kind = f"Ifc{name.removesuffix('Value')}Measure"
            value, unit = _measured(document, kind, getattr(one, name), one.Unit)
            yield Parameter(text(one.Name), group, value, unit, of_type)


def _property(document: Document, one: Entity) -> tuple[Any, str | None]:
    """Return the value of a property, as JSON."""
    if one.is_a("IfcPropertySingleValue"):
        held = one.NominalValue
        if held is None:
            return None, None
        return _measured(document, held.is_a(), held.wrappedValue, one.Unit)
    if one.is_a("IfcPropertyEnumeratedValue"):
        return [_plain(value.wrappedValue) for value in one.EnumerationValues or ()], None
    if one.is_a("IfcPropertyListValue"):
        return [_plain(value.wrappedValue) for value in one.ListValues or ()], None
    if one.is_a("IfcPropertyBoundedValue"):
        ends = (one.LowerBoundValue, one.UpperBoundValue)
        return [None if end is None else _plain(end.wrappedValue) for end in ends], None
    return None, None


def _measured(
    document: Document, kind: str, value: Any, own_unit: Entity | None
) -> tuple[Any, str | None]:
    """Return a measure in the units of answers; one with a unit of its own is told as it is."""
    value = _plain(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value, None
    if own_unit is not None:
        return value, text(getattr(own_unit, "Name", None) or own_unit.is_a())
    if kind.endswith("LengthMeasure"):
        return document.mm(value), "mm"
    if kind == "IfcAreaMeasure":
        return scaled(value, document.to_m2, 6), "m2"
    if kind == "IfcVolumeMeasure":
        return scaled(value, document.to_m3, 6), "m3"
    if kind == "IfcPlaneAngleMeasure":
        return scaled(value, document.to_degrees, 6), "deg"
    return value, None


def _plain(value: Any) -> Any:
    """Return a value as JSON, which has no number without end."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else text(value)


def _storage(value: Any) -> str:
    if isinstance(value, bool):
        return "Integer"
    names = {int: "Integer", float: "Double", str: "String", list: "List"}
    return names.get(type(value), "None")


__all__ = [
    "Group",
    "Parameter",
    "groups",
    "measure",
    "named",
    "parameter",
    "parameters",
    "type_groups",
    "type_parameters",
]
