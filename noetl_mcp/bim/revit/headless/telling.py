"""The methods that tell parameters of many elements or types, and which parameters there are."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from noetl_mcp.bim.revit.headless.asking import (
    Bulk,
    ManyParameters,
    ManyTypeParameters,
    Meta,
    ParameterKey,
)
from noetl_mcp.bim.revit.headless.choosing import categories_named
from noetl_mcp.bim.revit.headless.defects import Weight
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.parameters import (
    Group,
    groups,
    named,
    parameters,
    type_groups,
    type_parameters,
)
from noetl_mcp.bim.revit.headless.refusals import Refused
from noetl_mcp.bim.revit.headless.rows import Row

T = TypeVar("T")


def of_elements(document: Document, asked: ManyParameters) -> Answer:
    """Tell some parameters of many elements, in pages."""
    numbers = asked.element_ids
    if (numbers is None) == (asked.categories is None):
        raise Refused("INVALID_PARAMS", "say which: either 'elementIds' or 'categories'")
    if numbers is None:
        wanted = categories_named(asked.categories or ())
        every = document.elements.items()
        numbers = [number for number, one in every if document.category(one) in wanted]

    def row(number: int) -> Row:
        one = document.elements.get(number)
        if one is None:
            return {"ok": False, "elementId": number, "code": "NOT_FOUND"}
        found = _values(document, document.once("groups", one, groups), asked.param_keys)
        return {"ok": True, "elementId": number} | found

    return _paged(numbers, asked.page, row)


def of_types(document: Document, asked: ManyTypeParameters) -> Answer:
    """Tell some parameters of many types, in pages."""
    numbers = asked.type_ids
    if (numbers is None) == (asked.categories is None):
        raise Refused("INVALID_PARAMS", "say which: either 'typeIds' or 'categories'")
    if numbers is None:
        wanted = categories_named(asked.categories or ())
        having = (one for one in document.elements.values() if document.category(one) in wanted)
        found = (document.type_entity(one) for one in having)
        numbers = sorted({one.id() for one in found if one is not None})

    def row(number: int) -> Row:
        one = document.types.get(number)
        if one is None:
            return {"ok": False, "typeId": number, "code": "NOT_FOUND"}
        names = {"ok": True, "typeId": number, "typeName": text(one.Name or "")}
        return names | _values(document, type_groups(document, one), asked.param_keys)

    return _paged(numbers, asked.page, row)


def meta(document: Document, asked: Meta) -> Answer:
    """Tell which parameters an element or a type has."""
    number = asked.target.value
    is_type = asked.target.by == "typeId"
    found: Entity | None = (document.types if is_type else document.elements).get(number)
    if found is None:
        raise Refused("NOT_FOUND", f"there is no {'type' if is_type else 'element'} {number}")
    every = type_parameters(document, found) if is_type else parameters(document, found)
    if asked.filter_names is not None:
        names = {name.casefold() for name in asked.filter_names}
        every = [one for one in every if one.name.casefold() in names]
    rows = [one.row() for one in every[: asked.max_count]]
    return {
        "parameters": rows,
        "total": len(every),
        "counts": {
            "instance": sum(not one.of_type for one in every),
            "type": sum(one.of_type for one in every),
        },
    }


def _paged(every: Sequence[T], page: Bulk, row: Callable[[T], Row]) -> Answer:
    last = page.start_index + page.batch_size
    weight = Weight()
    return {
        "items": [weight.of(row(one)) for one in every[page.start_index : last]],
        "totalCount": len(every),
        "nextIndex": last if last < len(every) else None,
        "completed": last >= len(every),
    }


def _values(document: Document, every: list[Group], keys: Sequence[ParameterKey]) -> Row:
    """Return the values of some parameters, and which of them are not there."""
    document.effort.spend(len(every) * len(keys))
    found = {key.name: named(every, key.name) for key in keys}
    missing = [name for name, one in found.items() if one is None]
    values = {name: one.value for name, one in found.items() if one is not None}
    shown = {name: _display(one.value, one.unit) for name, one in found.items() if one is not None}
    return {"params": values, "display": shown} | ({"missing": missing} if missing else {})


def _display(value: Any, unit: str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    shown = ", ".join(map(text, value)) if isinstance(value, list) else text(value)
    return f"{shown} {unit}" if unit else shown


METHODS = (
    Method(
        "get_instance_parameters_bulk",
        "Tell some parameters of many elements.",
        ManyParameters,
        of_elements,
    ),
    Method(
        "get_type_parameters_bulk",
        "Tell some parameters of many types.",
        ManyTypeParameters,
        of_types,
    ),
    Method("get_param_meta", "Tell which parameters something has.", Meta, meta),
)

__all__ = ["METHODS", "meta", "of_elements", "of_types"]
