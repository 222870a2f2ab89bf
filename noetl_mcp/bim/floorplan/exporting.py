"""`export_floorplan`: a plan as data, as a drawing for CAD or as a building model."""

from collections.abc import Sequence

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.building import Building, PlacedFloor, PlacedStair
from noetl_mcp.bim.floorplan.considered import considered, failure
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw
from noetl_mcp.bim.floorplan.stair_sizes import drawn_steps
from noetl_mcp.bim.floorplan.to_json import converted
from noetl_mcp.bim.floorplan.tool_arguments import ExportArguments

MOST_PARTS = 12_000
_FOR_A_STAIR = 12
"""A stair has many steps, and a lift doors; both have a name that looks for its place."""
_FOR_A_FLOOR = 6
"""A floor has a slab, dimensions and a name."""


def exported(asked: ExportArguments) -> Answer:
    """Export a plan; one with errors is answered with them."""
    found = considered(asked.dsl, raw=asked.raw)
    if isinstance(found, Answer):
        return found
    facts = {"success": True, "format": asked.format, **found.warnings}
    if asked.format == "json":
        return Answer({**facts, "plan": converted(asked.dsl, raw=asked.raw)})
    large = too_large(found.building, asked.format)
    if large is not None:
        return failure({"errors": [{"message": large}], **found.warnings})
    try:
        made = _text(found.building, asked)
    except (CannotDraw, ModuleNotFoundError) as reason:
        return failure({"errors": [{"message": _why(reason, asked.format)}]})
    return Answer({**facts, "bytes": len(made.encode())}, text=made)


def too_large(building: Building, form: str, floors: Sequence[PlacedFloor] = ()) -> str | None:
    """Say why a plan, or some floors of it, are too large for a format; None where they are not."""
    drawn = floors or building.floors
    parts = sum(1 + len(room.room.walls) for floor in drawn for room in floor.every_room())
    parts += _FOR_A_FLOOR * len(drawn) + sum(len(floor.connections) for floor in drawn)
    parts += sum(_FOR_A_STAIR * len(floor.lifts) for floor in drawn)
    parts += sum(_parts_of(stair) for floor in drawn for stair in floor.stairs)
    if parts <= MOST_PARTS:
        return None
    return (
        f"This plan is too large for {form.upper()}: its floors, rooms, walls, connections, "
        f"stairs and lifts count as {parts:,} parts, and {MOST_PARTS:,} are the most"
    )


def _parts_of(stair: PlacedStair) -> int:
    return _FOR_A_STAIR + drawn_steps(stair) // 4 + len(stair.stair.shape.segments)


def _text(building: Building, asked: ExportArguments) -> str:
    if asked.format == "dxf":
        from noetl_mcp.bim.floorplan.dxf import dxf_of

        return dxf_of(building)
    from noetl_mcp.bim.ifc.from_floorplan import ifc_text

    return ifc_text(building, storey_height=asked.storey_height)


def _why(reason: Exception, form: str) -> str:
    if isinstance(reason, ModuleNotFoundError):
        extra = {"dxf": "cad", "ifc": "bim"}[form]
        return f"{form.upper()} needs the extra '{extra}': pip install 'noetl-mcp[{extra}]'"
    return str(reason)
