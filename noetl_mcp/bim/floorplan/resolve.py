"""Find out what a plan means: every floor, room, stair, lift and connection where it stands.

What has no place is left out and told of in the building's findings; nothing is ever refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import (
    Box,
    Building,
    Habits,
    PlacedConnection,
    PlacedFloor,
    PlacedLift,
    PlacedRoom,
    PlacedStair,
)
from noetl_mcp.bim.floorplan.climbs import with_climbs
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.habits import habits, scaled, settings
from noetl_mcp.bim.floorplan.places import (
    CIRCLE,
    INNER_NOWHERE,
    INNER_UNKNOWN,
    INNER_WAITS,
    NOWHERE,
    THING_UNKNOWN,
    THING_WAITS,
    UNKNOWN_ROOM,
    WAITS,
)
from noetl_mcp.bim.floorplan.positions import Item, Placement, Reason, placed
from noetl_mcp.bim.floorplan.stair_sizes import stair_box
from noetl_mcp.bim.floorplan.units import Scale, factor, scale_to
from noetl_mcp.bim.floorplan.words import OUTSIDE

_MOST_NAMES = 100
_RISER_INCHES, _TREAD_INCHES, _STAIR_FEET = 7.0, 11.0, 3.0


def understood(plan: tree.Plan, raw: bool = False) -> Building:
    """Return what a plan means; `raw` reads all numbers as they are written, whatever their unit.

    A bare number is in the plan's unit. `raw` is how the language was first read: then 3m is as
    long as 3ft.
    """
    known = habits(plan, raw=raw)
    reader = _Reader(plan, known, scale_to(known.unit, raw=raw))
    floors: list[PlacedFloor] = []
    for index, floor in enumerate(plan.floors):
        below = floors[-1] if floors else None
        floors.append(reader.floor(floor, index, below.elevation + below.height if below else 0.0))
    climbing = with_climbs(floors, plan.verticals)
    connected = _connected(climbing, plan.connections, known, reader.scale)
    return Building(plan, known, reader.styles, connected, tuple(reader.findings), raw)


class _Reader:
    """What is the same for all floors, and the findings of them all."""

    def __init__(self, plan: tree.Plan, known: Habits, scale: Scale) -> None:
        self.known = known
        self.scale = scale
        self.sizes = {define.name.text: define.size for define in plan.defines}
        self.styles: dict[str, tree.Style] = {style.name.text: style for style in plan.styles}
        self.own_height = "default_height" in settings(plan)
        self.findings: list[Finding] = []

    def floor(self, floor: tree.Floor, index: int, elevation: float) -> PlacedFloor:
        """Place everything on a floor."""
        height = self.length(floor.height, self.known.default_height)
        default = height
        if self.own_height or floor.height is None:
            default = self.known.default_height
        rooms, order = self._rooms(floor, default)
        inner = {one.name: one.box for room in rooms for one in room.walk() if one is not room}
        anchors = inner | {room.name: room.box for room in rooms}
        stairs, lifts = self._others(floor, anchors)
        return PlacedFloor(floor, index, height, elevation, rooms, stairs, lifts, (), order)

    def length(self, number: tree.Number | None, default: float) -> float:
        """Return a number in the building's unit."""
        return default if number is None else number.value * self.scale[number.unit]

    def _rooms(
        self, floor: tree.Floor, height: float
    ) -> tuple[tuple[PlacedRoom, ...], tuple[PlacedRoom, ...]]:
        """Place the rooms of a floor; return them as they are written, and as they were placed."""
        rooms = floor.rooms
        never = frozenset(inner.name.text for room in rooms for inner in room.rooms)
        placement = placed([self._item(room) for room in rooms], never=never)
        self.findings += _told(rooms, placement)
        made = {
            index: self._room(rooms[index], box, height, None)
            for index, box in placement.boxes.items()
        }
        return tuple(made[index] for index in sorted(made)), tuple(made.values())

    def _room(self, room: tree.Room, box: Box, height: float, parent: str | None) -> PlacedRoom:
        style = room.style.name.text if room.style is not None else self.known.default_style
        own = self.length(room.height, height)
        raised = self.length(room.elevation, 0.0)
        inner = self._inner(room, box, own) if room.rooms else ()
        found = self.styles.get(style) if style is not None else None
        return PlacedRoom(room, room.name.text, box, own, raised, found, parent, inner)

    def _inner(self, room: tree.Room, box: Box, height: float) -> tuple[PlacedRoom, ...]:
        """Place the sub-rooms of a room, which count from its corner."""
        rooms = room.rooms
        placement = placed([self._item(inner) for inner in rooms])
        self.findings += _told_inner(room, placement)
        return tuple(
            self._room(rooms[index], Box(box.x + x, box.y + y, w, h), height, room.name.text)
            for index, (x, y, w, h) in sorted(placement.boxes.items())
        )

    def _item(self, room: tree.Room) -> Item:
        scale = self.scale
        size = room.size
        known = self.sizes.get(size.name.text) if isinstance(size, tree.SizeName) else size
        width, height = None, 0.0
        if known is not None:
            width = known.width.value * scale[known.width.unit]
            height = self.length(known.height, 0.0)
        at = None
        if room.at is not None:
            x, y = room.at.x, room.at.y
            at = (x.value * scale[x.unit], y.value * scale[y.unit])
        return Item(room.name.text, at, room.relation, self._gap(room.relation), width, height)

    def _gap(self, relation: tree.Relation | None) -> float:
        return 0.0 if relation is None else self.length(relation.gap, 0.0)

    def _others(
        self, floor: tree.Floor, anchors: Mapping[str, Box]
    ) -> tuple[tuple[PlacedStair, ...], tuple[PlacedLift, ...]]:
        """Place stairs and lifts: beside rooms, or beside each other; without a place at 0, 0."""
        if not floor.stairs and not floor.lifts:
            return (), ()
        things: list[tree.Stair | tree.Lift] = [*floor.stairs, *floor.lifts]
        stairs = [self._stair(stair) for stair in floor.stairs]
        boxes = [stair_box(stair, self.scale) for stair in stairs]
        boxes += [self._lift_box(lift) for lift in floor.lifts]
        pairs = zip(things, boxes, strict=True)
        placement = placed([self._thing(thing, box) for thing, box in pairs], anchors)
        self.findings += _told_things(things, placement)
        where = [placement.boxes.get(index, box) for index, box in enumerate(boxes)]
        moved = (
            replace(stair, x=box.x, y=box.y) for stair, box in zip(stairs, where, strict=False)
        )
        lifts = zip(floor.lifts, where[len(stairs) :], strict=True)
        return tuple(moved), tuple(PlacedLift(one, box, self._style(one)) for one, box in lifts)

    def _style(self, thing: "tree.Stair | tree.Lift") -> tree.Style | None:
        return None if thing.style is None else self.styles.get(thing.style.name.text)

    def _thing(self, thing: "tree.Stair | tree.Lift", box: Box) -> Item:
        at = (box.x, box.y) if thing.at is not None or thing.relation is None else None
        gap = self._gap(thing.relation)
        return Item(thing.name.text, at, thing.relation, gap, box.width, box.height)

    def _corner(self, at: tree.Point | None) -> tuple[float, float]:
        return (0.0, 0.0) if at is None else (scaled(at.x, self.scale), scaled(at.y, self.scale))

    def _stair(self, stair: tree.Stair) -> PlacedStair:
        inch, foot = factor("in", self.known.unit), factor("ft", self.known.unit)
        x, y = self._corner(stair.at)
        return PlacedStair(
            stair=stair,
            x=x,
            y=y,
            rise=self.length(stair.rise, 0.0),
            width=self.length(stair.width, _STAIR_FEET * foot),
            riser=self.length(stair.riser, _RISER_INCHES * inch),
            tread=self.length(stair.tread, _TREAD_INCHES * inch),
            style=self._style(stair),
        )

    def _lift_box(self, lift: tree.Lift) -> Box:
        x, y = self._corner(lift.at)
        return Box(x, y, scaled(lift.size.width, self.scale), self.length(lift.size.height, 0.0))


def _told(rooms: Sequence[tree.Room], placement: Placement) -> Iterator[Finding]:
    """Tell of rooms without a place."""
    lost = placement.lost
    waiting = [index for index, reason in lost.items() if reason is Reason.WAITS]
    names = ", ".join(rooms[index].name.text for index in waiting[:_MOST_NAMES])
    if len(waiting) > _MOST_NAMES:
        names += f" and {len(waiting) - _MOST_NAMES} more"
    relations = {rooms[index].name.text: rooms[index].relation for index in waiting}
    circle = _circle(relations)
    for index, reason in lost.items():
        room, name = rooms[index], rooms[index].name.text
        if reason is Reason.NOWHERE:
            yield NOWHERE.found(*room.name[1:], about=name, room=name)
        if room.relation is None:
            continue
        reference = room.relation.reference
        if reason is Reason.UNKNOWN:
            yield UNKNOWN_ROOM.found(
                *reference[1:], about=name, room=name, reference=reference.text
            )
        if reason is Reason.WAITS:
            yield CIRCLE.found(*room.name[1:], about=name, rooms=names)
        if reason is Reason.WAITS and name not in circle and reference.text not in relations:
            yield WAITS.found(*reference[1:], about=name, room=name, reference=reference.text)


def _circle(relations: Mapping[str, tree.Relation | None]) -> set[str]:
    """Return the names that truly stand beside each other in a circle, or wait for such."""
    state: dict[str, bool] = {}
    for first in relations:
        followed: dict[str, None] = {}
        name = first
        while name in relations and name not in state and name not in followed:
            followed[name] = None
            relation = relations[name]
            name = relation.reference.text if relation is not None else ""
        outcome = state.get(name, name in followed)
        state.update(dict.fromkeys(followed, outcome))
    return {name for name, is_in in state.items() if is_in}


def _told_inner(parent: tree.Room, placement: Placement) -> Iterator[Finding]:
    """Tell of sub-rooms without a place; the language accepts them, so these are warnings."""
    for index, reason in placement.lost.items():
        room, name = parent.rooms[index], parent.rooms[index].name.text
        if reason is Reason.NOWHERE:
            yield INNER_NOWHERE.found(*room.name[1:], room=name, parent=parent.name.text)
        if room.relation is None:
            continue
        reference = room.relation.reference
        if reason is Reason.UNKNOWN:
            yield INNER_UNKNOWN.found(
                *reference[1:], room=name, reference=reference.text, parent=parent.name.text
            )
        if reason is Reason.WAITS:
            yield INNER_WAITS.found(*reference[1:], room=name, reference=reference.text)


def _told_things(
    things: "Sequence[tree.Stair | tree.Lift]", placement: Placement
) -> Iterator[Finding]:
    """Tell of stairs and lifts whose reference is not there; they are drawn at 0, 0."""
    for index, reason in placement.lost.items():
        thing = things[index]
        if thing.relation is None:
            continue
        rule = THING_UNKNOWN if reason is Reason.UNKNOWN else THING_WAITS
        kind = "Stair" if isinstance(thing, tree.Stair) else "Lift"
        reference = thing.relation.reference
        yield rule.found(*reference[1:], kind=kind, name=thing.name.text, reference=reference.text)


def _connected(
    floors: Sequence[PlacedFloor],
    connections: Sequence[tree.Connection],
    known: Habits,
    scale: Scale,
) -> tuple[PlacedFloor, ...]:
    """Give each floor its connections: those whose ends are both on it."""
    names = [rooms_by_name(floor) for floor in floors]
    homes: dict[str, list[int]] = {}
    for index, on_floor in enumerate(names):
        for name in on_floor:
            homes.setdefault(name, []).append(index)
    kept: dict[int, list[PlacedConnection]] = {}
    for connection in connections:
        home = _home(connection, homes)
        if home is not None:
            found = _connection(connection, names[home], known, scale)
            kept.setdefault(home, []).append(found)
    return tuple(
        replace(floor, connections=tuple(kept[floor.index])) if floor.index in kept else floor
        for floor in floors
    )


def _home(connection: tree.Connection, homes: Mapping[str, Sequence[int]]) -> int | None:
    """Return the first floor on which both ends are; the outside is on all."""
    first, second = connection.first.room.text, connection.second.room.text
    if first == OUTSIDE:
        first, second = second, first
    floors = homes.get(first)
    if floors is None:
        return None
    known = floors if second in (OUTSIDE, first) else homes.get(second, ())
    if known and known[0] == floors[0]:
        return floors[0]
    return next((index for index in floors if index in known), None)


def rooms_by_name(floor: PlacedFloor) -> dict[str, PlacedRoom]:
    """Return the rooms of a floor by name; of several the outermost, then the first."""
    names: dict[str, PlacedRoom] = {}
    for room in chain(floor.rooms, *(_inside(room) for room in floor.rooms if room.rooms)):
        names.setdefault(room.name, room)
    return names


def _inside(room: PlacedRoom) -> Iterator[PlacedRoom]:
    return (inner for inner in room.walk() if inner is not room)


def _connection(
    connection: tree.Connection, names: Mapping[str, PlacedRoom], known: Habits, scale: Scale
) -> PlacedConnection:
    width = known.door_width * (2 if connection.kind == "double-door" else 1)
    height: float | None = known.door_height
    if connection.size is not None:
        width = scaled(connection.size.width, scale)
        own = connection.size.height
        height = None if own is None else scaled(own, scale)
    return PlacedConnection(
        connection,
        names.get(connection.first.room.text),
        names.get(connection.second.room.text),
        width,
        height,
    )
