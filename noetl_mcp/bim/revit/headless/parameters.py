"""The parameters of an element: what its property sets, its quantities and its type say.

Lengths are told in millimetres, areas in square metres, volumes in cubic metres, angles in degrees,
whatever the file counts in.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.document import Document, scaled
from noetl_mcp.bim.revit.headless.frames import Entity

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


def parameters(document: Document, element: Entity) -> list[Parameter]:
    """Return the parameters of an element, its own before those of its type."""
    own = [
        Parameter(name, "IFC", str(value), None, of_type=False)
        for name in _ATTRIBUTES
        if (value := getattr(element, name, None)) is not None
    ]
    own += _measures_of(document, element)
    for rel in getattr(element, "IsDefinedBy", None) or ():
        if rel.is_a("IfcRelDefinesByProperties"):
            for one in _definitions(rel.RelatingPropertyDefinition):
                own += _of_set(document, one, of_type=False)
    return own + type_parameters(document, document.type_entity(element))


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
    found = list[Parameter]()
    for one in getattr(kind, "HasPropertySets", None) or ():
        found += _of_set(document, one, of_type=True)
    return found


def parameter(document: Document, element: Entity, name: str) -> Parameter | None:
    """Return a parameter by its name; the element's own comes before its type's."""
    return named(document.once("parameters", element, parameters), name)


def named(found: Iterable[Parameter], name: str) -> Parameter | None:
    """Return the first parameter of a name, which may be `Set.Name`; capitals do not count."""
    wanted = name.casefold()
    group, _, bare = wanted.rpartition(".")
    for one in found:
        if one.name.casefold() == wanted:
            return one
        if group and (one.group.casefold(), one.name.casefold()) == (group, bare):
            return one
    return None


def measure(document: Document, element: Entity, *names: str) -> float | None:
    """Return the first of some quantities that an element tells."""
    every = document.once("parameters", element, parameters)
    found = {one.name: one.value for one in every}
    for name in names:
        value = found.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def _definitions(given: Any) -> tuple[Entity, ...]:
    """Return the sets that a relation attaches: one, or several in IFC4."""
    if given is None:
        return ()
    if given.is_a("IfcPropertySetDefinitionSet"):
        return tuple(given.wrappedValue or ())
    return (given,)


def _of_set(document: Document, held: Entity, *, of_type: bool) -> Iterator[Parameter]:
    group = str(getattr(held, "Name", None) or held.is_a())
    if held.is_a("IfcPropertySet"):
        for one in held.HasProperties or ():
            value, unit = _property(document, one)
            yield Parameter(str(one.Name), group, value, unit, of_type)
    elif held.is_a("IfcElementQuantity"):
        for one in held.Quantities or ():
            name = next((name for name in _QUANTITIES if hasattr(one, name)), None)
            if name is None:
                continue
            kind = f"Ifc{name.removesuffix('Value')}Measure"
            value, unit = _measured(document, kind, getattr(one, name), one.Unit)
            yield Parameter(str(one.Name), group, value, unit, of_type)


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
        return value, str(getattr(own_unit, "Name", None) or own_unit.is_a())
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
    return value if isinstance(value, int | float) else str(value)


def _storage(value: Any) -> str:
    if isinstance(value, bool):
        return "Integer"
    names = {int: "Integer", float: "Double", str: "String", list: "List"}
    return names.get(type(value), "None")


__all__ = ["Parameter", "measure", "named", "parameter", "parameters", "type_parameters"]
