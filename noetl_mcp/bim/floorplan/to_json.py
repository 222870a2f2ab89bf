"""Say a plan as JSON: floors, rooms, stairs, lifts and connections where they stand.

The fields are those that other programs around this language read. Lengths are in the plan's unit;
`x` goes right and `z` down the page. Sub-rooms are not in it: they belong to their room.
"""

from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import (
    Building,
    PlacedConnection,
    PlacedFloor,
    PlacedLift,
    PlacedRoom,
)
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Lines
from noetl_mcp.bim.floorplan.habits import key_of, scaled
from noetl_mcp.bim.floorplan.measures import area, measured, metrics, volume
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.rooms import plain
from noetl_mcp.bim.floorplan.rules import ERROR
from noetl_mcp.bim.floorplan.stair_json import stair_as_json
from noetl_mcp.bim.floorplan.units import Scale, scale_to
from noetl_mcp.bim.floorplan.words import VERSION

Json = dict[str, Any]


def converted(text: str, raw: bool = False) -> Json:
    """Return a plan as JSON, as far as it can be read; `errors` says what is left out and why.

    `raw` reads numbers without their units.
    """
    reading = read(text)
    building = understood(reading.plan, raw)
    writer = _Writer(building, reading.lines)
    errors = [*reading.errors, *(one for one in building.findings if one.severity == ERROR)]
    answer = writer.building()
    answer |= {"errors": [one.as_json(reading.lines) for one in errors]} if errors else {}
    return answer


class _Writer:
    """What all parts of the JSON need: the lines of the text, the building and its scale."""

    def __init__(self, building: Building, lines: Lines) -> None:
        self.built = building
        self.plan = building.plan
        self.floors = building.floors
        self.lines = lines
        self.scale: Scale = scale_to(building.habits.unit, raw=building.raw)

    def building(self) -> Json:
        """Say the whole building."""
        floors = [self.floor(floor) for floor in self.floors]
        version = self.plan.version
        answer: Json = {
            "grammarVersion": VERSION if version is None else version.text,
            "floors": floors,
            "connections": self.all_connections(),
            "verticalConnections": [self.vertical(one) for one in self.plan.verticals],
            "styles": [_style(style) for style in self.plan.styles],
        }
        config = _config(self.plan.config, self.scale)
        if config:
            answer["config"] = config
        answer["summary"] = {
            "grossFloorArea": plain(sum(measured(floor).net_area for floor in self.floors)),
            "totalRoomCount": sum(len(floor.rooms) for floor in self.floors),
            "floorCount": len(floors),
        }
        return answer

    def floor(self, floor: PlacedFloor) -> Json:
        """Say a floor."""
        shown: Json = {
            "id": floor.id,
            "index": floor.index,
            "rooms": [self.room(room) for room in floor.rooms],
            "stairs": [stair_as_json(stair, self.scale) for stair in floor.stairs],
            "lifts": [_lift(lift) for lift in floor.lifts],
            "connections": [self.connection(one, floor.id) for one in floor.connections],
        }
        if floor.floor.height is not None:
            shown["height"] = plain(floor.height)
        shown["metrics"] = metrics(measured(floor), 1.0)
        shown["_sourceRange"] = self.range(floor.floor.start, floor.floor.end)
        return shown

    def room(self, room: PlacedRoom) -> Json:
        """Say a room."""
        written = room.room
        shown: Json = {"name": room.name}
        if written.label is not None:
            shown["label"] = written.label.text
        shown |= {
            "x": plain(room.box.x),
            "z": plain(room.box.y),
            "width": plain(room.box.width),
            "height": plain(room.box.height),
            "walls": [self.wall(wall) for wall in written.walls],
        }
        if written.height is not None:
            shown["roomHeight"] = plain(room.height)
        if written.elevation is not None:
            shown["elevation"] = plain(room.elevation)
        if written.style is not None:
            shown["style"] = written.style.name.text
        if written.relation is not None:
            shown["_relativePosition"] = self.relation(written.relation)
        shown["area"] = plain(area(room.box))
        filled = volume(room)
        if filled is not None:
            shown["volume"] = plain(filled)
        shown["_sourceRange"] = self.range(written.start, written.end)
        return shown

    def wall(self, wall: tree.Wall) -> Json:
        """Say an entry of `walls`."""
        shown: Json = {"direction": wall.side, "type": wall.kind}
        if wall.at is not None:
            shown["position"] = plain(wall.at)
        shown["isPercentage"] = wall.percent
        if wall.size is not None:
            shown["width"] = plain(scaled(wall.size.width, self.scale))
            if wall.size.height is not None:
                shown["height"] = plain(scaled(wall.size.height, self.scale))
        if wall.height is not None:
            shown["wallHeight"] = plain(wall.height)
        shown["_sourceRange"] = self.range(wall.start, wall.end)
        return shown

    def relation(self, relation: tree.Relation) -> Json:
        """Say beside what a room stands."""
        shown: Json = {
            "direction": relation.direction,
            "reference": relation.reference.text,
        }
        if relation.gap is not None:
            shown["gap"] = plain(scaled(relation.gap, self.scale))
        if relation.align is not None:
            shown["alignment"] = relation.align
        return shown

    def all_connections(self) -> list[Json]:
        """Say all connections in the order of the text, those between two floors, too."""
        names = {floor.index: floor.id for floor in self.floors}
        shown = []
        for ends in Subject(self.plan, self.built).connections:
            known = ends.first or ends.second
            if known is not None:
                shown.append(self.written(ends.connection, names[known.level]))
        return shown

    def connection(self, placed: PlacedConnection, floor: str) -> Json:
        """Say a connection of a floor."""
        return self.written(placed.connection, floor)

    def written(self, connection: tree.Connection, floor: str) -> Json:
        """Say a connection."""
        shown: Json = {
            "fromRoom": connection.first.room.text,
            "fromWall": connection.first.side or "unknown",
            "toRoom": connection.second.room.text,
            "toWall": connection.second.side or "unknown",
            "doorType": connection.kind,
        }
        if connection.at is not None:
            shown["position"] = plain(connection.at)
        if connection.swing is not None:
            shown["swing"] = connection.swing
        if connection.opens_into is not None:
            shown["opensInto"] = connection.opens_into.text
        size = connection.size
        if size is not None:
            shown["width"] = plain(scaled(size.width, self.scale))
        if size is not None and size.height is None:
            shown["fullHeight"] = True
        if size is not None and size.height is not None:
            shown["height"] = plain(scaled(size.height, self.scale))
        shown["floorId"] = floor
        shown["_sourceRange"] = self.range(connection.start, connection.end)
        return shown

    def vertical(self, vertical: tree.Vertical) -> Json:
        """Say a vertical connection."""
        return {
            "links": [
                {"floor": element.floor.text, "element": element.element.text}
                for element in vertical.elements
            ]
        }

    def range(self, start: int, end: int) -> Json:
        """Return where something stands; lines and columns count from 0."""
        line, column = self.lines.place(start)
        end_line, end_column = self.lines.place(end)
        return {
            "startLine": line - 1,
            "startColumn": column - 1,
            "endLine": end_line - 1,
            "endColumn": end_column - 1,
        }


def _lift(lift: PlacedLift) -> Json:
    """Say a lift."""
    written = lift.lift
    shown: Json = {
        "name": written.name.text,
        "x": plain(lift.box.x),
        "z": plain(lift.box.y),
        "width": plain(lift.box.width),
        "height": plain(lift.box.height),
        "doors": list(written.doors),
    }
    if written.label is not None:
        shown["label"] = written.label.text
    if written.style is not None:
        shown["style"] = written.style.name.text
    return shown


def _style(style: tree.Style) -> Json:
    """Say a style: its name and what it says."""
    return {"name": style.name.text} | {
        found.key: plain(found.value) if isinstance(found.value, float) else found.value
        for found in style.properties
    }


def _config(config: tree.Config | None, scale: Scale) -> Json:
    """Say the config: flags and the font under names in camel case, words in snake case."""
    shown: Json = {}
    for found in () if config is None else config.properties:
        key, value = key_of(found.key), found.value
        if isinstance(value, bool):
            shown[_camel(key)] = value
        elif isinstance(value, tree.Size):
            height = value.height
            sides = [value.width] if height is None else [value.width, height]
            shown[key] = [plain(scaled(side, scale)) for side in sides]
        elif isinstance(value, tree.Number):
            shown[found.key] = plain(scaled(value, scale))
        elif isinstance(value, str):
            shown[_camel(key) if key == "font_family" else key] = value
        else:
            shown[found.key] = plain(value)
    return shown


def _camel(key: str) -> str:
    first, *more = key.split("_")
    return first + "".join(part.capitalize() for part in more)
