"""Add the stairs of a floor plan to a building model, from the steps that are drawn."""

from noetl_mcp.bim.floorplan.building import PlacedStair
from noetl_mcp.bim.ifc.writer import Entity, Writer


def add_stair(
    writer: Writer, storey: Entity, placement: Entity, stair: PlacedStair, metres: float, key: str
) -> None:
    """Add a stair."""
