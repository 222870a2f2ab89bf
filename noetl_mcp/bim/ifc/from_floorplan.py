"""Turn a floor plan into a building model: storeys, walls with openings, doors, windows, spaces.

Plans count y downwards, models upwards, so y changes its sign. Walls and openings are those that
are drawn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from noetl_mcp import __version__
from noetl_mcp.bim.floorplan.building import Box, Building, PlacedFloor, PlacedLift, PlacedRoom
from noetl_mcp.bim.floorplan.drawing.network import Opening, Piece, Wall
from noetl_mcp.bim.floorplan.drawing.stairs import stair_lines
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from noetl_mcp.bim.floorplan.units import factor, scale_to
from noetl_mcp.bim.ifc.around import Rooms
from noetl_mcp.bim.ifc.spaces import Lines
from noetl_mcp.bim.ifc.stairs import add_stair
from noetl_mcp.bim.ifc.writer import Entity, Writer, rounded

PROGRAM = "noetl-mcp"
_LEAF, _FRAME = 0.04, 0.06
"""How thick the leaf of a door and the frame of a window are, in metres."""


class Storey(NamedTuple):
    """A floor while it is written: what it stands in, and how its measures become metres."""

    writer: Writer
    entity: Entity
    placement: Entity
    floor: PlacedFloor
    rooms: Rooms
    metres: float
    key: str

    def outline(self, box: Box) -> list[tuple[float, float]]:
        """Return the corners of a rectangle, against the clock."""
        left, right = box.x * self.metres, box.right * self.metres
        top, bottom = -box.y * self.metres, -box.bottom * self.metres
        return [(left, bottom), (right, bottom), (right, top), (left, top)]


def ifc_text(building: Building, *, storey_height: float | None = None) -> str:
    """Return the model as the text of an IFC file.

    `storey_height` is that of floors which name none, in metres.
    """
    metres = factor(building.habits.unit, "m")
    scale = scale_to(building.habits.unit, raw=building.raw)
    name = title_of(building)
    writer = Writer(name, seed=name)
    site = writer.root("IfcSite", "site", Name="Site", CompositionType="ELEMENT")
    site.ObjectPlacement = writer.placement((0.0, 0.0, 0.0), None)
    house = writer.root("IfcBuilding", "building", Name=name, CompositionType="ELEMENT")
    house.ObjectPlacement = writer.placement((0.0, 0.0, 0.0), site.ObjectPlacement)
    writer.part(writer.project, site)
    writer.part(site, house)
    for floor in _stacked(building, storey_height, metres):
        storey = _storey(writer, house, floor, metres)
        _slab(storey, building)
        walls = [one for one in wall_network(floor, building).walls if one.solid]
        edges = Lines(walls)
        for room in floor.rooms:
            _space(storey, room, storey.entity, edges)
        for index, wall in enumerate(walls):
            _wall(storey, wall, index)
        for stair in (one for one in floor.stairs if one.leads_up):
            lines = stair_lines(stair, scale)
            add_stair(writer, storey.entity, storey.placement, stair, lines, metres, storey.key)
        for lift in floor.lifts:
            _lift(storey, lift)
    return writer.text(name=f"{name}.ifc", program=PROGRAM, version=__version__)


def title_of(building: Building) -> str:
    """Return what a plan calls itself."""
    for found in building.plan.frontmatter:
        if found.key == "title" and isinstance(found.value, str):
            return found.value
    return "Floor plan"


def _stacked(
    building: Building, storey_height: float | None, metres: float
) -> Iterator[PlacedFloor]:
    """Yield the floors one on another, those that name no height as high as asked for."""
    elevation = 0.0
    for floor in building.floors:
        named = floor.floor.height is not None or storey_height is None
        height = floor.height if named else (storey_height or 0.0) / metres
        yield replace(floor, elevation=elevation, height=height)
        elevation += height


def _storey(writer: Writer, house: Entity, floor: PlacedFloor, metres: float) -> Storey:
    key = f"{floor.index}/{floor.id}"
    elevation = floor.elevation * metres
    entity = writer.root(
        "IfcBuildingStorey",
        f"storey/{key}",
        Name=floor.id,
        CompositionType="ELEMENT",
        Elevation=elevation,
    )
    placement = writer.placement((0.0, 0.0, elevation), house.ObjectPlacement)
    entity.ObjectPlacement = placement
    writer.part(house, entity)
    return Storey(writer, entity, placement, floor, Rooms(floor.every_room()), metres, key)


def _slab(storey: Storey, building: Building) -> None:
    """Lay a slab under the rooms of a floor."""
    boxes = [room.box for room in storey.floor.rooms if room.box.width > 0 < room.box.height]
    thickness = building.habits.floor_thickness * storey.metres
    if not boxes or thickness <= 0:
        return
    writer = storey.writer
    solids = [writer.solid(storey.outline(box), thickness, foot=-thickness) for box in boxes]
    slab = writer.root(
        "IfcSlab",
        f"slab/{storey.key}",
        Name=f"Floor {storey.floor.id}",
        ObjectPlacement=writer.placement((0.0, 0.0, 0.0), storey.placement),
        Representation=writer.shape(solids),
        PredefinedType="FLOOR",
    )
    writer.type_of(slab, "IfcSlabType", f"Floor {thickness * 1000:.0f} mm", PredefinedType="FLOOR")
    writer.contain(storey.entity, slab)


def _space(storey: Storey, room: PlacedRoom, whole: Entity, walls: Lines) -> None:
    """Add the space inside a room, between its walls, and the spaces of its sub-rooms."""
    writer, metres = storey.writer, storey.metres
    inner = walls.inside(room.box)
    if inner.width <= 0 or inner.height <= 0 or room.height <= 0:
        return
    key = f"space/{storey.key}/{room.room.start}/{room.name}"
    height = room.height * metres
    solid = writer.solid(storey.outline(inner), height, foot=room.elevation * metres)
    label = room.room.label.text if room.room.label is not None else room.name
    space = writer.root(
        "IfcSpace",
        key,
        Name=room.name,
        LongName=label,
        ObjectPlacement=writer.placement((0.0, 0.0, 0.0), storey.placement),
        Representation=writer.shape([solid]),
        CompositionType="COMPLEX" if room.rooms else "ELEMENT",
        PredefinedType="INTERNAL",
    )
    writer.part(whole, space)
    writer.facts(space, "Pset_SpaceCommon", {"Reference": room.name, "IsExternal": False})
    net, gross = (box.width * box.height * metres**2 for box in (inner, room.box))
    writer.quantities(
        space,
        "Qto_SpaceBaseQuantities",
        {"Height": height, "NetPerimeter": 2 * (inner.width + inner.height) * metres},
        {"NetFloorArea": net, "GrossFloorArea": gross},
    )
    for one in room.rooms:
        _space(storey, one, space, walls)


def _wall(storey: Storey, wall: Wall, index: int) -> None:
    """Add a wall along its line, with the openings in it."""
    writer, metres = storey.writer, storey.metres
    start, end = wall.reach
    length, thickness = (end - start) * metres, wall.thickness * metres
    height = wall.height * metres
    if length <= 0 or thickness <= 0 or height <= 0:
        return
    corner = (start, wall.at) if wall.horizontal else (wall.at, start)
    along = (1.0, 0.0, 0.0) if wall.horizontal else (0.0, -1.0, 0.0)
    placement = writer.placement(
        (corner[0] * metres, -corner[1] * metres, wall.elevation * metres),
        storey.placement,
        along,
    )
    half = thickness / 2
    outline = [(0.0, -half), (length, -half), (length, half), (0.0, half)]
    key = f"wall/{storey.key}/{'h' if wall.horizontal else 'v'}/{wall.at:g}/{wall.start:g}"
    entity = writer.root(
        "IfcWall",
        key,
        Name=f"Wall {storey.floor.id}-{index + 1}",
        ObjectPlacement=placement,
        Representation=writer.shape(
            [writer.solid(outline, height)], axis=[(0.0, 0.0), (length, 0.0)]
        ),
        PredefinedType="STANDARD",
    )
    name = f"Wall {thickness * 1000:.0f} mm"
    writer.type_of(entity, "IfcWallType", name, PredefinedType="STANDARD")
    writer.made_of(entity, writer.layer(name, thickness))
    writer.facts(entity, "Pset_WallCommon", {"IsExternal": _is_outer(storey.rooms, wall)})
    sizes = {"Length": length, "Width": thickness, "Height": height}
    writer.quantities(entity, "Qto_WallBaseQuantities", sizes, {})
    writer.contain(storey.entity, entity)
    for opening in wall.openings:
        _opening(storey, wall, entity, placement, opening, f"{key}/{opening.start:g}")


def _opening(
    storey: Storey, wall: Wall, host: Entity, placement: Entity, opening: Opening, key: str
) -> None:
    """Cut an opening out of a wall and fill it."""
    writer, metres = storey.writer, storey.metres
    width = opening.width * metres
    foot, tall = _upright(opening, wall.height)
    sill, height = foot * metres, tall * metres
    if width <= 0 or height <= 0:
        return
    at = (opening.start - wall.reach[0]) * metres
    through = wall.thickness * metres
    stands = writer.placement((at, 0.0, sill), placement)
    hole = writer.root(
        "IfcOpeningElement",
        f"opening/{key}",
        Name=f"Opening in {host.Name}",
        ObjectPlacement=stands,
        Representation=writer.shape([writer.solid(_across(width, through), height)]),
        PredefinedType="OPENING",
    )
    filling = _filling(storey, wall, opening, (width, height), stands, key)
    writer.hole(key, host, hole, filling)


def _upright(opening: Opening, wall: float) -> tuple[float, float]:
    """Return the sill and the height of an opening.

    What is too high for its sill keeps its height, as far as the wall goes, and stands lower.
    """
    tall = max(0.0, wall - opening.sill) if opening.height is None else min(opening.height, wall)
    return min(opening.sill, wall - tall), tall


def _filling(
    storey: Storey,
    wall: Wall,
    opening: Opening,
    size: tuple[float, float],
    stands: Entity,
    key: str,
) -> Entity | None:
    """Make the door or window of an opening; a mere opening has none."""
    if opening.kind == "opening":
        return None
    writer, (width, height) = storey.writer, size
    is_window = opening.kind == "window"
    what = "Window" if is_window else "Door"
    thickness = min(_FRAME if is_window else _LEAF, wall.thickness * storey.metres)
    operation = {} if is_window else {"OperationType": _operation(opening)}
    kinds = {"PredefinedType": what.upper(), **operation}
    made = writer.root(
        f"Ifc{what}",
        f"{opening.kind}/{key}",
        Name=f"{what} {' - '.join(_rooms_of(storey.rooms, wall, opening))}",
        ObjectPlacement=writer.placement((0.0, 0.0, 0.0), stands),
        Representation=writer.shape([writer.solid(_across(width, thickness), height)]),
        OverallHeight=rounded(height),
        OverallWidth=rounded(width),
        **kinds,
    )
    title = f"{'Double door' if opening.kind == 'double-door' else what}"
    name = f"{title} {width * 1000:.0f} x {height * 1000:.0f} mm"
    if is_window:
        kinds["PartitioningType"] = "SINGLE_PANEL"
    else:
        name += (
            "" if opening.kind == "double-door" else f" {kinds['OperationType'][-5:].strip('_')}"
        )
    writer.type_of(made, f"Ifc{what}Type", name, **kinds)
    writer.contain(storey.entity, made)
    return made


def _rooms_of(rooms: Rooms, wall: Wall, opening: Opening) -> tuple[str, str]:
    """Return between which rooms an opening leads; a sub-room leads into the room around it."""
    own, other = opening.rooms
    if other is None:
        middle = (opening.start + opening.end) / 2
        along = (one for one in wall.pieces if one.start <= middle <= one.end)
        sides = _rooms_beside(rooms, wall, next(along, wall.pieces[0]))
        other = next((room for room in sides if room not in (None, own)), None)
    return own or "outside", other or "outside"


def _is_outer(rooms: Rooms, wall: Wall) -> bool:
    """Whether a wall has no room on one side somewhere along it."""
    return any(None in _rooms_beside(rooms, wall, piece) for piece in wall.pieces)


def _rooms_beside(rooms: Rooms, wall: Wall, piece: Piece) -> list[str | None]:
    """Return the rooms on both sides of a piece of a wall, those that it parts or lies in."""
    found = list[str | None]()
    middle = (piece.start + piece.end) / 2
    for names, side in ((piece.before, -wall.thickness), (piece.after, wall.thickness)):
        at = (middle, wall.at + side) if wall.horizontal else (wall.at + side, middle)
        found.append(names[-1] if names else rooms.around(*at))
    return found


def _operation(opening: Opening) -> str:
    """Return how a door opens, seen from the side it opens to."""
    if opening.kind == "double-door":
        return "DOUBLE_DOOR_SINGLE_SWING"
    is_left = (opening.hinge == "start") == (opening.into < 0)
    return "SINGLE_SWING_LEFT" if is_left else "SINGLE_SWING_RIGHT"


def _across(width: float, thickness: float) -> Sequence[tuple[float, float]]:
    half = thickness / 2
    return [(0.0, -half), (width, -half), (width, half), (0.0, half)]


def _lift(storey: Storey, lift: PlacedLift) -> None:
    writer = storey.writer
    height = storey.floor.height * storey.metres
    box = lift.box
    if box.width <= 0 or box.height <= 0 or height <= 0:
        return
    middle = (
        (box.x + box.width / 2) * storey.metres,
        -(box.y + box.height / 2) * storey.metres,
        0.0,
    )
    around = storey.outline(Box(-box.width / 2, -box.height / 2, box.width, box.height))
    made = writer.root(
        "IfcTransportElement",
        f"lift/{storey.key}/{lift.lift.name.text}",
        Name=lift.lift.name.text,
        ObjectPlacement=writer.placement(middle, storey.placement),
        Representation=writer.shape([writer.solid(around, height)]),
        PredefinedType="ELEVATOR",
    )
    writer.type_of(made, "IfcTransportElementType", "Lift", PredefinedType="ELEVATOR")
    writer.contain(storey.entity, made)
