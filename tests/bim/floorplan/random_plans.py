"""Random plans and random operations on them, for the tests that hold for any plan."""

from collections.abc import Iterator
from random import Random
from typing import Any

from noetl_mcp.bim.floorplan import words
from noetl_mcp.bim.floorplan.edit.sheet import elements_of, rooms_of
from noetl_mcp.bim.floorplan.reading.read import read

_SIZES = (2, 3, 4, 5, 6.5, 8, 10)
_STRANGERS = ("Garage", "first", "left", "outside", "Flex.Nowhere")


class Writer:
    """Writes a plan with comments wherever they may stand between things."""

    def __init__(self, random: Random, *, inside: bool = True) -> None:
        self.random = random
        self.end = random.choice(("\n", "\n", "\r\n", "\r"))
        self.inside = inside
        self.comments: list[str] = []
        self.names: list[str] = []
        self.elements: list[str] = []
        self.text = ""

    def comment(self, *, block: bool | None = None) -> str:
        number = len(self.comments)
        is_block = self.random.random() < 0.5 if block is None else block
        text = f'/* {{ note {number} ] " */' if is_block else f"# }} note {number} '"
        self.comments.append(text)
        return text if is_block else text + self.end

    def gap(self) -> str:
        """White space between two clauses, sometimes with a comment."""
        if not self.inside or self.random.random() < 0.93:
            return self.random.choice((" ", " ", " ", "  ", "\t"))
        return self.random.choice((" ", self.end + "      ")) + self.comment() + " "

    def line(self, indent: str) -> str:
        """What stands between two things: a line end, a comment, or just a space."""
        roll = self.random.random()
        if roll < 0.08:
            return " "
        if roll < 0.16:
            return f" {self.comment(block=True)}{self.end}{indent}"
        if roll < 0.24:
            return f" {self.comment(block=False)}{indent}"
        if roll < 0.3:
            return f"{self.end}{indent}{self.comment(block=False)}{indent}"
        if roll < 0.34:
            return f"{self.end}{indent}{self.comment(block=True)} "
        return self.end + indent

    def clauses(self, *parts: str) -> str:
        """Put clauses behind each other."""
        there = [part for part in parts if part]
        return "".join(part + self.gap() for part in there[:-1]) + there[-1]

    def walls(self) -> str:
        kinds = words.WALL_KINDS
        sides = [side for side in words.SIDES if self.random.random() < 0.8] or ["top"]
        entries = [f"{side}: {self.random.choice(kinds)}{self.opening()}" for side in sides]
        if self.random.random() < 0.1:
            entries.append("top: window at 70%")
        return f"walls [{', '.join(entries)}]"

    def opening(self) -> str:
        return self.random.choice(("", "", "", " at 50% size (1 x 2)", " at 1 height 3"))


def plan(random: Random, *, inside: bool = True) -> Writer:
    """Return a writer whose `text` is a whole plan that is valid."""
    w = Writer(random, inside=inside)
    unit = random.choice(("", "", "ft", "m"))
    parts = [random.choice(("%%{version: 1.0}%%", "%%{version: 1.0}%%", ""))]
    parts += ["floorplan", w.line("  "), f"define small (3{unit} x 4{unit})", w.line("  ")]
    parts += ['style Wood { floor_color: "#aabbcc" }', w.line("  ")]
    parts += ["style Tile { roughness: 0.5, wall_color: '#000000' }", w.line("  ")]
    if random.random() < 0.6:
        parts += ["config { default_style: Wood, wallThickness: 0.5 }", w.line("  ")]
    floors = [f"f{index}" for index in range(random.choice((1, 1, 2, 3)))]
    for name in floors:
        parts += [_floor(w, name, unit), w.line("  ")]
    for first, second in zip(w.names, w.names[1:], strict=False):
        if random.random() < 0.3:
            sides = random.choice((("", ""), ("", ""), (".right", ".left")))
            parts += [_connect(w, first + sides[0], second, sides[1]), w.line("  ")]
    if w.names:
        parts += [f"connect {w.names[0]} to outside opening", w.line("  ")]
    chain = [one for one in w.elements if one.endswith(".Main")]
    if len(chain) > 1:
        parts += [f"vertical {' to '.join(chain)}", w.line("")]
    w.text = "".join([parts[0], w.end if parts[0] else "", *parts[1:]]) + w.end
    return w


def _connect(w: Writer, first: str, second: str, side: str) -> str:
    kind = w.random.choice(words.CONNECTION_KINDS)
    more = ("at 50%", "size (3 x full)", f"opens into {second}", "swing: left")
    return w.clauses(
        f"connect {first} to {second}{side} {kind}",
        *(one if w.random.random() < 0.4 else "" for one in more),
    )


def _floor(w: Writer, name: str, unit: str) -> str:
    one_line = w.random.random() < 0.15

    def between() -> str:
        return " " if one_line else w.line("    ")

    parts = [f"floor {name} {w.random.choice(('', 'height 10 '))}{{", between()]
    x = 0.0
    placed: list[str] = []
    for index in range(w.random.randrange(6)):
        room = f"{name}_R{index}"
        width, height = w.random.choice(_SIZES), w.random.choice(_SIZES)
        if placed and w.random.random() < 0.3:
            where, relation = "", _relation(w, w.random.choice(placed))
        else:
            y = w.random.choice((0, 0, 0, 5, 40, 2.5))
            where, relation = f"at ({x:g}{unit}, {y:g}{unit})", ""
            x += width + w.random.choice((0, 0, 0, 1, 2.25))
            placed.append(room)
        w.names.append(room)
        size = f"({width:g}{unit} x {height:g}{unit})" if w.random.random() < 0.85 else "small"
        parts.append(_room(w, room, where, f"size {size}", relation, unit))
        parts.append(between())
    if w.random.random() < 0.5:
        parts += [_stair(w, placed), between()]
        w.elements.append(f"{name}.Main")
    if w.random.random() < 0.4:
        parts += ['lift Up at (1, 1) size (5 x 5) doors (top) label "up" style Tile', between()]
        w.elements.append(f"{name}.Up")
    return "".join(parts) + "}"


def _stair(w: Writer, rooms: list[str]) -> str:
    along = f" along {rooms[0]}.left" if rooms and w.random.random() < 0.5 else ""
    shapes = ("straight toward top", f"custom from top [flight 5{along}, turn left winders 3]")
    return f"stair Main at (1, 1) shape {w.random.choice(shapes)} rise 10"


def _relation(w: Writer, reference: str) -> str:
    parts = [f"{w.random.choice(words.DIRECTIONS)} {reference}"]
    parts += [f"gap {w.random.choice((1, 2.5, 30))}"] if w.random.random() < 0.4 else []
    if w.random.random() < 0.4:
        parts.append(f"align {w.random.choice(words.ALIGNMENTS)}")
    return " ".join(parts)


def _room(w: Writer, name: str, where: str, size: str, relation: str, unit: str) -> str:
    random = w.random
    inner = ""
    if random.random() < 0.25:
        subs = [f"{name}_S{index}" for index in range(random.randrange(3))]
        w.names.extend(subs)
        text = "".join(
            (w.line("      ") if w.inside else w.end + "      ")
            + f"sub-room {one} at ({index * 2}{unit}, 0) size (1{unit} x 1) {w.walls()}"
            for index, one in enumerate(subs)
        )
        inner = f"composed of [{text} ]"
    return w.clauses(
        f"room {name}",
        where,
        size,
        random.choice(("", "", "height 9", "elevation -1", "height 3 elevation 1")),
        w.walls(),
        relation,
        random.choice(("", "", 'label "a # b"', "label 'say \"hi\"'")),
        inner,
        random.choice(("", "", "style Tile")),
    )


# Operations


def operations(random: Random, text: str, count: int, *, removing: bool) -> list[dict[str, Any]]:
    """Return operations that mostly make sense for a plan."""
    every = [one for one in _MAKERS if removing or not one.startswith(("remove", "set_style_none"))]
    there = _Names(random, text)
    return [_MAKERS[random.choice(every)](there) for _ in range(count)]


class _Names:
    """Names of a plan to choose from; now and then one that is not there."""

    def __init__(self, random: Random, text: str) -> None:
        found = read(text).plan
        self.random = random
        self.rooms = [one.name for one in rooms_of(found)]
        self.floors = [floor.name.text for floor in found.floors]
        self.things = [
            (type(one.element).__name__.lower(), f"{one.floor.name.text}.{one.element.name.text}")
            for one in elements_of(found)
        ]
        self.made = 0

    def room(self) -> str:
        if not self.rooms or self.random.random() < 0.04:
            return self.random.choice(_STRANGERS)
        return self.random.choice(self.rooms)

    def floor(self) -> str:
        return self.random.choice(self.floors) if self.floors else "f0"

    def thing(self, kind: str) -> str:
        found = [name for one, name in self.things if one == kind]
        return self.random.choice(found) if found else "Nothing"

    def new(self) -> str:
        self.made += 1
        name = self.random.choice(("New", "Neu", "N")) + str(self.made)
        if self.random.random() < 0.8:
            self.rooms.append(name)
        return name

    def number(self) -> float | str:
        return self.random.choice((0, 1, 2.5, 7, 12.125, 40, "3ft", "2.5 m", 0.1 + 0.2))

    def size(self) -> dict[str, Any]:
        return {"width": self.number(), "height": self.number()}

    def text(self) -> str:
        return self.random.choice(("Hall", 'the "big" one', "it's", "a\\b\n", "1.0", "# } ]", ""))

    def wall(self) -> Any:
        kind = self.random.choice(words.WALL_KINDS)
        entry = {"kind": kind, "at": "25%", "size": {"width": 2, "height": 1}}
        return self.random.choice((kind, kind, entry, [entry, {"kind": kind, "at": 1}]))


def _relative(there: _Names) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "direction": there.random.choice(words.DIRECTIONS),
        "reference": there.room(),
    }
    if there.random.random() < 0.5:
        asked |= {"gap": there.number(), "alignment": there.random.choice(words.ALIGNMENTS)}
    return asked


def _new_room(there: _Names) -> dict[str, Any]:
    params: dict[str, Any] = {
        "name": there.new(),
        "size": there.size() if there.random.random() < 0.9 else "small",
        "walls": {side: there.wall() for side in words.SIDES},
    }
    if there.random.random() < 0.7:
        params["position"] = {"x": there.number(), "y": there.number()}
    else:
        params["relativePosition"] = _relative(there)
    more = {
        "label": there.text(),
        "floor": there.floor(),
        "height": 9,
        "elevation": -1,
        "style": "Tile",
    }
    params |= {key: one for key, one in more.items() if there.random.random() < 0.3}
    if there.random.random() < 0.2:
        params["parent"] = there.room()
    return {"action": "add_room", "params": params}


def _place(there: _Names) -> dict[str, Any]:
    if there.random.random() < 0.7:
        return {"x": there.number(), "y": there.number()}
    return {"relativePosition": _relative(there)}


def _some(there: _Names, **values: Any) -> dict[str, Any]:
    return {key: one for key, one in values.items() if there.random.random() < 0.6}


def _of_room(action: str, **params: Any) -> Any:
    return lambda there: {
        "action": action,
        "target": there.room(),
        "params": {key: one(there) for key, one in params.items()},
    }


def _walls(there: _Names) -> dict[str, Any]:
    walls = {side: there.wall() for side in words.SIDES if there.random.random() < 0.5}
    return {"action": "update_walls", "target": there.room(), "params": walls}


def _connection_change(there: _Names) -> dict[str, Any]:
    changes = _some(
        there,
        kind="opening",
        at=there.random.choice((None, 25)),
        size=there.random.choice((None, {"width": 2, "height": "full"})),
        opensInto=there.random.choice((None, there.room())),
        swing=there.random.choice((None, "right")),
    )
    target = f"{there.room()} to {there.random.choice((there.room(), 'outside'))}"
    return {"action": "update_connection", "target": target, "params": changes}


_MAKERS: dict[str, Any] = {
    "add_room": _new_room,
    "remove_room": lambda t: {"action": "remove_room", "target": t.room()},
    "resize_room": lambda t: {"action": "resize_room", "target": t.room(), "params": t.size()},
    "move_room": lambda t: {"action": "move_room", "target": t.room(), "params": _place(t)},
    "rename_room": _of_room("rename_room", newName=_Names.new),
    "update_walls": _walls,
    "add_label": _of_room("add_label", label=_Names.text),
    "remove_label": lambda t: {"action": "remove_label", "target": t.room()},
    "set_style": _of_room("set_style", style=lambda t: t.random.choice(("Tile", "Wood", None))),
    "set_height": _of_room("set_height", height=lambda t: t.random.choice((None, 9, "3m"))),
    "set_elevation": _of_room(
        "set_elevation", elevation=lambda t: t.random.choice((None, -1, "3m"))
    ),
    "convert_to_relative": lambda t: {
        "action": "convert_to_relative",
        "params": {"anchorRoom": t.room()},
    },
    "convert_to_absolute": lambda t: {"action": "convert_to_absolute"},
    "add_connection": lambda t: {
        "action": "add_connection",
        "params": {"from": f"{t.room()}", "to": t.random.choice((t.room(), "outside"))}
        | {"kind": t.random.choice(words.CONNECTION_KINDS)}
        | _some(t, at=25, size={"width": 3, "height": 7}, swing="left", opensInto=t.room()),
    },
    "update_connection": _connection_change,
    "remove_connection": lambda t: {
        "action": "remove_connection",
        "target": f"{t.room()} to outside",
        "params": {"which": 1},
    },
    "add_style": lambda t: {
        "action": "add_style",
        "params": {"name": t.new(), "roughness": 0.5, "floor_texture": "a.png"},
    },
    "update_style": lambda t: {
        "action": "update_style",
        "target": "Tile",
        "params": _some(t, roughness=None, metalness=1, wall_color="#ffffff"),
    },
    "remove_style": lambda t: {"action": "remove_style", "target": t.random.choice(("Tile", "X"))},
    "set_config": lambda t: {
        "action": "set_config",
        "params": _some(
            t,
            wall_thickness=t.random.choice((None, 0.3)),
            theme="dark",
            default_style=t.random.choice((None, "Tile")),
            door_size={"width": 3, "height": 7},
            font_family="A 'b'",
        ),
    },
    "add_floor": lambda t: {"action": "add_floor", "params": {"name": t.new(), "height": 3}},
    "rename_floor": lambda t: {
        "action": "rename_floor",
        "target": t.floor(),
        "params": {"newName": t.floor() + "x"},
    },
    "remove_floor": lambda t: {"action": "remove_floor", "target": t.floor()},
    "add_stair": lambda t: {
        "action": "add_stair",
        "params": {"name": t.new(), "position": {"x": 1, "y": 1}, "rise": "10ft"}
        | {"shape": {"kind": "L-shaped", "entry": "top", "turn": "left"}, "floor": t.floor()}
        | _some(t, material={"tread": "oak"}, handrail="both", label=t.text(), width=3),
    },
    "move_stair": lambda t: {
        "action": "move_stair",
        "target": t.thing("stair"),
        "params": {"x": 1, "y": t.number()},
    },
    "remove_stair": lambda t: {"action": "remove_stair", "target": t.thing("stair")},
    "add_lift": lambda t: {
        "action": "add_lift",
        "params": {"name": t.new(), "position": {"x": 1, "y": 1}, "size": t.size()}
        | _some(t, floor=t.floor(), doors=["top", "left"], style="Wood"),
    },
    "move_lift": lambda t: {
        "action": "move_lift",
        "target": t.thing("lift"),
        "params": {"x": 3, "y": 4},
    },
    "remove_lift": lambda t: {"action": "remove_lift", "target": t.thing("lift")},
    "add_vertical": lambda t: {
        "action": "add_vertical",
        "params": {"elements": [t.thing("stair"), t.thing("lift")]}
        if t.things and "Nothing" not in (t.thing("stair"), t.thing("lift"))
        else {"elements": ["f0.Main", "f1.Main"]},
    },
    "remove_vertical": lambda t: {"action": "remove_vertical", "target": "f0.Main"},
}


def actions() -> Iterator[str]:
    """Yield every action that is tried."""
    yield from _MAKERS
