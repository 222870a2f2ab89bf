"""What is on a floor before its scale is known: walls, swings of doors, stairs, and its reach.

It refuses to know colours and paper.
"""

from dataclasses import dataclass

from noetl_mcp.bim.floorplan.building import (
    Box,
    Building,
    PlacedFloor,
    PlacedLift,
    PlacedRoom,
    PlacedStair,
)
from noetl_mcp.bim.floorplan.drawing.limits import bounds, refuse_absurd
from noetl_mcp.bim.floorplan.drawing.network import Network, Opening, Wall
from noetl_mcp.bim.floorplan.drawing.openings import DoorSign, door_sign
from noetl_mcp.bim.floorplan.drawing.stairs import StairLines, stair_lines
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from noetl_mcp.bim.floorplan.units import scale_to


@dataclass(frozen=True, slots=True)
class Door:
    """A door with its sign, and the name of the room into which it swings."""

    wall: Wall
    opening: Opening
    sign: DoorSign
    room: str | None


@dataclass(frozen=True, slots=True)
class FloorShapes:
    """A floor, ready to be put to scale; `around` is None where it is empty."""

    floor: PlacedFloor
    rooms: tuple[PlacedRoom, ...]
    network: Network
    doors: tuple[Door, ...]
    stairs: tuple[tuple[PlacedStair, StairLines], ...]
    lifts: tuple[PlacedLift, ...]
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
    doors = tuple(_doors(network, {room.name: room for room in rooms}))
    scale = scale_to(building.habits.unit, raw=building.raw)
    stairs = tuple((stair, stair_lines(stair, scale)) for stair in floor.stairs)
    half = network.thickness / 2
    reach = [
        Box(o.x - half, o.y - half, o.width + 2 * half, o.height + 2 * half)
        for o in (outline,)
        if o
    ]
    reach += [lines.box for _, lines in stairs]
    reach += [lift.box for lift in lifts]
    reach += [door.sign.swept for door in doors]
    around = bounds(reach)
    if around is not None:
        refuse_absurd(floor, around, building.habits.unit)
    return FloorShapes(floor, rooms, network, doors, stairs, lifts, outline, around)


def _doors(network: Network, rooms: dict[str, PlacedRoom]) -> list[Door]:
    found: list[Door] = []
    for wall, opening in network.openings():
        if opening.kind not in ("door", "double-door"):
            continue
        found.append(
            Door(wall, opening, door_sign(wall, opening), _swept_room(wall, opening, rooms))
        )
    return found


def _swept_room(wall: Wall, opening: Opening, rooms: dict[str, PlacedRoom]) -> str | None:
    """The room into which a door swings: of several the innermost; around a sub-room its parent."""
    middle = (opening.start + opening.end) / 2
    for piece in wall.pieces:
        if not piece.start <= middle <= piece.end:
            continue
        swept, behind = (piece.before, piece.after)[:: 1 if opening.into < 0 else -1]
        if swept:
            return swept[-1]
        inner = rooms.get(behind[-1]) if behind else None
        return inner.parent if inner else None
    return None
