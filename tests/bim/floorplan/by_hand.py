"""Plans made by hand, without a text: rooms, connections and stairs by their numbers."""

from collections.abc import Mapping, Sequence

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Building
from noetl_mcp.bim.floorplan.resolve import understood

SIDES = ("top", "right", "bottom", "left")


def name(text: str) -> tree.Name:
    return tree.Name(text, 0, 0)


def number(value: float, unit: str | None = None) -> tree.Number:
    return tree.Number(value, unit, 0, 0)


def size(width: float, height: float | None) -> tree.Size:
    return tree.Size(number(width), None if height is None else number(height), 0, 0)


def wall(
    side: str,
    kind: str,
    at: float | None = None,
    percent: bool = True,
    wide: float | None = None,
    tall: float | None = None,
) -> tree.Wall:
    given = None if wide is None else size(wide, tall)
    return tree.Wall(side, kind, at, percent, given, None, 0, 0, 0, 0)


def room(
    called: str,
    x: float,
    y: float,
    width: float,
    height: float,
    walls: Mapping[str, str] | Sequence[tree.Wall] = (),
    label: str | None = None,
    rooms: tuple[tree.Room, ...] = (),
    style: str | None = None,
) -> tree.Room:
    if isinstance(walls, Mapping):
        walls = [wall(side, kind) for side, kind in walls.items()]
    return tree.Room(
        name(called),
        False,
        tree.Point(number(x), number(y), 0, 0),
        size(width, height),
        None,
        None,
        tuple(walls),
        0,
        0,
        None,
        None if label is None else tree.Text(label, 0, 0, 0, 0),
        rooms,
        None if style is None else tree.StyleName(name(style), 0, 0),
        0,
        0,
    )


def connection(
    first: str,
    second: str,
    kind: str = "door",
    at: float | None = None,
    wide: float | None = None,
    opens_into: str | None = None,
    swing: str | None = None,
) -> tree.Connection:
    return tree.Connection(
        _wall_of(first),
        _wall_of(second),
        kind,
        at,
        None if wide is None else size(wide, None),
        None if opens_into is None else name(opens_into),
        swing,
        0,
        0,
    )


def _wall_of(text: str) -> tree.WallOf:
    called, _, side = text.partition(".")
    return tree.WallOf(name(called), side or None, 0, 0)


def floor(
    *rooms: tree.Room,
    called: str = "f1",
    stairs: tuple[tree.Stair, ...] = (),
    lifts: tuple[tree.Lift, ...] = (),
) -> tree.Floor:
    return tree.Floor(name(called), None, rooms, stairs, lifts, 0, 0, 0, 0)


def plan(
    *floors: tree.Floor,
    connections: tuple[tree.Connection, ...] = (),
    config: Mapping[str, float | bool | str] | None = None,
    styles: Mapping[str, Mapping[str, str]] | None = None,
) -> tree.Plan:
    return tree.Plan(
        "",
        None,
        (),
        (),
        tuple(
            tree.Style(name(called), _properties(given), 0, 0)
            for called, given in (styles or {}).items()
        ),
        None if config is None else tree.Config(_properties(config), 0, 0),
        floors,
        connections,
        (),
    )


def _properties(given: Mapping[str, float | bool | str]) -> tuple[tree.Property, ...]:
    return tuple(tree.Property(key, value, "", 0, 0, 0, 0) for key, value in given.items())


def built(
    *rooms: tree.Room, connections: tuple[tree.Connection, ...] = (), **config: float | bool | str
) -> Building:
    """One floor in metres with walls 0.2 thick, unless told otherwise."""
    settled: dict[str, float | bool | str] = {"default_unit": "m", "wall_thickness": 0.2}
    settled |= config
    return understood(plan(floor(*rooms), connections=connections, config=settled))
