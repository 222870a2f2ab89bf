"""Refuse to draw more things than can be laid out within seconds. It does not look at them."""

from collections.abc import Sequence

from noetl_mcp.bim.floorplan.building import PlacedFloor
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw
from noetl_mcp.bim.floorplan.stair_sizes import drawn_steps

MOST_FLOORS = 200
MOST_ROOMS = 12_000
MOST_STAIRS = 1_000
MOST_STEPS = 100_000


def refuse_many(floors: Sequence[PlacedFloor]) -> None:
    """Raise CannotDraw where there is too much on the floors of a drawing."""
    _refuse(len(floors), MOST_FLOORS, "floors", ": draw one by its floorIndex")
    rooms = sum(1 for floor in floors for _ in floor.every_room())
    _refuse(rooms, MOST_ROOMS, "rooms")
    _refuse(sum(len(floor.stairs) for floor in floors), MOST_STAIRS, "stairs")
    steps = sum(drawn_steps(stair) for floor in floors for stair in floor.stairs)
    _refuse(steps, MOST_STEPS, "steps of stairs")


def _refuse(count: int, most: int, what: str, more: str = "") -> None:
    if count > most:
        raise CannotDraw(f"There are {count:,} {what} to draw, and {most:,} are the most{more}.")
