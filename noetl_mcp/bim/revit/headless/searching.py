"""The methods that look for elements: in a view, by a word, by what they must be."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from noetl_mcp.bim.revit.headless.asking import (
    BoxRule,
    Filters,
    InView,
    NameRule,
    Options,
    ParameterRule,
    Querying,
    Searching,
)
from noetl_mcp.bim.revit.headless.choosing import (
    Claim,
    categories_named,
    chosen,
    fits,
    in_view,
    level_named,
    mark,
    names_of,
    on_level,
    unknown_types,
)
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.pages import Told, cut
from noetl_mcp.bim.revit.headless.parameters import parameter, parameters
from noetl_mcp.bim.revit.headless.refusals import Refused, unknown
from noetl_mcp.bim.revit.headless.rows import box_row, called, common, number, world_box
from noetl_mcp.bim.revit.headless.shapes import Box
from noetl_mcp.bim.revit.headless.views import in_space
from noetl_mcp.cuts import beginning
from noetl_mcp.diagnostics import closest

_LOOKED_THROUGH = 1_000
"""So many characters are like one point or parameter."""


def elements_in_view(document: Document, asked: InView) -> Answer:
    """List what a view shows; without a view, what the whole model holds."""
    found = chosen(document, document.elements.values(), asked)
    claims = _claims_of_categories(document, asked.category_names)
    claims.append(lambda one: _says(document, one, asked))
    kept = [one for one in found.elements if all(claim(one) for claim in claims)]
    shown = in_space(document).id if asked.view_id is None else asked.view_id

    def rows(page: Sequence[Entity]) -> Answer:
        made, wrong = rows_of(document, page, common)
        return {"rows": made, "items": made} | wrong

    answer = cut(kept, asked, Told(number, called, rows)) | found.warned
    return answer | {"viewId": shown, "usedActiveView": asked.view_id is None}


def search(document: Document, asked: Searching) -> Answer:
    """List elements in whose name, type, mark or number a word stands."""
    claims = _claims_of_categories(document, asked.categories)
    if asked.view_id is not None:
        claims += in_view(document, asked.view_id)
    if asked.level_id is not None:
        claims.append(on_level(document, asked.level_id))
    word = asked.keyword if asked.case_sensitive else asked.keyword.casefold()

    def says_it(one: Entity) -> bool:
        kind = document.kind(one)
        document.effort.spend(_weight(kind.name) + _weight(kind.family))
        said = (*names_of(one), kind.name, kind.family, mark(document, one) or "", str(one.id()))
        return any(word in (name if asked.case_sensitive else name.casefold()) for name in said)

    every = [one for one in document.elements.values() if all(claim(one) for claim in claims)]
    found = [one for one in every if says_it(one)]
    rows, wrong = rows_of(document, found[: asked.max_results], common)
    counts = {"candidates": len(found), "returned": len(rows)}
    return {"elements": rows, "counts": counts} | wrong


def query(document: Document, asked: Querying) -> Answer:
    """List elements that are all that is asked."""
    rules = [_Having(document, rule) for rule in asked.filters.parameters]
    claims = _claims(document, asked.filters, rules)
    if asked.scope.view_id is not None:
        claims += in_view(document, asked.scope.view_id)
    every = list(document.elements.values())
    found = [one for one in every if all(claim(one) for claim in claims)]
    found.sort(key=_ORDERS[asked.options.order_by](document))
    rows, wrong = rows_of(
        document, found[: asked.options.max_results], partial(_queried, asked.options)
    )
    counts = {"scanned": len(every), "candidates": len(found), "returned": len(rows)}
    answer = {"elements": rows, "totalCount": len(found), "diagnostics": {"counts": counts}}
    warnings = [] if found else [*_why_none(document, asked.filters, rules)]
    return answer | wrong | ({"warnings": warnings} if warnings else {})


def _why_none(document: Document, filters: Filters, rules: Iterable["_Having"]) -> Iterator[str]:
    """Yield which names nothing has, when nothing was found."""
    yield from unknown_types(document, filters.type_name, filters.family_name)
    for one in rules:
        yield from one.missed()


_LOOKED_AT = 1_000
_ORDERS: dict[str, Callable[[Document], Callable[[Entity], Any]]] = {
    "id": lambda document: lambda one: one.id(),
    "name": lambda document: lambda one: (called(one) or "", one.id()),
    "level": lambda document: lambda one: (_height(document, one), one.id()),
}


def _height(document: Document, one: Entity) -> float:
    level = document.level(one)
    return float("-inf") if level is None else level.elevation


def _weight(text: str) -> int:
    """Return how much of one call's effort it takes to look through a text."""
    return len(text) // _LOOKED_THROUGH


def _says(document: Document, one: Entity, asked: InView) -> bool:
    """Whether what is asked for stands in the names of an element's category and type."""
    kind = document.kind(one)
    document.effort.spend(_weight(kind.name) + _weight(kind.family))
    parts = (
        (asked.category_name_contains, document.category(one).name),
        (asked.family_name_contains, kind.family),
        (asked.type_name_contains, kind.name),
    )
    return all(word is None or word.casefold() in name.casefold() for word, name in parts)


def _claims_of_categories(document: Document, words: Sequence[str] | None) -> list[Claim]:
    if words is None:
        return []
    wanted = categories_named(words)
    return [lambda one: document.category(one) in wanted]


def _claims(document: Document, filters: Filters, rules: Sequence["_Having"]) -> list[Claim]:
    claims = _claims_of_categories(document, filters.categories)
    if filters.class_names is not None:
        names = tuple(filters.class_names)
        kinds = _kinds_of(document, names)
        claims.append(lambda one: one.is_a() in kinds)
    if filters.level_id is not None:
        claims.append(on_level(document, filters.level_id))
    if filters.level_name is not None:
        level = level_named(document, filters.level_name)
        if level is None:
            raise unknown("level", filters.level_name, [one.name for one in document.levels])
        claims.append(on_level(document, level.id))
    if filters.type_name is not None:
        claims.append(lambda one: document.kind(one).name == filters.type_name)
    if filters.family_name is not None:
        claims.append(lambda one: document.kind(one).family == filters.family_name)
    if filters.name is not None:
        claims.append(_named(filters.name))
    claims += [one.holds for one in rules]
    if filters.bbox is not None:  # the dearest comes last
        claims.append(_standing(document, filters.bbox))
    return claims


def _demand_class(document: Document, name: str) -> None:
    """Raise RuntimeError for what is no class of the schema."""
    from ifcopenshell import ifcopenshell_wrapper

    known = ifcopenshell_wrapper.schema_by_name(document.file.schema_identifier)
    if known.declaration_by_name(name).as_entity() is None:
        raise RuntimeError("this is a type of values")


def _kinds_of(document: Document, names: Iterable[str]) -> frozenset[str]:
    """Return the classes in the model that some classes are; a class has few below it."""
    found = {one.is_a(): one for one in document.elements.values()}
    chosen = set[str]()
    for name in names:
        try:
            _demand_class(document, name)
            chosen.update(kind for kind, one in found.items() if one.is_a(name))
        except RuntimeError:
            raise Refused("INVALID_PARAMS", _no_class(document, name)) from None
    return frozenset(chosen)


def _no_class(document: Document, name: str) -> str:
    """Return that there is no such class, and that of IFC where it was one of Revit."""
    schema = document.file.schema
    with suppress(RuntimeError):
        _demand_class(document, f"Ifc{name}")
        return f"there is no class '{name[:100]}' in {schema}; did you mean 'Ifc{name[:100]}'?"
    return f"there is no class '{name[:100]}' in {schema}"


def _named(rule: NameRule) -> Claim:
    return lambda one: any(fits(name, rule) for name in names_of(one))


def _standing(document: Document, rule: BoxRule) -> Claim:
    least = (rule.min.x, rule.min.y, rule.min.z)
    most = (rule.max.x, rule.max.y, rule.max.z)
    if any(a > b for a, b in zip(least, most, strict=True)):
        raise Refused("INVALID_PARAMS", "the box's 'min' must not be greater than its 'max'")
    wanted = Box(least, most)

    def stands(one: Entity) -> bool:
        found = world_box(document, one)
        if found is None:
            return False
        low = [document.mm(part) for part in found.least]
        high = [document.mm(part) for part in found.most]
        if rule.mode == "inside":
            return all(map(operator.le, wanted.least, low)) and all(
                map(operator.le, high, wanted.most)
            )
        return all(map(operator.le, wanted.least, high)) and all(map(operator.le, low, wanted.most))

    return stands


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


class _Having:
    """What a parameter must be, and whether anything that was looked at has it at all."""

    def __init__(self, document: Document, rule: ParameterRule) -> None:
        if rule.op in _COMPARE and not _is_number(rule.value):
            raise Refused("INVALID_PARAMS", f"'{rule.op}' compares numbers; 'value' is none")
        if rule.op == "contains" and not isinstance(rule.value, str):
            raise Refused("INVALID_PARAMS", "'contains' wants a text as 'value'")
        self._document = document
        self._rule = rule
        self._lacking = list[Entity]()
        self._is_had = False

    def holds(self, one: Entity) -> bool:
        """Whether an element has such a parameter."""
        found, rule = parameter(self._document, one, self._rule.param), self._rule
        if found is None:
            self._lacking += [one] if len(self._lacking) < _LOOKED_AT else []
            return False
        self._is_had = True
        if rule.op == "exists":
            return True
        if rule.op in _COMPARE:
            return _is_number(found.value) and bool(_COMPARE[rule.op](found.value, rule.value))
        if rule.op == "contains":
            said = str(found.value)
            self._document.effort.spend(_weight(said))
            return str(rule.value).casefold() in said.casefold()
        return _is_same(found.value, rule.value) is (rule.op == "eq")

    def missed(self) -> Iterator[str]:
        """Yield that nothing has the parameter, with the nearest name that there is."""
        if self._is_had or not self._lacking:
            return
        names = {one.name for held in self._lacking for one in parameters(self._document, held)}
        near = closest(self._rule.param, tuple(names))
        more = f"; did you mean '{near}'?" if near else ""
        name = beginning(self._rule.param, 100)
        yield f"nothing that was looked at has the parameter '{name}'{more}"


def _is_same(found: Any, wanted: Any) -> bool:
    if _is_number(found) and _is_number(wanted):
        return bool(abs(found - wanted) <= 1e-6 * max(1.0, abs(found)))
    return type(found) is type(wanted) and bool(found == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _queried(options: Options, document: Document, one: Entity) -> Answer:
    row = common(document, one)
    if not options.include_element_type:
        row = {key: row[key] for key in row if key not in ("typeId", "typeName", "familyName")}
    if options.include_bounding_box:
        row["bboxMm"] = box_row(document, one)
    if options.include_parameters:
        found = ((name, parameter(document, one, name)) for name in options.include_parameters)
        row["parameters"] = {name: held.value for name, held in found if held is not None}
    return row


METHODS = (
    Method("get_elements_in_view", "List what a view shows.", InView, elements_in_view),
    Method("search_elements", "List elements in which a word stands.", Searching, search),
    Method("query_elements", "List elements that are all that is asked.", Querying, query),
)

__all__ = ["METHODS", "elements_in_view", "query", "search"]
