"""The views of a model: IFC has none, so each level has a plan, and the whole a view in space.

A plan has the id of its level with a sign of its own: ids of views and of elements never meet.
"""

from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.document import Document, Level
from noetl_mcp.bim.revit.headless.refusals import Refused

_PLANS = 2**40
"""Ids of plans begin here, above those of all entities of a file."""


class View(NamedTuple):
    """A view, and the level that a plan shows."""

    id: int
    unique_id: str
    name: str
    kind: str
    level: Level | None

    def row(self) -> dict[str, Any]:
        """Return it as answers tell it."""
        return {
            "viewId": self.id,
            "elementId": self.id,
            "uniqueId": self.unique_id,
            "name": self.name,
            "viewType": self.kind,
            "levelId": None if self.level is None else self.level.id,
            "levelName": None if self.level is None else self.level.name,
            "isTemplate": False,
        }


def in_space(document: Document) -> View:
    """Return the view of the whole model, which is the active one."""
    return View(_PLANS, f"{document.guid}:3d", "{3D}", "ThreeD", None)


def views(document: Document) -> tuple[View, ...]:
    """Return all views, the one in space first."""
    plans = (
        View(_PLANS + one.id, f"{one.unique_id}:plan", one.name, "FloorPlan", one)
        for one in document.levels
    )
    return (in_space(document), *plans)


def view(document: Document, number: int) -> View:
    """Return the view of an id."""
    for one in views(document):
        if one.id == number:
            return one
    raise Refused("NOT_FOUND", f"there is no view {number}; get_views lists them")


__all__ = ["View", "in_space", "view", "views"]
