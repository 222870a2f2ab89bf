"""The methods that tell of the project: its names, levels, grids and views."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from noetl_mcp.bim.revit.headless import shapes
from noetl_mcp.bim.revit.headless.asking import Asked, Listing, Name, Nothing
from noetl_mcp.bim.revit.headless.defects import rows_of
from noetl_mcp.bim.revit.headless.document import Document, Level
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.pages import Told, cut
from noetl_mcp.bim.revit.headless.views import in_space, views


class Views(Asked):
    """Which views are listed."""

    include_templates: bool = Field(False, description="Templates, too; a model has none.")
    detail: bool = Field(False, description="More of each; there is no more.")
    view_type: Literal["ThreeD", "FloorPlan"] | None = Field(None, description="Of this kind.")
    name_contains: Name | None = Field(None, description="With this in the name, in any case.")


def project_info(document: Document, asked: Nothing) -> Answer:
    """Tell what the project is called, and where it is built."""
    project = document.project
    building = next(iter(document.file.by_type("IfcBuilding")), None)
    site = next(iter(document.file.by_type("IfcSite")), None)
    return {
        "elementId": project.id(),
        "uniqueId": document.guid,
        "projectName": text(project.LongName or project.Name or ""),
        "projectNumber": text(project.Name or ""),
        "projectStatus": text(project.Phase or ""),
        "description": text(project.Description or ""),
        "buildingName": _name(building),
        "site": {"name": _name(site), "elementId": None if site is None else site.id()},
        "schema": document.file.schema,
        "units": {"length": "mm", "area": "m2", "fileLengthInMm": document.to_mm},
    }


def project_units(document: Document, asked: Nothing) -> Answer:
    """Tell in which units answers are, and in which the file counts."""
    rows = [
        {"spec": "length", "unit": "mm", "label": "Millimetres", "fileUnitIs": document.to_mm},
        {"spec": "area", "unit": "m2", "label": "Square metres", "fileUnitIs": document.to_m2},
        {"spec": "volume", "unit": "m3", "label": "Cubic metres", "fileUnitIs": document.to_m3},
        {"spec": "angle", "unit": "deg", "label": "Degrees", "fileUnitIs": document.to_degrees},
    ]
    return {"totalCount": len(rows), "units": rows}


def levels(document: Document, asked: Listing) -> Answer:
    """List levels from below upwards, with their elevation in mm."""

    def rows(page: Sequence[Level]) -> Answer:
        made = [_level(one) for one in page]
        return {"levels": made, "levelsById": {str(one["levelId"]): one for one in made}}

    told = Told[Level](lambda one: one.id, lambda one: one.name, rows)
    return cut(document.levels, asked, told)


def grids(document: Document, asked: Nothing) -> Answer:
    """List the lines of grids with their ends in mm."""
    found = {
        line.id(): (line, grid)
        for grid in document.file.by_type("IfcGrid")
        for axes in (grid.UAxes, grid.VAxes, grid.WAxes)
        for line in axes or ()
    }
    lines = [found[number][0] for number in sorted(found)]
    rows, wrong = rows_of(
        document, lines, lambda document, line: _grid(document, found[line.id()][1], line)
    )
    return {"totalCount": len(lines), "grids": rows} | wrong


def current_view(document: Document, asked: Nothing) -> Answer:
    """Tell the active view: the one in space."""
    return in_space(document).row()


def all_views(document: Document, asked: Views) -> Answer:
    """List the view in space, and a plan for each level."""
    word = (asked.name_contains or "").casefold()
    rows = [
        one.row()
        for one in views(document)
        if (asked.view_type is None or one.kind == asked.view_type) and word in one.name.casefold()
    ]
    return {"count": len(rows), "totalCount": len(rows), "views": rows}


def open_documents(document: Document, asked: Nothing) -> Answer:
    """List the one document that is open."""
    row = {
        "title": document.title,
        "docGuid": document.guid,
        "isActive": True,
        "isReadOnly": True,
        "isWorkshared": False,
        "linkCount": 0,
        "schema": document.file.schema,
    }
    return {"count": 1, "documents": [row]}


def selection(document: Document, asked: Nothing) -> Answer:
    """Tell what is selected: nothing, for nobody clicks here."""
    return {"count": 0, "elementIds": [], "selectionSource": "none", "docKey": document.guid}


def _name(entity: Entity | None) -> str:
    return "" if entity is None else text(entity.LongName or entity.Name or "")


def _level(one: Level) -> dict[str, Any]:
    return {
        "levelId": one.id,
        "elementId": one.id,
        "uniqueId": one.unique_id,
        "name": one.name,
        "elevation": one.elevation,
    }


def _grid(document: Document, grid: Entity, line: Entity) -> dict[str, Any]:
    held = document.frames.of(grid)
    points = shapes.line(line.AxisCurve, document.effort)
    ends = [document.point(held.placed(at)) for at in (points[0], points[-1])] if points else []
    return {
        "gridId": line.id(),
        "elementId": line.id(),
        "uniqueId": f"{grid.GlobalId}:{line.AxisTag or line.id()}",
        "name": text(line.AxisTag or ""),
        "start": ends[0] if ends else None,
        "end": ends[1] if ends else None,
    }


METHODS = (
    Method("get_project_info", "Tell the project's names.", Nothing, project_info),
    Method("get_project_units", "Tell the units of answers.", Nothing, project_units),
    Method("get_levels", "List levels with their elevation in mm.", Listing, levels),
    Method("get_grids", "List the lines of grids.", Nothing, grids),
    Method("get_current_view", "Tell the active view.", Nothing, current_view),
    Method("get_views", "List the view in space and a plan a level.", Views, all_views),
    Method("get_open_documents", "List the document that is open.", Nothing, open_documents),
    Method("get_selected_element_ids", "Tell the selection: always none.", Nothing, selection),
)

__all__ = [
    "METHODS",
    "Views",
    "all_views",
    "current_view",
    "grids",
    "levels",
    "open_documents",
    "project_info",
    "project_units",
    "selection",
]
