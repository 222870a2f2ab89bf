"""Say of which plans there is no picture: those whose numbers are absurd. It changes none."""

import math
import operator
from collections.abc import Iterable, Iterator, Sequence

from noetl_mcp.bim.floorplan.building import Box, PlacedFloor, PlacedStair
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw
from noetl_mcp.bim.floorplan.units import shown

FARTHEST = 1e7
_MOST_TIMES = 20_000
_BOX = operator.attrgetter("box")


def without_area(floor: PlacedFloor) -> Iterator[str]:
    """What cannot be seen on a floor, because a side of it is 0."""
    for room in floor.every_room():
        _, _, width, height = room.box
        if width <= 0 or height <= 0:
            yield f"Room '{room.name}'"
    for stair in floor.stairs:
        if not has_ground(stair):
            yield f"Stair '{stair.stair.name.text}'"
    for lift in floor.lifts:
        if min(lift.box.width, lift.box.height) <= 0:
            yield f"Lift '{lift.lift.name.text}'"


def has_ground(stair: PlacedStair) -> bool:
    """Whether a stair covers any ground at all."""
    shape = stair.stair.shape
    if shape.kind == "spiral":
        return shape.outer_radius is None or shape.outer_radius.value > 0
    return stair.width > 0 and stair.tread > 0


def bounds(boxes: Iterable[Box]) -> Box | None:
    """The box around boxes; None where there are none."""
    there = list(boxes)
    if not there:
        return None
    left, top = min([x for x, _, _, _ in there]), min([y for _, y, _, _ in there])
    right = max([x + width for x, _, width, _ in there])
    bottom = max([y + height for _, y, _, height in there])
    return Box(left, top, right - left, bottom - top)


def refuse_absurd(floor: PlacedFloor, around: Box, unit: str) -> None:
    """Raise CannotDraw where rooms are so far apart, or so large, that nothing could be seen."""
    if not all(math.isfinite(number) for number in around):
        raise CannotDraw(f"Floor '{floor.id}' cannot be drawn: a number in it is too large.")
    whole = max(around.width, around.height, abs(around.x), abs(around.y))
    if whole > FARTHEST:
        far = _farthest([(room.name, room.box) for room in floor.every_room()])
        raise CannotDraw(
            f"Floor '{floor.id}' cannot be drawn: it reaches {shown(round(whole))} {unit} from the "
            f"origin{far}, and at most {shown(FARTHEST)} {unit} can be shown."
        )
    sizes = [max(wide, high) for _, _, wide, high in map(_BOX, floor.rooms[:1])]
    longest = max(around.width, around.height)
    if not sizes or _MOST_TIMES * sizes[0] >= longest:
        return
    largest = max(max(wide, high) for _, _, wide, high in map(_BOX, floor.rooms))
    if 0 < _MOST_TIMES * largest < longest:
        far = _farthest([(room.name, room.box) for room in floor.rooms])
        raise CannotDraw(
            f"Floor '{floor.id}' cannot be drawn: its rooms are so small, or so far apart{far}, "
            "that none could be seen."
        )


def _farthest(boxes: Sequence[tuple[str, Box]]) -> str:
    if not boxes:
        return ""
    name, box = max(boxes, key=lambda one: max(abs(one[1].right), abs(one[1].bottom)))
    return f" (room '{name}' at {shown(box.x)}, {shown(box.y)})"
