"""Write a plan as DXF for CAD programs. Needs the extra `cad`.

One unit of the drawing is one of the plan; y counts upwards, as CAD does. What is what stands on
layers of its own. Labels keep no sign that CAD programs would obey.
"""

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from noetl_mcp.bim.floorplan.building import Box, Building, PlacedLift, PlacedRoom
from noetl_mcp.bim.floorplan.drawing.colors import THEMES
from noetl_mcp.bim.floorplan.drawing.dimensions import Chain, chains, gaps
from noetl_mcp.bim.floorplan.drawing.floor_layers import fills
from noetl_mcp.bim.floorplan.drawing.floor_letters import Writing, write_floor
from noetl_mcp.bim.floorplan.drawing.floor_shapes import FloorShapes, floor_shapes
from noetl_mcp.bim.floorplan.drawing.handrails import handrails
from noetl_mcp.bim.floorplan.drawing.labels import words_of
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw, Look
from noetl_mcp.bim.floorplan.drawing.openings import passage_lines, window_lines
from noetl_mcp.bim.floorplan.drawing.outlines import outlines
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Point
from noetl_mcp.bim.floorplan.drawing.stair_layers import arrow, lift_doors
from noetl_mcp.bim.floorplan.drawing.stair_ways import seen, ways
from noetl_mcp.bim.floorplan.units import factor
from noetl_mcp.lettering.fitted import printable

LAYERS = {
    "WALLS": 7,
    "DOORS": 1,
    "WINDOWS": 5,
    "ROOMS": 8,
    "LABELS": 3,
    "DIMENSIONS": 2,
    "STAIRS": 4,
    "LIFTS": 6,
}
"""The layers of the drawing with their colours."""
_UNITS = {"in": 1, "ft": 2, "mm": 4, "cm": 5, "m": 6}
_DECIMALS = {"in": 1, "ft": 2, "mm": 0, "cm": 1, "m": 2}
_LETTERS, _SMALL = 0.25, 0.18
"""Sizes of letters in metres."""
_PAPER = 40.0
"""Units of the paper for a metre, when places for letters are looked for."""
_CAPITALS = 0.72
"""CAD measures letters by their capitals."""
_BETWEEN = 5.0
_LIFT_DOOR = 0.1
_DASH = 0.2
"""How deep doors of lifts are, and how long dashes; in metres, and as a part of the usual ones."""


def dxf_of(building: Building, look: Look | None = None) -> str:
    """Return the drawing of a building, its floors side by side, as the text of a DXF file."""
    import ezdxf.filemanagement
    from ezdxf._options import options

    look = look or Look()
    options.write_fixed_meta_data_for_testing = True  # the same plan gives the same bytes
    document = ezdxf.filemanagement.new("R2010", setup=True, units=_UNITS[building.habits.unit])
    for name, colour in LAYERS.items():
        document.layers.add(name, color=colour)
    metre = factor("m", building.habits.unit)
    style = document.dimstyles.duplicate_entry("EZDXF", "PLAN")
    style.dxf.dimtxt, style.dxf.dimasz = _SMALL * metre, _SMALL * metre
    style.dxf.dimexo, style.dxf.dimexe = 0.1 * metre, 0.1 * metre
    style.dxf.dimlfac = 1.0
    style.dxf.dimdec, style.dxf.dimzin = _DECIMALS[building.habits.unit], 0
    page = _Page(document.modelspace(), metre, building, replace(look, show_area=True))
    for floor in _floors(building, look):
        page.floor(floor_shapes(floor, building))
    out = io.StringIO()
    document.write(out)
    return out.getvalue()


def _floors(building: Building, look: Look) -> Sequence[Any]:
    if look.floor is None:
        return building.floors
    if look.floor >= len(building.floors):
        raise CannotDraw(f"There is no floor {look.floor}: the plan has {len(building.floors)}.")
    return building.floors[look.floor : look.floor + 1]


class _Page:
    """The space that is drawn in; floors stand beside each other."""

    def __init__(self, space: Any, metre: float, building: Building, look: Look) -> None:
        self._space = space
        self._metre = metre
        self._building = building
        self._look = look
        self._right = 0.0
        self._shift = 0.0
        self._is_first = True

    def floor(self, shapes: FloorShapes) -> None:
        """Draw a floor to the right of those before."""
        if shapes.around is None:
            return
        left = shapes.around.x
        self._shift = 0.0 if self._is_first else self._right + _BETWEEN * self._metre - left
        self._is_first = False
        self._right = shapes.around.right + self._shift
        self._rooms(shapes)
        self._walls(shapes)
        self._stairs(shapes)
        for lift in shapes.lifts:
            self._lift(lift)
        for chain in chains([room.box for room in shapes.rooms if room.parent is None]):
            self._chain(chain, shapes.around)
        left, below = shapes.around.x, shapes.around.bottom + 2.2 * self._metre
        self._words(shapes.floor.id, (left, below), 1.6 * _LETTERS, centered=False)
        for row, (number, title) in enumerate(self._letters(shapes), 1):
            under = (left, below + row * 1.7 * _SMALL * self._metre)
            self._words(f"{number} {title}", under, _SMALL, centered=False)

    def _rooms(self, shapes: FloorShapes) -> None:
        for room in shapes.rooms:
            self._closed(_corners(room.box), "ROOMS")

    def _letters(self, shapes: FloorShapes) -> Sequence[tuple[int, str]]:
        """Write names and areas where a drawing has them; return what its numbers mean."""
        palette = THEMES["default"]
        writing = Writing(_PAPER / self._metre, _PAPER * _LETTERS)
        write_floor(
            shapes,
            self._building,
            self._look,
            palette,
            fills(shapes, palette),
            {id(room): _called(room) for room in shapes.rooms},
            writing,
        )
        for (_, size, _), labels in writing.pile.items():
            for label in labels:
                height = size / _PAPER * _CAPITALS
                self._words(label.text, (label.x, label.y), height, turned=label.turned)
        return writing.legend

    def _walls(self, shapes: FloorShapes) -> None:
        solid = (wall for wall in shapes.network.walls if wall.solid)
        for outline in outlines(wall.box(*part) for wall in solid for part in wall.solids()):
            self._closed(outline, "WALLS")
        for wall, opening in shapes.network.openings():
            if opening.kind == "window":
                for line in window_lines(wall, opening, 1, fine=True):
                    self._open(line.points, "WINDOWS")
            if opening.kind == "opening" and wall.solid:
                for line in passage_lines(wall, opening):
                    self._open(line.points, "DOORS", broken=True)
        for door in shapes.doors:
            for leaf in door.sign.leaves:
                self._open(leaf.points, "DOORS")
            for swing in door.sign.swings:
                self._arc(swing, "DOORS")
            for panel in door.sign.above:
                self._open(panel.points, "DOORS", broken=True)

    def _stairs(self, shapes: FloorShapes) -> None:
        for stair, lines in shapes.stairs:
            for outline in lines.outlines:
                self._closed(outline, "STAIRS")
            there = seen(stair, lines)
            for line in (*there.whole, *there.cuts, *handrails(stair, lines)):
                self._open(line, "STAIRS")
            for line in there.above:
                self._open(line, "STAIRS", broken=True)
            for way in ways(stair, lines):
                shaft, head, _ = arrow(way.line, lines.width, _PAPER / self._metre)
                self._open(shaft.points, "STAIRS")
                self._space.add_solid(
                    [self._at(point) for point in head.points], dxfattribs={"layer": "STAIRS"}
                )

    def _lift(self, lift: PlacedLift) -> None:
        corners = _corners(lift.box)
        self._closed(corners, "LIFTS")
        self._open((corners[0], corners[2]), "LIFTS")
        self._open((corners[1], corners[3]), "LIFTS")
        for door in lift_doors(lift, _LIFT_DOOR * self._metre):
            self._closed(_corners(door), "LIFTS")

    def _chain(self, chain: Chain, around: Box) -> None:
        rows = [(chain.marks, 0.8)]
        if chain.whole and len(chain.marks) > 2:
            rows.append(((chain.marks[0], chain.marks[-1]), 1.5))
        for marks, off in rows:
            for start, end in gaps(marks):
                self._dimension(chain, start, end, off * self._metre, around)

    def _dimension(self, chain: Chain, start: float, end: float, off: float, around: Box) -> None:
        edge = {
            "top": around.y - off,
            "bottom": around.bottom + off,
            "left": around.x - off,
            "right": around.right + off,
        }[chain.side]
        if chain.horizontal:
            base, first, second = (start, edge), (start, around.y), (end, around.y)
        else:
            base, first, second = (edge, start), (around.x, start), (around.x, end)
        self._space.add_linear_dim(
            base=self._at(base),
            p1=self._at(first),
            p2=self._at(second),
            angle=0 if chain.horizontal else 90,
            dimstyle="PLAN",
            dxfattribs={"layer": "DIMENSIONS"},
        ).render()

    def _at(self, point: Point) -> Point:
        return point[0] + self._shift, -point[1]

    def _closed(self, points: Iterable[Point], layer: str) -> None:
        drawn = [self._at(point) for point in points]
        self._space.add_lwpolyline(drawn, close=True, dxfattribs={"layer": layer})

    def _open(self, points: Iterable[Point], layer: str, *, broken: bool = False) -> None:
        drawn = [self._at(point) for point in points]
        look: dict[str, Any] = {"layer": layer}
        if broken:
            look |= {"linetype": "DASHED", "ltscale": _DASH * self._metre}
        self._space.add_lwpolyline(drawn, dxfattribs=look)

    def _arc(self, arc: Arc, layer: str) -> None:
        """Draw an arc; CAD counts angles against the clock, from its start to its end."""
        center = self._at(arc.center)
        first, last = (arc.end, arc.start) if arc.clockwise else (arc.start, arc.end)
        self._space.add_arc(
            center,
            arc.radius,
            _angle(center, self._at(first)),
            _angle(center, self._at(last)),
            dxfattribs={"layer": layer},
        )

    def _words(
        self,
        text: str,
        point: Point,
        height: float,
        *,
        centered: bool = True,
        turned: bool = False,
    ) -> None:
        from ezdxf.enums import TextEntityAlignment

        align = TextEntityAlignment.CENTER if centered else TextEntityAlignment.LEFT
        words = self._space.add_text(
            plain_words(text), height=height * self._metre, dxfattribs={"layer": "LABELS"}
        )
        words.dxf.rotation = 90 if turned else 0
        words.set_placement(self._at(point), align=align)


def _called(room: PlacedRoom) -> str:
    label = room.room.label
    return words_of(label.text if label else None, room.name)


def plain_words(text: str) -> str:
    """Return a text on one line, without the signs that CAD programs read as orders."""
    return printable(text).replace("%%", "% %").replace("^", "").replace("\\", "/")


def _angle(center: Point, point: Point) -> float:
    return math.degrees(math.atan2(point[1] - center[1], point[0] - center[0]))


def _corners(box: Box) -> tuple[Point, Point, Point, Point]:
    return (
        (box.x, box.y),
        (box.right, box.y),
        (box.right, box.bottom),
        (box.x, box.bottom),
    )
