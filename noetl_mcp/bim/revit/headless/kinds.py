"""The methods that list types and materials."""

from collections.abc import Iterable
from typing import Any

from noetl_mcp.bim.revit.headless import walls
from noetl_mcp.bim.revit.headless.asking import InView, Listing, Types
from noetl_mcp.bim.revit.headless.choosing import Chosen, categories_named, chosen
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document, Kind
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.method import Answer, Method, paged
from noetl_mcp.bim.revit.headless.rows import Row, common


class _Counted:
    """A type with the elements that have it."""

    def __init__(self, kind: Kind, category: str) -> None:
        self.kind = kind
        self.category = category
        self.elements: list[Entity] = []

    def row(self) -> Row:
        """Return it as answers tell it."""
        return {
            "typeId": self.kind.id,
            "elementId": self.kind.id,
            "uniqueId": self.kind.unique_id,
            "typeName": self.kind.name,
            "familyName": self.kind.family,
            "category": self.category,
            "count": len(self.elements),
        }


def _counted(document: Document, elements: Iterable[Entity]) -> list[_Counted]:
    """Return the types that elements have, by family and name."""
    found: dict[tuple[Kind, str], _Counted] = {}
    for one in elements:
        key = (document.kind(one), document.category(one).key)
        found.setdefault(key, _Counted(*key)).elements.append(one)
    return sorted(found.values(), key=lambda one: (one.kind.family, one.kind.name, one.category))


def wall_types(document: Document, asked: Types) -> Answer:
    """List the types of walls with their width."""
    found = _wanted(_counted(document, document.named(*walls.KINDS)), asked)
    page = paged(found, asked.window)
    rows = [one.row() | {"width": _width(document, one)} for one in page]
    by_id = {str(row["typeId"]): row for row in rows if row["typeId"] is not None}
    return _cut(len(found), "types", rows, asked, {"typesById": by_id})


def column_types(document: Document, asked: Types) -> Answer:
    """List the types of columns."""
    found = _wanted(_counted(document, document.named("IfcColumn")), asked)
    rows = [one.row() for one in paged(found, asked.window)]
    return _cut(len(found), "types", rows, asked)


def family_types(document: Document, asked: Types) -> Answer:
    """List the types that elements of the model have."""
    elements = list(document.elements.values())
    words = [*(asked.categories or ()), *(asked.category_names or ())]
    if words:
        wanted = categories_named(words)
        elements = [one for one in elements if document.category(one) in wanted]
    found = _wanted(_counted(document, elements), asked)
    rows = [one.row() for one in paged(found, asked.window)]
    return _cut(len(found), "types", rows, asked)


def types_in_view(document: Document, asked: InView) -> Answer:
    """List the types of what a view shows."""
    elements: Iterable[Entity] = document.elements.values()
    if asked.category_names:
        wanted = categories_named(asked.category_names)
        elements = [one for one in elements if document.category(one) in wanted]
    kept = chosen(document, elements, asked)
    found = _counted(document, kept.elements)
    rows = [one.row() for one in paged(found, asked.window)]
    return _cut(len(found), "types", rows, asked, _warned(kept))


def materials(document: Document, asked: Listing) -> Answer:
    """List materials."""
    found = sorted(document.file.by_type("IfcMaterial"), key=lambda one: one.id())
    rows = [
        {"materialId": one.id(), "elementId": one.id(), "name": text(one.Name or "")}
        for one in paged(found, asked.window)
    ]
    return _cut(len(found), "materials", rows, asked)


def family_instances(document: Document, asked: InView) -> Answer:
    """List elements of families: not what Revit builds itself, as walls, stairs and ducts."""
    elements = document.elements.values()
    every = (one for one in elements if document.category(one).key not in _OF_NO_FAMILY)
    if asked.category_names:
        wanted = categories_named(asked.category_names)
        every = (one for one in every if document.category(one) in wanted)
    found = chosen(document, every, asked)
    rows, wrong = rows_of(document, paged(found.elements, asked.window), common)
    return _cut(len(found.elements), "instances", rows, asked, wrong | _warned(found))


_OF_NO_FAMILY = frozenset(
    f"OST_{name}"
    for name in (
        *("Walls", "Floors", "Roofs", "Ceilings", "Rooms"),
        *("Stairs", "StairsRuns", "StairsLandings", "StairsRailing", "Ramps"),
        *("DuctCurves", "PipeCurves", "Rebar", "FabricReinforcement"),
    )
)


def _warned(found: Chosen) -> Answer:
    return {"warnings": list(found.warnings)} if found.warnings else {}


def _wanted(found: list[_Counted], asked: Types) -> list[_Counted]:
    kept = found
    if asked.name_contains is not None:
        word = asked.name_contains.casefold()
        kept = [one for one in kept if word in one.kind.name.casefold()]
    if asked.family_name is not None:
        kept = [one for one in kept if one.kind.family == asked.family_name]
    return kept


def _width(document: Document, counted: _Counted) -> float | None:
    thickness = document.once("measures", counted.elements[0], walls.brief).thickness
    return None if thickness is None else document.mm(thickness)


def _cut(
    total: int, name: str, rows: list[Row], asked: Listing, more: dict[str, Any] | None = None
) -> Answer:
    """Return the rows of a page, or what is asked for in their place."""
    more = more or {}
    found: Answer = {"totalCount": total} | {key: more[key] for key in more if key == "warnings"}
    if asked.summary_only:
        return found
    if asked.ids_only:
        ids = [row["elementId"] for row in rows if row["elementId"] is not None]
        return found | {"elementIds": ids}
    if asked.names_only:
        key = "typeName" if name == "types" else "name"
        return found | {"names": [row[key] or "" for row in rows]}
    return found | {name: rows} | more


METHODS = (
    Method("get_wall_types", "List the types of walls that the model has.", Types, wall_types),
    Method("get_structural_column_types", "List the types of columns.", Types, column_types),
    Method("get_family_types", "List the types that elements have.", Types, family_types),
    Method("get_family_instances", "List doors, columns and the like.", InView, family_instances),
    Method("get_types_in_view", "List the types of what a view shows.", InView, types_in_view),
    Method("get_materials", "List materials.", Listing, materials),
)

__all__ = [
    "METHODS",
    "column_types",
    "family_instances",
    "family_types",
    "materials",
    "types_in_view",
    "wall_types",
]
