"""The methods that list types and materials."""

from collections.abc import Iterable, Sequence

from noetl_mcp.bim.revit.headless import walls
from noetl_mcp.bim.revit.headless.asking import InView, Listing, Types
from noetl_mcp.bim.revit.headless.choosing import categories_named, chosen
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document, Kind
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.pages import Told, cut
from noetl_mcp.bim.revit.headless.rows import Row, called, common, number


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


_TYPES = Told[_Counted](
    lambda one: one.kind.id,
    lambda one: one.kind.name,
    lambda page: {"types": [one.row() for one in page]},
)


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

    def rows(page: Sequence[_Counted]) -> Answer:
        made = [one.row() | {"width": _width(document, one)} for one in page]
        by_id = {str(one["typeId"]): one for one in made if one["typeId"] is not None}
        return {"types": made, "typesById": by_id}

    return cut(found, asked, _TYPES._replace(rows=rows))


def column_types(document: Document, asked: Types) -> Answer:
    """List the types of columns."""
    found = _counted(document, document.named("IfcColumn"))
    return cut(_wanted(found, asked), asked, _TYPES)


def family_types(document: Document, asked: Types) -> Answer:
    """List the types that elements of the model have."""
    elements = list(document.elements.values())
    words = [*(asked.categories or ()), *(asked.category_names or ())]
    if words:
        wanted = categories_named(words)
        elements = [one for one in elements if document.category(one) in wanted]
    return cut(_wanted(_counted(document, elements), asked), asked, _TYPES)


def types_in_view(document: Document, asked: InView) -> Answer:
    """List the types of what a view shows."""
    elements: Iterable[Entity] = document.elements.values()
    if asked.category_names:
        wanted = categories_named(asked.category_names)
        elements = [one for one in elements if document.category(one) in wanted]
    kept = chosen(document, elements, asked)
    return cut(_counted(document, kept.elements), asked, _TYPES) | kept.warned


def materials(document: Document, asked: Listing) -> Answer:
    """List materials."""
    found = sorted(document.file.by_type("IfcMaterial"), key=lambda one: one.id())
    return cut(found, asked, Told(number, _name, _materials))


def _materials(page: Sequence[Entity]) -> Answer:
    rows = [{"materialId": one.id(), "elementId": one.id(), "name": _name(one)} for one in page]
    return {"materials": rows}


def _name(material: Entity) -> str:
    return text(material.Name or "")


def family_instances(document: Document, asked: InView) -> Answer:
    """List elements of families: not what Revit builds itself, as walls, stairs and ducts."""
    elements = document.elements.values()
    every = (one for one in elements if document.category(one).key not in _OF_NO_FAMILY)
    if asked.category_names:
        wanted = categories_named(asked.category_names)
        every = (one for one in every if document.category(one) in wanted)
    found = chosen(document, every, asked)

    def rows(page: Sequence[Entity]) -> Answer:
        made, wrong = rows_of(document, page, common)
        return {"instances": made} | wrong

    return cut(found.elements, asked, Told(number, called, rows)) | found.warned


_OF_NO_FAMILY = frozenset(
    f"OST_{name}"
    for name in (
        *("Walls", "Floors", "Roofs", "Ceilings", "Rooms"),
        *("Stairs", "StairsRuns", "StairsLandings", "StairsRailing", "Ramps"),
        *("DuctCurves", "PipeCurves", "Rebar", "FabricReinforcement"),
    )
)


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
