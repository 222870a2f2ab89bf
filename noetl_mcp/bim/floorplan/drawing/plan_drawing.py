"""A building as a drawing: its floors to scale on paper, and what stands around them.

It refuses with CannotDraw what cannot be shown; a plan without rooms is a picture that says so.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from noetl_mcp.bim.floorplan.building import Building, PlacedFloor, PlacedRoom
from noetl_mcp.bim.floorplan.drawing import lengths, surround
from noetl_mcp.bim.floorplan.drawing.arrangement import Arrangement, arranged
from noetl_mcp.bim.floorplan.drawing.colors import THEMES, Palette
from noetl_mcp.bim.floorplan.drawing.dimension_layers import dimension_layers, margins_of
from noetl_mcp.bim.floorplan.drawing.dimensions import Chain, chains
from noetl_mcp.bim.floorplan.drawing.floor_layers import (
    MOST_OVERLAPS,
    fills,
    ground_layer,
    opening_layers,
    overlap_layers,
    wall_layers,
)
from noetl_mcp.bim.floorplan.drawing.floor_letters import MOST_NAMED, Writing, write_floor
from noetl_mcp.bim.floorplan.drawing.floor_shapes import FloorShapes, floor_shapes
from noetl_mcp.bim.floorplan.drawing.labels import words_of
from noetl_mcp.bim.floorplan.drawing.limits import without_area
from noetl_mcp.bim.floorplan.drawing.look import NARROWEST, WIDEST, CannotDraw, Look
from noetl_mcp.bim.floorplan.drawing.shapes import Drawing, Label, Layer, Letters, Sheet
from noetl_mcp.bim.floorplan.drawing.stair_layers import lift_layers, stair_layers
from noetl_mcp.bim.floorplan.units import METRES
from noetl_mcp.lettering.fitted import printable
from noetl_mcp.steady import steady

_LETTERS = 12.0
_SMALLEST, _LARGEST = 7.0, 24.0
_BLANK = 20.0
_FOOT = 44.0
_USUAL_METRE = 120.0
_MOST_GROWN = 1.8


def drawn(building: Building, look: Look | None = None) -> Drawing:
    """Draw a building, or one floor of it."""
    with steady():
        return _drawn(building, look or Look())


def _drawn(building: Building, look: Look) -> Drawing:
    palette = THEMES[look.theme or building.habits.theme]
    floors = _chosen(building, look)
    shapes = [floor_shapes(floor, building) for floor in floors]
    seen = [one for one in shapes if one.around is not None]
    if not seen:
        return _nothing(building, look, palette, _notes(shapes))
    return _sheets(building, look, palette, seen, _notes(shapes))


def _chosen(building: Building, look: Look) -> Sequence[PlacedFloor]:
    if look.floor is None:
        return building.floors
    count = len(building.floors)
    if 0 <= look.floor < count:
        return (building.floors[look.floor],)
    if not count and look.floor == 0:
        return ()
    there = "no floor" if not count else "1 floor (0)" if count == 1 else f"floors 0 to {count - 1}"
    raise CannotDraw(f"There is no floor {look.floor}: the plan has {there}.")


def _sheets(
    building: Building,
    look: Look,
    palette: Palette,
    shapes: Sequence[FloorShapes],
    notes: tuple[str, ...],
) -> Drawing:
    base = _base(look)
    title, under = _title(building)
    all_chains = [_chains(one, building, look) for one in shapes]
    margins = margins_of(all_chains, _BLANK)
    many = len(building.floors) > 1
    if many:
        margins = margins._replace(top=margins.top + base * 1.2)
    head = surround.heading_height(title, under, base)
    extents = [one.around for one in shapes if one.around is not None]
    place = arranged(extents, margins, look, head, _FOOT)
    writing = Writing(place.scale, _letters(building, place.scale, base))
    sheets: list[Sheet] = []
    for one, told, origin in zip(shapes, all_chains, place.origins, strict=True):
        layers = _floor(one, told, building, look, palette, writing, base)
        sheets.append(Sheet(one.floor.id, place.scale, origin, layers))
    around, height = _around(building, look, palette, shapes, place, writing, base, many)
    sheets.append(
        Sheet(
            None,
            1.0,
            (0.0, 0.0),
            (*surround.heading(title, under, place.width, palette, base), *around),
        )
    )
    return Drawing(
        place.width,
        height,
        palette.paper,
        title or "Floor plan",
        _description(shapes),
        tuple(sheets),
        building.habits.font_family,
        (*notes, *_unnamed(writing)),
    )


def _unnamed(writing: Writing) -> Iterator[str]:
    """Tell of what has no name on the drawing."""
    if writing.unnamed:
        some = "1 room is" if writing.unnamed == 1 else f"{writing.unnamed:,} rooms are"
        yield f"{some} too small for a name in a picture of this width."
    if writing.unnamed_things:
        yield f"{_things(writing.unnamed_things)} no room for a name on the drawing."
    if writing.too_many:
        some = _things(writing.too_many)
        yield f"{some} no name on the drawing: {MOST_NAMED} of a floor have one."


def _things(count: int) -> str:
    return "1 stair or lift has" if count == 1 else f"{count:,} stairs and lifts have"


def _floor(
    shapes: FloorShapes,
    told: Sequence[Chain],
    building: Building,
    look: Look,
    palette: Palette,
    writing: Writing,
    base: float,
) -> tuple[Layer, ...]:
    scale, unit = writing.scale, building.habits.unit
    ground = fills(shapes, palette)
    names = {id(room): _called(room) for room in shapes.rooms}
    titles = _sentences(shapes.rooms, names, unit, look)
    layers: list[Layer] = []
    if shapes.rooms:
        layers.append(ground_layer(shapes, palette, titles))
    layers += stair_layers(shapes, palette, scale)
    layers += lift_layers(shapes, palette, scale)
    layers += wall_layers(shapes, palette, scale)
    layers += opening_layers(shapes, palette, scale, ground, building.habits.window_width)
    layers += overlap_layers(shapes, palette, scale)
    if _wants_labels(building, look):
        writing.pile, writing.chips = {}, []
        write_floor(shapes, building, look, palette, ground, names, writing)
        layers += writing.layers(palette)
    if told and shapes.around is not None:
        layers += dimension_layers(
            told,
            shapes.around,
            shapes.network.thickness,
            lambda value: lengths.length(value, unit, look.length_unit),
            palette,
            scale,
            base,
        )
    return tuple(layers)


def _around(
    building: Building,
    look: Look,
    palette: Palette,
    shapes: Sequence[FloorShapes],
    place: Arrangement,
    writing: Writing,
    base: float,
    many: bool,
) -> tuple[list[Layer], float]:
    floors = [one.floor for one in shapes]
    layers: list[Layer] = []
    if many:
        layers += surround.captions(floors, place.cells, palette, base)
    y = place.bottom + 4
    layers += surround.scale_bar(building, look, place.scale, y, palette, base)
    y += 32
    more, y = surround.legend(writing.legend, place.width, y, palette, base)
    layers += more
    if look.show_summary:
        more, y = surround.summary(floors, building, look, place.width, y, palette, base)
        layers += more
    return layers, y + 8


def _chains(shapes: FloorShapes, building: Building, look: Look) -> tuple[Chain, ...]:
    wanted = look.show_dimensions
    if wanted is None:
        wanted = building.habits.show_dimensions
    return chains([room.box for room in shapes.rooms if room.parent is None]) if wanted else ()


def _wants_labels(building: Building, look: Look) -> bool:
    return building.habits.show_labels if look.show_labels is None else look.show_labels


def _base(look: Look) -> float:
    """Letters grow with the paper, but slower."""
    width = min(WIDEST, max(NARROWEST, look.width))
    return float(_LETTERS * (width / 800) ** 0.35)


def _letters(building: Building, scale: float, base: float) -> float:
    """The size of rooms' names: what the config asks for, as far as it can be read.

    Else letters grow where a room fills the paper, so that they are not lost in it.
    """
    own = building.habits.font_size
    if own is not None:
        return min(_LARGEST, max(_SMALLEST, own * scale))
    metre = scale / METRES[building.habits.unit]
    return base * min(_MOST_GROWN, max(1.0, math.sqrt(metre / _USUAL_METRE)))


def _title(building: Building) -> tuple[str, str]:
    told = {one.key: one.value for one in building.plan.frontmatter}
    title, under = told.get("title"), told.get("description")
    return (
        printable(title)[:200] if isinstance(title, str) else "",
        printable(under)[:300] if isinstance(under, str) else "",
    )


def _called(room: PlacedRoom) -> str:
    said = room.room.label
    return words_of(said.text if said else None, room.name)


def _sentences(
    rooms: Sequence[PlacedRoom], names: Mapping[int, str], unit: str, look: Look
) -> dict[int, str]:
    """Return what each room is called and how large it is, by its id."""
    found: dict[int, str] = {}
    for room in rooms:
        _, _, width, height = room.box
        size = lengths.size(width, height, unit, look.length_unit)
        found[id(room)] = f"{names[id(room)]}, {size}"
    return found


def _description(shapes: Sequence[FloorShapes]) -> str:
    told = []
    for one in shapes:
        names = [_called(room) for room in one.floor.rooms[:20]]
        left = len(one.floor.rooms) - len(names)
        more = f" and {left} more" if left else ""
        told.append(f"Floor {one.floor.id}: {', '.join(names)}{more}.")
    return " ".join(told)


def _notes(shapes: Sequence[FloorShapes]) -> tuple[str, ...]:
    flat = itertools.chain.from_iterable(without_area(one.floor) for one in shapes)
    notes = [f"{thing} is not drawn: it has no area." for thing in flat]
    for one in shapes:
        if len(one.overlaps) > MOST_OVERLAPS:
            notes.append(
                f"Of {len(one.overlaps):,} overlaps of rooms on floor '{one.floor.id}' "
                f"{MOST_OVERLAPS} are hatched."
            )
        for left in one.network.unplaced:
            said = left.connection
            notes.append(
                f"The {said.kind} between '{said.first.room.text}' and '{said.second.room.text}' "
                "is not drawn: they have no wall in common."
            )
    return tuple(notes)


def _nothing(building: Building, look: Look, palette: Palette, notes: tuple[str, ...]) -> Drawing:
    base = _base(look)
    width = float(min(WIDEST, max(NARROWEST, look.width)))
    height = round(width * 0.4)
    title, under = _title(building)
    says = Letters(
        "empty",
        palette.faint,
        base * 1.2,
        (Label("This plan has no rooms yet.", width / 2, height / 2),),
    )
    layers = (*surround.heading(title, under, width, palette, base), says)
    return Drawing(
        width,
        height,
        palette.paper,
        title or "Floor plan",
        "A floor plan without rooms.",
        (Sheet(None, 1.0, (0.0, 0.0), layers),),
        building.habits.font_family,
        notes,
    )
