"""What is on a floor before its scale is known: walls, swings of doors, stairs, and its reach.

It refuses to know colours and paper.
"""

import bisect
import operator
from dataclasses import dataclass, replace
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import (
    Box,
    Building,
    PlacedFloor,
    PlacedLift,
    PlacedRoom,
    PlacedStair,
    made,
)
from noetl_mcp.bim.floorplan.drawing.limits import bounds, has_ground, refuse_absurd
from noetl_mcp.bim.floorplan.drawing.network import Network, Opening, Wall
from noetl_mcp.bim.floorplan.drawing.openings import DoorSign, door_sign, swept
from noetl_mcp.bim.floorplan.drawing.stairs import StairLines, stair_lines
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from noetl_mcp.bim.floorplan.grid import Grid
from noetl_mcp.bim.floorplan.units import Scale, scale_to

_OVERLAP = 0.01
_END = operator.attrgetter("end")


class Door(NamedTuple):
    """A door with its sign, the room into which it swings and the one behind it, None outside.

    `apart` says that the two do not touch, so that there is ground of neither in the door.
    """

    wall: Wall
    opening: Opening
    sign: DoorSign
    room: str | None
    behind: str | None
    apart: bool


@dataclass(frozen=True, slots=True)
class FloorShapes:
    """A floor, ready to be put to scale; `around` is None where it is empty.

    `overlaps` are pairs of rooms that are not in each other by the plan, yet on the same ground.
    """

    floor: PlacedFloor
    rooms: tuple[PlacedRoom, ...]
    network: Network
    doors: tuple[Door, ...]
    stairs: tuple[tuple[PlacedStair, StairLines], ...]
    lifts: tuple[PlacedLift, ...]
    overlaps: tuple[tuple[PlacedRoom, PlacedRoom], ...]
    outline: Box | None
    around: Box | None


def floor_shapes(floor: PlacedFloor, building: Building) -> FloorShapes:
    """Gather what is on a floor; raise CannotDraw where its numbers are absurd."""
    rooms = tuple(r for r in floor.every_room() if r.box.width > 0 and r.box.height > 0)
    lifts = tuple(one for one in floor.lifts if one.box.width > 0 and one.box.height > 0)
    outline = bounds(room.box for room in rooms)
    if outline is not None:
        refuse_absurd(floor, outline, building.habits.unit)
    network = wall_network(floor, building)
    called = {room.name: room for room in rooms}
    doors = tuple(doors_of(network, called, building))
    scale = scale_to(building.habits.unit, raw=building.raw)
    stairs = tuple(
        (one, laid_stair(one, called, scale, network.thickness / 2))
        for one in floor.stairs
        if has_ground(one)
    )
    half = network.thickness / 2
    reach = [
        Box(o.x - half, o.y - half, o.width + 2 * half, o.height + 2 * half)
        for o in (outline,)
        if o
    ]
    reach += [lines.box for _, lines in stairs]
    reach += [lift.box for lift in lifts]
    outside = (door.sign.swings for door in doors if door.room is None)
    reach += [box for swings in outside for arc in swings for box in swept(arc)]
    around = bounds(reach)
    if around is not None:
        refuse_absurd(floor, around, building.habits.unit)
    outer = tuple(room for room in rooms if room.parent is None)
    pairs = Grid([room.box for room in outer]).pairs(_OVERLAP)
    return FloorShapes(
        floor,
        rooms,
        network,
        doors,
        stairs,
        lifts,
        tuple((outer[one], outer[other]) for one, other in pairs),
        outline,
        around,
    )


def laid_stair(
    stair: PlacedStair, rooms: dict[str, PlacedRoom], scale: Scale, half: float
) -> StairLines:
    """Lay out a stair; one that only says along which wall it goes stands in that wall's corner."""
    lines = stair_lines(stair, scale)
    said = stair.stair
    walls = [one.along for one in said.shape.segments if isinstance(one, tree.Flight) and one.along]
    room = rooms.get(walls[0].room.text) if walls else None
    if room is None or said.at is not None or said.relation is not None:
        return lines
    x, y = room.box.x + half, room.box.y + half
    if walls[0].side == "right":
        x = room.box.right - half - lines.box.width
    if walls[0].side == "bottom":
        y = room.box.bottom - half - lines.box.height
    return stair_lines(replace(stair, x=x, y=y), scale)


def doors_of(network: Network, rooms: dict[str, PlacedRoom], building: Building) -> list[Door]:
    """Every door in the walls of a floor, with its sign."""
    found: list[Door] = []
    usual = building.habits.door_width
    for wall, opening in network.openings():
        if opening.kind not in ("door", "double-door"):
            continue
        into, behind = _rooms_at(wall, opening, rooms)
        said = opening.connection
        if behind is None and said is not None and said.first and said.second:
            behind = said.second.name if said.first.name == into else said.first.name
        apart = _apart(wall, rooms.get(into or ""), rooms.get(behind or ""))
        sign = door_sign(wall, opening, usual)
        found.append(made(Door, (wall, opening, sign, into, behind, apart)))
    return found


def _apart(wall: Wall, one: PlacedRoom | None, other: PlacedRoom | None) -> bool:
    if one is None or other is None:
        return True
    if wall.horizontal:
        return one.box.bottom != other.box.y and other.box.bottom != one.box.y
    return one.box.right != other.box.x and other.box.right != one.box.x


def _rooms_at(
    wall: Wall, opening: Opening, rooms: dict[str, PlacedRoom]
) -> tuple[str | None, str | None]:
    """The rooms before and behind a door: of several the innermost, of a sub-room its parent."""
    middle = (opening.start + opening.end) / 2
    at = bisect.bisect_left(wall.pieces, middle, key=_END)
    if at == len(wall.pieces):
        return None, None
    piece = wall.pieces[at]
    _, _, above, below = piece
    before = above[-1] if above else _parent(below, rooms)
    after = below[-1] if below else _parent(above, rooms)
    return (before, after) if opening.into < 0 else (after, before)


def _parent(inner: tuple[str, ...], rooms: dict[str, PlacedRoom]) -> str | None:
    found = rooms.get(inner[-1]) if inner else None
    return found.parent if found else None
