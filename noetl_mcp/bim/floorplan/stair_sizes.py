"""How much room a stair takes, roughly. It refuses to draw: the drawing has the exact lines."""

import math

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box, PlacedStair
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.units import Scale

_MOST_STEPS = 10_000
_MOST_IN_FLIGHT = 400


def steps(stair: PlacedStair) -> int:
    """Return how many risers a stair has."""
    if stair.riser <= 0 or not math.isfinite(stair.rise / stair.riser):
        return 1
    return min(_MOST_STEPS, max(1, math.ceil(stair.rise / stair.riser - 1e-6)))


def drawn_steps(stair: PlacedStair) -> int:
    """Return about how many steps are drawn of a stair, those that its flights name with it."""
    shape = stair.stair.shape
    named = sum(
        min(_MOST_IN_FLIGHT, one.steps) if isinstance(one, tree.Flight) else one.winders or 1
        for one in shape.segments
    )
    named += sum(min(_MOST_IN_FLIGHT, run) for run in shape.runs)
    return math.ceil(max(named, min(_MOST_IN_FLIGHT, steps(stair))))


def stair_box(stair: PlacedStair, scale: Scale) -> Box:
    """Return the box that a stair fills, from its corner at the top left."""
    shape, run = stair.stair.shape, steps(stair) * stair.tread
    if shape.kind == "straight":
        if shape.toward in ("left", "right"):
            return Box(stair.x, stair.y, run, stair.width)
        return Box(stair.x, stair.y, stair.width, run)
    if shape.kind == "spiral" and shape.outer_radius is not None:
        across = 2 * scaled(shape.outer_radius, scale)
        return Box(stair.x, stair.y, across, across)
    if shape.kind == "L-shaped":
        landing = scaled(shape.landing.width, scale) if shape.landing is not None else stair.width
        return Box(stair.x, stair.y, stair.width + landing, run / 2 + landing)
    return Box(stair.x, stair.y, 2 * stair.width, run)
